import { ArchiveError, quoted } from "./archive-error.ts";
import type { Inflater } from "./inflater.ts";
import { decodeName } from "./member-path.ts";

/** Extra fields by their id (APPNOTE 4.5). */
export type ExtraFields = ReadonlyMap<number, Uint8Array>;

export const ZIP64 = 0x0001;
const UNICODE_PATH = 0x7075;
/** In a 32-bit field: the value is in the zip64 field. */
const IN_ZIP64 = 0xffffffff;

/** @throws {ArchiveError} `header` where the fields do not fill their room exactly, or one that is read here occurs twice. */
export function parseExtraFields(bytes: Uint8Array): ExtraFields {
  const fields = new Map<number, Uint8Array>();
  const view = viewOf(bytes);
  for (let offset = 0; offset < bytes.length; ) {
    const end = offset + 4 <= bytes.length ? offset + 4 + view.getUint16(offset + 2, true) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) throw new ArchiveError("header", "The extra fields of a member are malformed.");
    const id = view.getUint16(offset, true);
    if (fields.has(id)) throw new ArchiveError("header", "A member has an extra field twice.");
    fields.set(id, bytes.subarray(offset + 4, end));
    offset = end;
  }
  return fields;
}

/**
 * Takes from the zip64 field exactly the values whose 32-bit fields say that they are there, in the order given.
 *
 * @throws {ArchiveError} `size` where the field is missing, or has more or less than that.
 */
export function parseZip64<T extends readonly [number, ...number[]]>(
  extra: ExtraFields,
  short: T,
): { [K in keyof T]: number } {
  const field = extra.get(ZIP64);
  const wanted = short.filter((value) => value === IN_ZIP64).length;
  if ((field?.length ?? 0) !== 8 * wanted || (field !== undefined && wanted === 0)) {
    throw new ArchiveError("size", "The zip64 field of a member does not have the values that its header leaves out.");
  }
  if (field === undefined) return short as { [K in keyof T]: number };
  const view = viewOf(field);
  let offset = 0;
  return short.map((value) => {
    if (value !== IN_ZIP64) return value;
    offset += 8;
    return safeNumber(view.getBigUint64(offset - 8, true));
  }) as { [K in keyof T]: number };
}

/**
 * Info-ZIP's Unicode Path repeats the name in UTF-8; a reader that prefers it must see the same one.
 *
 * @throws {ArchiveError} `path`
 */
export function checkUnicodePath(extra: ExtraFields, rawName: Uint8Array, name: string, inflater: Inflater): void {
  const field = extra.get(UNICODE_PATH);
  if (field === undefined) return;
  const isCurrent = field.length >= 5 && field[0] === 1 && viewOf(field).getUint32(1, true) === inflater.crc32(rawName);
  if (!isCurrent || decodeName(field.subarray(5)) !== name) {
    throw new ArchiveError("path", `The Unicode Path of ${quoted(name)} says another name.`);
  }
}

function safeNumber(value: bigint): number {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new ArchiveError("size", "A zip64 value is beyond every file.");
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
