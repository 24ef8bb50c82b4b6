import { ArchiveError } from "./archive-error.ts";
import { type ArchiveLimits, checkEntries } from "./limits.ts";
import { type ExtraFields, parseExtraFields, parseZip64 } from "./zip-extra.ts";

/** General purpose flags (APPNOTE 4.4.4). */
export const ZIP_FLAG = {
  encrypted: 0x0001,
  descriptor: 0x0008,
  strong: 0x0040,
  utf8: 0x0800,
  masked: 0x2000,
  /** What a member may have set: how hard it was compressed, a data descriptor, UTF-8. */
  known: 0x080e,
} as const;

export const ZIP_METHOD = { stored: 0, deflated: 8, aes: 99 } as const;

/** A record of the central directory, numbers as they stand there or, where those say so, in its zip64 field. */
export interface CentralRecord {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly name: Uint8Array;
  readonly extra: ExtraFields;
  /** Host-specific; the upper half is a Unix mode, whatever the host says. */
  readonly attributes: number;
  /** Where its local header begins. */
  readonly offset: number;
}

export interface ZipDirectory {
  readonly records: readonly CentralRecord[];
  /** Where the directory begins: local headers and data fill everything before it. */
  readonly offset: number;
  readonly hasZip64End: boolean;
}

interface EndRecord {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
  /** Where the directory must end. */
  readonly directoryEnd: number;
  readonly hasZip64End: boolean;
}

const END_BYTES = 22;
const MAX_COMMENT_BYTES = 65_535;
const LOCATOR_BYTES = 20;
const ZIP64_END_BYTES = 56;
const CENTRAL_BYTES = 46;
const SIGNATURE = { central: 0x02014b50, end: 0x06054b50, zip64End: 0x06064b50, zip64Locator: 0x07064b50 } as const;
/** The newest version of the format that any reader claims to know (APPNOTE 4.4.3). */
const MAX_VERSION = 63;

/**
 * Reads the end record and the central directory (APPNOTE 6.3.10, 4.3.12 to 4.3.16), which must fill the end of the file exactly and
 * leave no second place where another reader could find an end record. Attacker-controlled.
 *
 * @throws {ArchiveError} `eocd`, `trailing`, `entries`, `size`, `header` or `method`.
 */
export function readDirectory(bytes: Uint8Array, limits: ArchiveLimits): ZipDirectory {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = readEnd(view);
  if (end.offset + end.size !== end.directoryEnd) throw bad("The central directory is not where the end record says.");
  checkEntries(end.count, limits);
  const records: CentralRecord[] = [];
  let offset = end.offset;
  for (let index = 0; index < end.count; index += 1) {
    const { record, next } = readRecord(bytes, view, offset, end.directoryEnd);
    records.push(record);
    offset = next;
  }
  if (offset !== end.directoryEnd) throw bad("The central directory is longer than its records.");
  return { records, offset: end.offset, hasZip64End: end.hasZip64End };
}

function readEnd(view: DataView): EndRecord {
  const position = findEnd(view);
  const count = view.getUint16(position + 10, true);
  if (view.getUint16(position + 4, true) !== 0 || view.getUint16(position + 6, true) !== 0) {
    throw bad("The zip is one of several disks.");
  }
  if (view.getUint16(position + 8, true) !== count) throw bad("The end record has two different counts.");
  const end = {
    count,
    size: view.getUint32(position + 12, true),
    offset: view.getUint32(position + 16, true),
    directoryEnd: position,
    hasZip64End: false,
  };
  const locator = position - LOCATOR_BYTES;
  return locator >= 0 && view.getUint32(locator, true) === SIGNATURE.zip64Locator ? readZip64End(view, end) : end;
}

/** The last end record, whose comment must end with the file, and that must not lie within the comment of another one. */
function findEnd(view: DataView): number {
  const last = view.byteLength - END_BYTES;
  let found = -1;
  for (let position = last; position >= Math.max(0, last - MAX_COMMENT_BYTES); position -= 1) {
    if (view.getUint32(position, true) !== SIGNATURE.end) continue;
    const end = position + END_BYTES + view.getUint16(position + 20, true);
    if (found >= 0 && end === view.byteLength) throw bad("The zip has two end records.");
    if (found >= 0) continue;
    if (end > view.byteLength) throw bad("The zip is cut short within its comment.");
    if (end < view.byteLength) {
      throw new ArchiveError("trailing", `${view.byteLength - end} bytes follow the end of the zip.`);
    }
    found = position;
  }
  if (found < 0) throw bad("The zip has no end record.");
  return found;
}

/** The zip64 end record stands right before its locator and says the same as the other one wherever that has room for it. */
function readZip64End(view: DataView, end: EndRecord): EndRecord {
  const position = end.directoryEnd - LOCATOR_BYTES - ZIP64_END_BYTES;
  const locator = end.directoryEnd - LOCATOR_BYTES;
  if (
    position < 0 ||
    view.getUint32(locator + 4, true) !== 0 ||
    view.getBigUint64(locator + 8, true) !== BigInt(position) ||
    view.getUint32(locator + 16, true) !== 1 ||
    view.getUint32(position, true) !== SIGNATURE.zip64End ||
    view.getBigUint64(position + 4, true) !== BigInt(ZIP64_END_BYTES - 12) ||
    view.getUint32(position + 16, true) !== 0 ||
    view.getUint32(position + 20, true) !== 0
  ) {
    throw bad("The zip64 end record or its locator is malformed.");
  }
  const count = view.getBigUint64(position + 32, true);
  const size = view.getBigUint64(position + 40, true);
  const offset = view.getBigUint64(position + 48, true);
  const isSame = (short: number, full: number, long: bigint) => short === full || BigInt(short) === long;
  if (
    view.getBigUint64(position + 24, true) !== count ||
    !isSame(end.count, 0xffff, count) ||
    !isSame(end.size, 0xffffffff, size) ||
    !isSame(end.offset, 0xffffffff, offset) ||
    offset + size !== BigInt(position)
  ) {
    throw bad("The zip64 end record contradicts the end record.");
  }
  return {
    count: Number(count),
    size: Number(size),
    offset: Number(offset),
    directoryEnd: position,
    hasZip64End: true,
  };
}

function readRecord(bytes: Uint8Array, view: DataView, offset: number, end: number) {
  if (offset + CENTRAL_BYTES > end || view.getUint32(offset, true) !== SIGNATURE.central) {
    throw bad("The central directory has fewer records than the end record says.");
  }
  const nameLength = view.getUint16(offset + 28, true);
  const extraLength = view.getUint16(offset + 30, true);
  const nameAt = offset + CENTRAL_BYTES;
  const next = nameAt + nameLength + extraLength + view.getUint16(offset + 32, true);
  if (next > end) throw bad("A record of the central directory goes on past its end.");
  if (view.getUint16(offset + 34, true) !== 0) throw bad("A member is on another disk.");
  if (view.getUint8(offset + 6) > MAX_VERSION) {
    throw new ArchiveError("method", `A member needs a version of zip above ${MAX_VERSION / 10}.`);
  }
  const extra = parseExtraFields(bytes.subarray(nameAt + nameLength, nameAt + nameLength + extraLength));
  const [size, compressedSize, localOffset] = parseZip64(extra, [
    view.getUint32(offset + 24, true),
    view.getUint32(offset + 20, true),
    view.getUint32(offset + 42, true),
  ]);
  const record: CentralRecord = {
    flags: view.getUint16(offset + 8, true),
    method: view.getUint16(offset + 10, true),
    crc: view.getUint32(offset + 16, true),
    compressedSize,
    size,
    name: bytes.subarray(nameAt, nameAt + nameLength),
    extra,
    attributes: view.getUint32(offset + 38, true),
    offset: localOffset,
  };
  return { record, next };
}

function bad(message: string): ArchiveError {
  return new ArchiveError("eocd", message);
}
