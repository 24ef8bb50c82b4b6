import { CodedError } from "../coded-error.ts";

/**
 * Why an archive is refused.
 *
 * - `format` neither gzip nor zip by its first bytes; `gzip`, `deflate` a broken compressed stream; `trailing` bytes after the end;
 *   `truncated` the tar ends early
 * - `checksum`, `header`, `pax` a tar header; `eocd`, `overlap`, `mismatch`, `header`, `method`, `encrypted`, `crc` the structure of a zip
 * - `size` a length that is unreadable, or that the bytes contradict
 * - `path`, `link`, `special`, `duplicate`, `no_skill_md` a member that must not be there, or the one that must
 * - `entries`, `expanded`, `ratio` a limit is exceeded; `bad_limit` a limit is itself out of range
 */
export const ARCHIVE_ERROR_CODES = [
  "format",
  "gzip",
  "deflate",
  "trailing",
  "truncated",
  "checksum",
  "header",
  "pax",
  "eocd",
  "overlap",
  "mismatch",
  "method",
  "encrypted",
  "crc",
  "size",
  "path",
  "link",
  "special",
  "duplicate",
  "no_skill_md",
  "entries",
  "expanded",
  "ratio",
  "bad_limit",
] as const;

export type ArchiveErrorCode = (typeof ARCHIVE_ERROR_CODES)[number];

/** An expected refusal of an archive; `message` is one English sentence that names the member, the field or the limit. */
export class ArchiveError extends CodedError<ArchiveErrorCode> {
  override readonly name = "ArchiveError";
}

const QUOTED_CHARS = 100;

/** A name from an archive, fit for a sentence: cut, and with everything invisible spelled out. */
export function quoted(name: string): string {
  const cut = name.length > QUOTED_CHARS ? `${name.slice(0, QUOTED_CHARS)}…` : name;
  return `"${cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)}"`;
}
