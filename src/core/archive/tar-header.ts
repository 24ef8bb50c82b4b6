import { ArchiveError, quoted } from "./archive-error.ts";

export const TAR_BLOCK_BYTES = 512;

/** One header block, its fields as they stand there. */
export interface TarHeader {
  /** The name with the ustar prefix joined to it. */
  readonly name: Uint8Array;
  readonly linkName: Uint8Array;
  readonly size: number;
  /** Whether the size is in GNU's base 256, which some installers cannot read. */
  readonly isBase256: boolean;
  readonly type: TarType;
}

/** File (NUL in the oldest tars), hard link, symbolic link, directory; pax headers for one member and for all; GNU's long name and long link. */
const TYPES = ["0", "\0", "1", "2", "5", "x", "g", "L", "K"] as const;
export type TarType = (typeof TYPES)[number];

/** Offset and length of each field (POSIX.1-1988 ustar). */
const FIELD = {
  name: [0, 100],
  size: [124, 12],
  checksum: [148, 8],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
  reserved: [500, 12],
} as const;

type Field = readonly [offset: number, length: number];

/** Numbers that nothing here needs, and that other readers stumble over when they are none. */
const OTHER_NUMBERS: readonly Field[] = [
  [100, 8],
  [108, 8],
  [116, 8],
  [136, 12],
  [329, 8],
  [337, 8],
];

const MAGIC = { posix: "ustar\0" + "00", gnu: "ustar  \0", v7: "\0".repeat(8) } as const;

/**
 * Reads one header of a tar: ustar, GNU or v7. Attacker-controlled.
 *
 * @throws {ArchiveError} `checksum`; `special` for another type; `header` for another magic, bytes where none belong or a number that is none; `size`; `path` or `link`
 *   for a name that goes on after its NUL.
 */
export function parseTarHeader(block: Uint8Array): TarHeader {
  checkChecksum(block);
  const flag = String.fromCharCode(block[156] ?? 0);
  const type = TYPES.find((known) => known === flag);
  if (type === undefined) {
    throw new ArchiveError(
      "special",
      `A member of the tar is of type ${quoted(flag)}: neither file, directory nor link.`,
    );
  }
  const magic = latin1(field(block, FIELD.magic));
  if (magic !== MAGIC.posix && magic !== MAGIC.gnu && magic !== MAGIC.v7) {
    throw new ArchiveError("header", "A tar header is neither ustar, GNU nor v7.");
  }
  // Other formats keep times or sparse maps there; a reader that takes them for a prefix sees another name.
  const unused = magic === MAGIC.posix ? FIELD.reserved : ([345, 167] as const);
  if (!isZero(field(block, unused))) {
    throw new ArchiveError("header", "A tar header has bytes outside of the fields of its format.");
  }
  for (const number of OTHER_NUMBERS) {
    if (parseNumber(field(block, number), true) === null) {
      throw new ArchiveError("header", `A tar header has no number at byte ${number[0]}.`);
    }
  }
  const sizeField = field(block, FIELD.size);
  const size = parseNumber(sizeField, false);
  if (size === null) throw new ArchiveError("size", "The size field of a tar header is not a number of bytes.");
  const name = text(block, FIELD.name, "path");
  const prefix = magic === MAGIC.posix ? text(block, FIELD.prefix, "path") : new Uint8Array(0);
  return {
    name: prefix.length === 0 ? name : join(prefix, name),
    linkName: text(block, FIELD.linkName, "link"),
    size,
    isBase256: (sizeField[0] ?? 0) >= 0x80,
    type,
  };
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** The sum of all bytes, the checksum's own counted as spaces. */
function checkChecksum(block: Uint8Array): void {
  let sum = 0;
  for (const byte of block) sum += byte;
  for (const byte of field(block, FIELD.checksum)) sum += 0x20 - byte;
  if (parseNumber(field(block, FIELD.checksum), false) !== sum) {
    throw new ArchiveError("checksum", "The checksum of a tar header is wrong.");
  }
}

/**
 * Octal digits with spaces before, and spaces or NULs after; or GNU's base 256. Null for anything else: lenient readers disagree about it.
 *
 * @param isOptional whether the field may be empty or negative.
 */
function parseNumber(bytes: Uint8Array, isOptional: boolean): number | null {
  const first = bytes[0] ?? 0;
  if (first === 0xff && isOptional) return -1;
  if (first >= 0x80) return first === 0x80 ? parseBase256(bytes.subarray(1)) : null;
  const [, digits] = /^ *([0-7]*)[ \0]*$/.exec(latin1(bytes)) ?? [];
  if (digits === undefined || (digits === "" && !isOptional)) return null;
  return Number.parseInt(`0${digits}`, 8);
}

function parseBase256(bytes: Uint8Array): number | null {
  let value = 0;
  for (const byte of bytes) value = value * 256 + byte;
  return Number.isSafeInteger(value) ? value : null;
}

/** What stands before the first NUL. Bytes behind it would be seen by some readers only. */
function text(block: Uint8Array, position: Field, code: "path" | "link"): Uint8Array {
  const bytes = field(block, position);
  const end = bytes.indexOf(0);
  if (end < 0) return bytes;
  if (!isZero(bytes.subarray(end))) throw new ArchiveError(code, "A name in a tar header goes on after a NUL.");
  return bytes.subarray(0, end);
}

function join(prefix: Uint8Array, name: Uint8Array): Uint8Array {
  const joined = new Uint8Array(prefix.length + 1 + name.length);
  joined.set(prefix);
  joined[prefix.length] = 0x2f;
  joined.set(name, prefix.length + 1);
  return joined;
}

function field(block: Uint8Array, [offset, length]: Field): Uint8Array {
  return block.subarray(offset, offset + length);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
