import { ArchiveError } from "./archive-error.ts";
import { gunzip } from "./gzip.ts";
import type { Inflater } from "./inflater.ts";
import type { ArchiveLimits } from "./limits.ts";
import type { ArchiveMembers } from "./members.ts";
import { readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

export { ArchiveError, type ArchiveErrorCode } from "./archive-error.ts";
export type { Inflater } from "./inflater.ts";
export { type ArchiveLimitSettings, type ArchiveLimits, archiveLimits, DEFAULT_ARCHIVE_LIMITS } from "./limits.ts";
export type { ArchiveFile, ArchiveLink, ArchiveQuirk } from "./members.ts";

export type ArchiveFormat = "tar.gz" | "zip";

/** An archive that every reader sees alike, and what it holds. */
export interface Archive extends ArchiveMembers {
  readonly format: ArchiveFormat;
  /** What `max_expanded_bytes` counts. */
  readonly expandedBytes: number;
}

/** What the first bytes say; the name and the declared type of an archive count for nothing. Null for anything else. */
export function archiveFormat(bytes: Uint8Array): ArchiveFormat | null {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4) return "zip";
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "tar.gz";
  return null;
}

/**
 * Reads and validates the archive of a skill (Agent Skills v0.2.0). Nothing is extracted or executed, and an archive within an archive is
 * just bytes. Refused is whatever the specification refuses, whatever two readers could take for different files, and whatever
 * cannot be a skill. Time is linear in the archive's size and memory bounded by `maxExpandedBytes`, whatever the archive declares.
 *
 * @param bytes the whole file, from anyone; bound its size before it is read.
 * @example `readArchive(bytes, archiveLimits({ max_entries: 50 }), zlibInflater).files`
 * @throws {ArchiveError} with the reason of the refusal.
 */
export function readArchive(bytes: Uint8Array, limits: ArchiveLimits, inflater: Inflater): Archive {
  const format = archiveFormat(bytes);
  if (format === null) throw new ArchiveError("format", "The file is neither a tar.gz nor a zip by its first bytes.");
  if (format === "zip") {
    const { members, expandedBytes } = readZip(bytes, limits, inflater);
    return { format, expandedBytes, ...members.finish() };
  }
  const tar = gunzip(bytes, limits, inflater);
  return { format, expandedBytes: tar.length, ...readTar(tar, limits).finish() };
}
