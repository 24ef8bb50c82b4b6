import { gzipSync } from "fflate";
import { packTar } from "modern-tar";
import type { Archive } from "./archive.ts";
import { ArchiveError, quoted } from "./archive-error.ts";
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS, tooExpanded } from "./limits.ts";
import type { ArchiveFile } from "./members.ts";
import { readTar } from "./tar.ts";
import { TAR_BLOCK_BYTES } from "./tar-header.ts";

const MODE = 0o644;
const EPOCH = new Date(0);
const END_BYTES = 2 * TAR_BLOCK_BYTES;

/**
 * Writes the canonical tar.gz of a skill's files: regular files only, in the order of their paths (by UTF-16 code unit), mode 0644, time 0,
 * no owner. The same files give the same bytes on every platform, which is why the compressor is not the platform's own.
 * Where compression would exceed the default ratio, so that readers refuse the archive, the tar is stored instead.
 *
 * @example `await packArchive([{ path: "SKILL.md", bytes }], archiveLimits({}))`
 * @throws {ArchiveError} as {@link readArchive} would for the result.
 */
export async function packArchive(
  files: readonly ArchiveFile[],
  limits: ArchiveLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  // Before anything is copied: links can name one large file many times.
  const blocks = files.reduce((sum, { bytes }) => sum + 1 + Math.ceil(bytes.length / TAR_BLOCK_BYTES), 0);
  if (blocks * TAR_BLOCK_BYTES + END_BYTES > limits.maxExpandedBytes) throw tooExpanded(limits);
  const tar = await packTar(
    files.toSorted(byPath).map(({ path, bytes }) => ({
      header: { name: path, size: bytes.length, type: "file", mode: MODE, mtime: EPOCH, uid: 0, gid: 0 },
      body: bytes,
    })),
  );
  // Long paths have headers of their own.
  if (tar.length > limits.maxExpandedBytes) throw tooExpanded(limits);
  readTar(tar, limits).finish();
  const packed = gzipSync(tar, { level: 9, mtime: 0 });
  const isOverRatio = tar.length > DEFAULT_ARCHIVE_LIMITS.maxDecompressionRatio * packed.length;
  return isOverRatio ? gzipSync(tar, { level: 0, mtime: 0 }) : packed;
}

/**
 * The canonical form of an archive that was read, without what some installers stumble over ({@link ArchiveQuirk}): a link to a file becomes
 * a copy of it, directories without files are left out.
 *
 * @example `await repackArchive(readArchive(bytes, limits, zlibInflater), limits)`
 * @throws {ArchiveError} `link` for a link to a directory or to nothing; otherwise as {@link packArchive}.
 */
export async function repackArchive(archive: Archive, limits: ArchiveLimits): Promise<Uint8Array<ArrayBuffer>> {
  const contents = new Map(archive.files.map(({ path, bytes }) => [path, bytes]));
  const copies = archive.links.map(({ path, resolved }) => {
    const bytes = resolved === null ? undefined : contents.get(resolved);
    if (bytes === undefined) {
      throw new ArchiveError("link", `The link ${quoted(path)} leads to no file, so no copy can take its place.`);
    }
    return { path, bytes };
  });
  return await packArchive([...archive.files, ...copies], limits);
}

function byPath(a: ArchiveFile, b: ArchiveFile): number {
  if (a.path === b.path) return 0;
  return a.path < b.path ? -1 : 1;
}
