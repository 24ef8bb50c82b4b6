import { ArchiveError, quoted } from "./archive-error.ts";
import type { ArchiveLimits } from "./limits.ts";
import { checkEntries } from "./limits.ts";
import { decodeName, MAX_PATH_BYTES } from "./member-path.ts";
import { MemberList } from "./members.ts";
import { MAX_PAX_BYTES, type PaxRecords, parsePax } from "./pax.ts";
import { isZero, parseTarHeader, TAR_BLOCK_BYTES, type TarHeader } from "./tar-header.ts";

/** What the headers before a member say about it: one pax header, or GNU's long name and long link, never both kinds. */
interface Prelude {
  pax?: PaxRecords;
  longName?: string;
  longLink?: string;
}

/**
 * Walks an inflated tar to its end marker. Each block is read once, in order, and each is accounted for: a header, a body with its zero
 * padding, or the zeros at the end.
 *
 * @throws {ArchiveError}
 */
export function readTar(tar: Uint8Array, limits: ArchiveLimits): MemberList {
  const members = new MemberList();
  let prelude: Prelude = {};
  let entries = 0;
  let isMemberDue = false;
  for (let offset = 0; ; ) {
    const block = tar.subarray(offset, offset + TAR_BLOCK_BYTES);
    if (block.length < TAR_BLOCK_BYTES) throw truncated("before its end marker");
    if (isZero(block)) {
      checkEnd(tar.subarray(offset));
      if (isMemberDue) throw new ArchiveError("pax", "An extended header of the tar is followed by no member.");
      return members;
    }
    const header = parseTarHeader(block);
    checkRawName(header);
    const body = readBody(tar, offset + TAR_BLOCK_BYTES, header.size);
    offset += TAR_BLOCK_BYTES + paddedLength(header.size);
    isMemberDue = header.type === "x" || header.type === "L" || header.type === "K" || header.type === "g";
    if (isMemberDue && header.type !== "g") {
      readPrelude(prelude, header, body);
      continue;
    }
    entries += 1;
    checkEntries(entries, limits);
    if (isMemberDue) {
      if (hasPrelude(prelude)) throw mixedHeaders();
      parsePax(boundedPax(body), true);
      continue;
    }
    addMember(members, header, prelude, body);
    prelude = {};
  }
}

function readBody(tar: Uint8Array, start: number, size: number): Uint8Array {
  const end = start + size;
  const next = start + paddedLength(size);
  if (next > tar.length) throw truncated("inside a member");
  if (!isZero(tar.subarray(end, next))) throw new ArchiveError("trailing", "The padding after a member is not zero.");
  return tar.subarray(start, end);
}

function paddedLength(size: number): number {
  return Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
}

function hasPrelude(prelude: Prelude): boolean {
  return prelude.pax !== undefined || prelude.longName !== undefined || prelude.longLink !== undefined;
}

/** A second header of a kind, or a mix of kinds, is what readers disagree about (CVE-2025-62518 and its kin). */
function readPrelude(prelude: Prelude, header: TarHeader, body: Uint8Array): void {
  const isFirst =
    header.type === "x"
      ? !hasPrelude(prelude)
      : prelude.pax === undefined && (header.type === "L" ? prelude.longName : prelude.longLink) === undefined;
  if (!isFirst) throw mixedHeaders();
  if (header.type === "x") prelude.pax = parsePax(boundedPax(body), false);
  else if (header.type === "L") prelude.longName = longText(body, "path");
  else prelude.longLink = longText(body, "link");
}

function addMember(members: MemberList, header: TarHeader, prelude: Prelude, body: Uint8Array): void {
  const name = prelude.pax?.path ?? prelude.longName ?? decodeName(header.name);
  const size = prelude.pax?.size ?? header.size;
  if (size !== header.size) {
    throw new ArchiveError(
      "size",
      `The pax header of ${quoted(name)} says ${size} bytes, its own says ${header.size}.`,
    );
  }
  if (header.isBase256) members.addQuirk("base256_size");
  if (header.type === "1" || header.type === "2") {
    const target = prelude.pax?.linkPath ?? prelude.longLink ?? decodeName(header.linkName, "link");
    if (header.size !== 0) throw new ArchiveError("link", `The link ${quoted(name)} has a body.`);
    if (header.type === "1") members.addHardLink(name, target);
    else members.addSymbolicLink(name, target);
    // The oldest tars mark a directory by its slash alone.
  } else if (header.type === "5" || (header.type === "\0" && name.endsWith("/"))) {
    if (header.size !== 0) throw new ArchiveError("size", `The directory ${quoted(name)} has a body.`);
    members.addDirectory(name);
  } else {
    members.addFile(name, body);
  }
}

/** A reader without pax or GNU names goes by the header alone, so that name may not lead out of the root either. */
function checkRawName(header: TarHeader): void {
  const raw = String.fromCharCode(...header.name);
  if (raw.startsWith("/") || raw.includes("\\") || raw.split("/").includes("..")) {
    throw new ArchiveError(
      "path",
      `The name ${quoted(raw)} in a tar header is absolute, or has a backslash or a part '..'.`,
    );
  }
}

function boundedPax(body: Uint8Array): Uint8Array {
  if (body.length <= MAX_PAX_BYTES) return body;
  throw new ArchiveError("pax", `A pax header has ${body.length} bytes; the limit is ${MAX_PAX_BYTES}.`);
}

/** GNU's long name: the text with one NUL or more at its end. */
function longText(body: Uint8Array, code: "path" | "link"): string {
  const end = body.indexOf(0);
  const isText = end > 0 && end <= MAX_PATH_BYTES && isZero(body.subarray(end));
  if (!isText) throw new ArchiveError(code, `A GNU long name is no text of at most ${MAX_PATH_BYTES} bytes.`);
  return decodeName(body.subarray(0, end), code);
}

/** Two zero blocks, then nothing but zero blocks. */
function checkEnd(rest: Uint8Array): void {
  if (rest.length < 2 * TAR_BLOCK_BYTES || rest.length % TAR_BLOCK_BYTES !== 0)
    throw truncated("inside its end marker");
  if (!isZero(rest)) throw new ArchiveError("trailing", "Something follows the end marker of the tar.");
}

function mixedHeaders(): ArchiveError {
  return new ArchiveError("pax", "A member of the tar has several extended headers of a kind, or of different kinds.");
}

function truncated(where: string): ArchiveError {
  return new ArchiveError("truncated", `The tar ends ${where}.`);
}
