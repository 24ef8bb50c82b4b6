import { ArchiveError } from "./archive-error.ts";
import { decodeName } from "./member-path.ts";

/** Largest pax header, in bytes: room for the attributes that macOS adds, not for hiding files. */
export const MAX_PAX_BYTES = 65_536;

/** What a pax header changes of the member that follows. */
export interface PaxRecords {
  readonly path?: string;
  readonly linkPath?: string;
  readonly size?: number;
}

const UTF8_CHARSET = "ISO-IR 10646 2000 UTF-8";
const SPACE = 0x20;
const EQUALS = 0x3d;
const NEWLINE = 0x0a;

/**
 * Reads the records `<length> <key>=<value>\n` of one pax header (POSIX.1-2001), which must fill it exactly. Attacker-controlled.
 *
 * @param isGlobal a global header would rename every member, so it may only carry what nothing here reads.
 * @throws {ArchiveError} `pax`; `special` for a sparse file; `size`, `path` or `link` for a value that is none, or that is global.
 */
export function parsePax(body: Uint8Array, isGlobal: boolean): PaxRecords {
  const records: { path?: string; linkPath?: string; size?: number } = {};
  const seen = new Set<string>();
  for (let offset = 0; offset < body.length; ) {
    const { key, value, end } = parseRecord(body, offset);
    offset = end;
    if (seen.has(key)) throw new ArchiveError("pax", "A pax header has a key twice.");
    seen.add(key);
    if (key.startsWith("GNU.sparse.") || key === "SCHILY.realsize") {
      throw new ArchiveError("special", "The archive has a sparse file.");
    }
    if (key === "hdrcharset" && decodeName(value) !== UTF8_CHARSET) {
      throw new ArchiveError("pax", "A pax header is not in UTF-8.");
    }
    if (key === "path") records.path = parseName(value, "path", isGlobal);
    if (key === "linkpath") records.linkPath = parseName(value, "link", isGlobal);
    if (key === "size") records.size = parseSize(value, isGlobal);
  }
  return records;
}

function parseRecord(body: Uint8Array, start: number) {
  const space = body.indexOf(SPACE, start);
  const digits = space < 0 || space - start > 8 ? "" : String.fromCharCode(...body.subarray(start, space));
  const end = start + Number(digits);
  const equals = body.indexOf(EQUALS, space);
  const isWhole = /^[1-9][0-9]*$/.test(digits) && end <= body.length && equals > space + 1 && equals < end - 1;
  if (!isWhole || body[end - 1] !== NEWLINE) throw new ArchiveError("pax", "A pax header is malformed.");
  const keyBytes = body.subarray(space + 1, equals);
  if (keyBytes.some((byte) => byte < 0x21 || byte > 0x7e)) {
    throw new ArchiveError("pax", "A key in a pax header is not printable ASCII.");
  }
  return { key: String.fromCharCode(...keyBytes), value: body.subarray(equals + 1, end - 1), end };
}

function parseName(value: Uint8Array, code: "path" | "link", isGlobal: boolean): string {
  if (isGlobal) throw new ArchiveError(code, "A global pax header names a path for every member.");
  return decodeName(value, code);
}

function parseSize(value: Uint8Array, isGlobal: boolean): number {
  const digits = value.length > 15 ? "" : String.fromCharCode(...value);
  if (isGlobal || !/^[0-9]+$/.test(digits)) {
    throw new ArchiveError("size", "The size in a pax header is global or no number of bytes.");
  }
  return Number(digits);
}
