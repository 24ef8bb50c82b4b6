import { ArchiveError, quoted } from "./archive-error.ts";
import { decodeCp437 } from "./cp437.ts";
import type { Inflater } from "./inflater.ts";
import { type ArchiveLimits, checkRatio, tooExpanded } from "./limits.ts";
import { decodeName } from "./member-path.ts";
import { MemberList } from "./members.ts";
import { type CentralRecord, readDirectory, ZIP_FLAG, ZIP_METHOD } from "./zip-directory.ts";
import { checkUnicodePath } from "./zip-extra.ts";
import { locateData } from "./zip-local.ts";

/** The file type in a Unix mode. */
const TYPE = { mask: 0o170000, directory: 0o040000, file: 0o100000, symlink: 0o120000 } as const;
const DOS_DIRECTORY = 0x10;

/** A record of the central directory that is a plain file or directory. */
interface ZipMember extends CentralRecord {
  readonly path: string;
  readonly isDirectory: boolean;
}

/**
 * Reads a zip by its central directory, every local header checked against it, every file inflated and its CRC-32 compared.
 * The members must tile the file: nothing lies between, before or beneath them.
 *
 * @throws {ArchiveError}
 */
export function readZip(bytes: Uint8Array, limits: ArchiveLimits, inflater: Inflater) {
  const directory = readDirectory(bytes, limits);
  const zipMembers = directory.records.map((record) => classify(record, inflater));
  const located = locateData(bytes, zipMembers, directory.offset, inflater);
  const members = new MemberList();
  if (directory.hasZip64End) members.addQuirk("zip64_end");
  let expandedBytes = 0;
  for (const [index, member] of zipMembers.entries()) {
    const data = located[index] ?? new Uint8Array(0);
    const content = expand(member, data, limits.maxExpandedBytes - expandedBytes, inflater);
    if (content === null) throw tooExpanded(limits);
    expandedBytes += content.bytes.length;
    checkRatio(expandedBytes, bytes.length, limits);
    checkContent(member, data, content, inflater);
    if (member.isDirectory) members.addDirectory(member.path);
    else members.addFile(member.path, content.bytes);
  }
  return { members, expandedBytes };
}

function classify(record: CentralRecord, inflater: Inflater): ZipMember {
  const path = decodePath(record, inflater);
  if (
    (record.flags & (ZIP_FLAG.encrypted | ZIP_FLAG.strong | ZIP_FLAG.masked)) !== 0 ||
    record.method === ZIP_METHOD.aes
  ) {
    throw new ArchiveError("encrypted", `The member ${quoted(path)} is encrypted.`);
  }
  if ((record.flags & ~ZIP_FLAG.known) !== 0) {
    throw new ArchiveError("header", `The member ${quoted(path)} has flags that are not understood.`);
  }
  if (record.method !== ZIP_METHOD.stored && record.method !== ZIP_METHOD.deflated) {
    throw new ArchiveError(
      "method",
      `The member ${quoted(path)} is compressed by method ${record.method}; only 0 and 8 are taken.`,
    );
  }
  const type = (record.attributes >>> 16) & TYPE.mask;
  if (type === TYPE.symlink) throw new ArchiveError("link", `The member ${quoted(path)} is a symbolic link.`);
  const isDirectory = path.endsWith("/");
  const saysDirectory = type === TYPE.directory || (type === 0 && (record.attributes & DOS_DIRECTORY) !== 0);
  const isPlain = type === 0 || type === TYPE.file || type === TYPE.directory;
  if (!isPlain || (saysDirectory && !isDirectory)) {
    throw new ArchiveError("special", `The member ${quoted(path)} is neither a file nor a directory.`);
  }
  if (isDirectory && record.size !== 0) {
    throw new ArchiveError("size", `The directory ${quoted(path)} has content.`);
  }
  return { ...record, path, isDirectory };
}

function decodePath({ flags, name, extra }: CentralRecord, inflater: Inflater): string {
  const path = (flags & ZIP_FLAG.utf8) !== 0 ? decodeName(name) : decodeCp437(name);
  checkUnicodePath(extra, name, path, inflater);
  return path;
}

interface Content {
  readonly bytes: Uint8Array;
  /** How much of the member's data the content took. */
  readonly consumed: number;
}

/** The content of one member, or null where it has more than `maxBytes`. Declared sizes are not believed. */
function expand(member: ZipMember, data: Uint8Array, maxBytes: number, inflater: Inflater): Content | null {
  if (member.method === ZIP_METHOD.stored) {
    return data.length <= maxBytes ? { bytes: data, consumed: data.length } : null;
  }
  const inflated = inflater.inflateRaw(data, maxBytes);
  if (inflated.status === "too_large") return null;
  if (inflated.status === "corrupt") {
    throw new ArchiveError("deflate", `The data of ${quoted(member.path)} is corrupt or cut short.`);
  }
  return { bytes: inflated.output, consumed: inflated.consumed };
}

function checkContent(member: ZipMember, data: Uint8Array, { bytes, consumed }: Content, inflater: Inflater): void {
  if (bytes.length !== member.size) {
    throw new ArchiveError(
      "size",
      `The member ${quoted(member.path)} has ${bytes.length} bytes; the directory says ${member.size}.`,
    );
  }
  if (consumed !== data.length) {
    throw new ArchiveError(
      "size",
      `${data.length - consumed} bytes follow the compressed data of ${quoted(member.path)}.`,
    );
  }
  if (inflater.crc32(bytes) !== member.crc) {
    throw new ArchiveError("crc", `The CRC-32 of ${quoted(member.path)} is wrong.`);
  }
}
