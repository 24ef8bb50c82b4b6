import { ArchiveError, quoted } from "./archive-error.ts";
import type { Inflater } from "./inflater.ts";
import { type CentralRecord, ZIP_FLAG, ZIP_METHOD } from "./zip-directory.ts";
import { checkUnicodePath, type ExtraFields, parseExtraFields, parseZip64, ZIP64 } from "./zip-extra.ts";

const LOCAL_BYTES = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = 0x08074b50;

type NamedRecord = CentralRecord & { readonly path: string };

interface LocalHeader {
  readonly extra: ExtraFields;
  readonly dataOffset: number;
}

/**
 * Finds the data of every member (APPNOTE 4.3.7 to 4.3.9). Local headers must say what the central directory says, and header, data and
 * descriptor of one member must end where the next begins, from the first byte of the file to its directory: so no member
 * overlaps another, and none is hidden between them from a reader that ignores the directory. Attacker-controlled.
 *
 * @returns the compressed data of each, in the order given.
 * @throws {ArchiveError} `overlap`, `mismatch`, `method`, `size`, `path` or `header`.
 */
export function locateData(
  bytes: Uint8Array,
  members: readonly NamedRecord[],
  directoryOffset: number,
  inflater: Inflater,
): readonly Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const located: Uint8Array[] = new Array(members.length);
  const order = [...members.keys()].sort((a, b) => (members[a]?.offset ?? 0) - (members[b]?.offset ?? 0));
  if ((members[order[0] ?? 0]?.offset ?? directoryOffset) !== 0) {
    throw new ArchiveError("overlap", "The first member does not begin at the first byte.");
  }
  for (const [rank, index] of order.entries()) {
    const member = members[index];
    if (member === undefined) continue;
    const end = members[order[rank + 1] ?? -1]?.offset ?? directoryOffset;
    const { extra, dataOffset } = readLocalHeader(bytes, view, member, end, inflater);
    const dataEnd = dataOffset + member.compressedSize;
    if (dataEnd > end) throw overlaps(member);
    checkDescriptor(view, member, extra, dataEnd, end);
    located[index] = bytes.subarray(dataOffset, dataEnd);
  }
  return located;
}

function readLocalHeader(
  bytes: Uint8Array,
  view: DataView,
  member: NamedRecord,
  end: number,
  inflater: Inflater,
): LocalHeader {
  const { offset } = member;
  if (offset + LOCAL_BYTES > end) throw overlaps(member);
  const nameAt = offset + LOCAL_BYTES;
  const extraAt = nameAt + view.getUint16(offset + 26, true);
  const dataOffset = extraAt + view.getUint16(offset + 28, true);
  if (dataOffset > end) throw overlaps(member);
  const name = bytes.subarray(nameAt, extraAt);
  if (
    view.getUint32(offset, true) !== LOCAL_SIGNATURE ||
    view.getUint16(offset + 6, true) !== member.flags ||
    view.getUint16(offset + 8, true) !== member.method ||
    name.length !== member.name.length ||
    !name.every((byte, index) => byte === member.name[index])
  ) {
    throw contradicts(member);
  }
  const extra = parseExtraFields(bytes.subarray(extraAt, dataOffset));
  checkUnicodePath(extra, name, member.path, inflater);
  const [size, compressedSize] = parseZip64(extra, [
    view.getUint32(offset + 22, true),
    view.getUint32(offset + 18, true),
  ]);
  const crc = view.getUint32(offset + 14, true);
  const isDeferred = hasDescriptor(member) && size === 0 && compressedSize === 0 && crc === 0;
  if (!isDeferred && (size !== member.size || compressedSize !== member.compressedSize || crc !== member.crc)) {
    throw contradicts(member);
  }
  return { extra, dataOffset };
}

/** The descriptor has a signature or none, and sizes of 8 bytes where the local header has a zip64 field: four lengths, each one form. */
function checkDescriptor(view: DataView, member: NamedRecord, extra: ExtraFields, start: number, end: number): void {
  const length = end - start;
  if (!hasDescriptor(member)) {
    if (length !== 0) throw overlaps(member);
    return;
  }
  if (member.method === ZIP_METHOD.stored && member.size !== 0) {
    throw new ArchiveError(
      "method",
      `The member ${quoted(member.path)} is stored, so nothing tells where its data ends.`,
    );
  }
  const sizeBytes = extra.has(ZIP64) ? 8 : 4;
  const bare = 4 + 2 * sizeBytes;
  if (length !== bare && length !== bare + 4) throw overlaps(member);
  const at = end - bare;
  const sizeAt = (offset: number) =>
    sizeBytes === 8 ? view.getBigUint64(offset, true) : BigInt(view.getUint32(offset, true));
  if (
    (at > start && view.getUint32(start, true) !== DESCRIPTOR_SIGNATURE) ||
    view.getUint32(at, true) !== member.crc ||
    sizeAt(at + 4) !== BigInt(member.compressedSize) ||
    sizeAt(at + 4 + sizeBytes) !== BigInt(member.size)
  ) {
    throw contradicts(member);
  }
}

function hasDescriptor(member: NamedRecord): boolean {
  return (member.flags & ZIP_FLAG.descriptor) !== 0;
}

function overlaps(member: NamedRecord): ArchiveError {
  return new ArchiveError(
    "overlap",
    `The member ${quoted(member.path)} overlaps what follows, or leaves a gap before it.`,
  );
}

function contradicts(member: NamedRecord): ArchiveError {
  return new ArchiveError(
    "mismatch",
    `The local header or descriptor of ${quoted(member.path)} contradicts the directory.`,
  );
}
