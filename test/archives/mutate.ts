import { crc32, gunzipSync, gzipSync } from "node:zlib";
import { sealTarHeader } from "./build.ts";

/** Numbers from 0 up to below `limit`, the same for the same seed (mulberry32). */
export type Random = (limit: number) => number;

export function seededRandom(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const BLOCK = 512;

/** Offset and length of the fields of a tar header, and what is worth writing there besides noise. */
const TAR_FIELDS: readonly (readonly [number, number, readonly string[]])[] = [
  [0, 100, ["SKILL.md", "./SKILL.md", "a/", "a/b", "a", "./", ".", "..", "a\0b", "é", "x".repeat(100)]],
  [100, 8, ["0000755\0", "\0", "999", " 644 \0"]],
  [124, 12, ["00000000000\0", "00000001000\0", "00000000001 ", "0o7", "\x80", "           7", "-1", "1_0"]],
  [156, 1, ["0", "\0", "1", "2", "5", "7", "x", "g", "L", "K", "S", "V", "X"]],
  [157, 100, ["SKILL.md", "./SKILL.md", "../x", "references/GUIDE.md", "a", "."]],
  [257, 8, ["ustar\x0000", "ustar  \0", "\0\0\0\0\0\0\0\0", "ustar\0\0\0"]],
  [345, 155, ["a", "a/b", "", "..", "./a"]],
  [500, 12, ["tar\0"]],
];

const PAX_BODIES = [
  "12 path=a/b\n",
  "20 path=\u00e9t\u00e9/x.md\n",
  "19 comment=x=y z\n\n",
  "11 size=30\n",
  "12 size=030\n",
  "21 linkpath=SKILL.md\n",
  "12 path=a/\0\n",
  "22 GNU.sparse.major=1\n",
  "37 comment=20 hdrcharset=BINARY\n12345\n",
  "21 hdrcharset=BINARY\n",
  "12 path=a/b\n12 path=a/c\n",
  "a/long/name\0",
];

/** A changed copy of an archive; `others` lend it parts. What it is now may be valid, broken or hostile. */
export function mutate(archive: Uint8Array, others: readonly Uint8Array[], random: Random): Uint8Array {
  if (archive[0] === 0x50) return mutateZip(archive, others, random);
  const content = inflate(archive);
  if (content === null || random(20) === 0) return mutateBytes(archive, others, random);
  const lent = inflate(others[random(others.length)] ?? archive) ?? content;
  let tar = Buffer.from(content);
  for (let left = howMany(random); left > 0; left -= 1) tar = mutateTar(tar, lent, random);
  return gzipSync(tar);
}

/** Mostly one change: what has several is rarely accepted. */
function howMany(random: Random): number {
  return random(4) === 0 ? 2 + random(2) : 1;
}

function inflate(archive: Uint8Array): Buffer | null {
  try {
    return gunzipSync(archive, { maxOutputLength: 65_536 });
  } catch {
    // Not a gzip, or one of the large ones: those are changed as bytes.
    return null;
  }
}

function mutateTar(tar: Buffer, lent: Buffer, random: Random): Buffer<ArrayBuffer> {
  const at = someBlock(tar, random);
  const from = someBlock(lent, random);
  const cut = tar.subarray(at);
  switch (random(8)) {
    case 0:
      return Buffer.concat([tar.subarray(0, at), lent.subarray(from, from + BLOCK * (1 + random(4))), cut]);
    case 1:
      return Buffer.concat([tar.subarray(0, at), cut.subarray(BLOCK * (1 + random(2)))]);
    case 2: {
      const body = Buffer.from(PAX_BODIES[random(PAX_BODIES.length)] ?? "");
      const header = Buffer.alloc(BLOCK);
      header.write("PaxHeader/x");
      header.write(body.length.toString(8).padStart(11, "0"), 124);
      header.write("xxxgLK"[random(6)] ?? "x", 156);
      header.write("ustar\x0000", 257);
      const padding = Buffer.alloc(-body.length & (BLOCK - 1));
      return Buffer.concat([tar.subarray(0, at), sealTarHeader(header), body, padding, cut]);
    }
    default: {
      const copy = Buffer.from(tar);
      const header = copy.subarray(at, at + BLOCK);
      if (header.length < BLOCK) return copy;
      mutateTarField(header, random);
      return copy;
    }
  }
}

/** Mostly one before the end marker. */
function someBlock(tar: Buffer, random: Random): number {
  const blocks = Math.ceil(tar.length / BLOCK);
  return random(random(10) === 0 ? blocks : Math.max(1, blocks - 2)) * BLOCK;
}

function mutateTarField(block: Buffer, random: Random): void {
  const [offset, length, values] = TAR_FIELDS[random(TAR_FIELDS.length)] ?? [0, 1, []];
  if (random(3) === 0) {
    block[offset + random(length)] = random(256);
  } else {
    block.fill(0, offset, offset + length);
    block.write(values[random(values.length)] ?? "", offset, length, "utf8");
  }
  if (random(20) > 0) sealTarHeader(block);
}

/** Headers of a zip by the last two bytes of their signature: how long the fixed part is. */
const ZIP_HEADERS: Readonly<Record<string, number>> = {
  "\x03\x04": 30,
  "\x01\x02": 46,
  "\x05\x06": 22,
  "\x06\x06": 56,
  "\x06\x07": 20,
  "\x07\x08": 16,
};
const INTERESTING = [0, 1, 2, 8, 9, 20, 22, 0x2f, 0x7f, 0x80, 0xff, 0xffff, 0x8000, 0x7fffffff, 0xffffffff];

function mutateZip(archive: Uint8Array, others: readonly Uint8Array[], random: Random): Uint8Array {
  let zip = Buffer.from(archive);
  for (let left = howMany(random); left > 0; left -= 1) {
    const choice = random(10);
    if (choice === 0) zip = Buffer.from(mutateBytes(zip, others, random));
    else if (choice < 4) renameEverywhere(zip, random);
    else mutateZipField(zip, random);
  }
  if (random(2) === 0) repairZip(zip);
  return zip;
}

function mutateZipField(zip: Buffer, random: Random): void {
  const headers = [...zip.toString("latin1").matchAll(/PK([^A-Z]{2})/g)];
  const header = headers[random(headers.length)];
  if (header === undefined) return;
  const length = ZIP_HEADERS[header[1] ?? ""] ?? 4;
  const at = header.index + 4 + random(length - 4);
  const width = Math.min([1, 2, 4][random(3)] ?? 1, zip.length - at);
  if (width === 3 || width < 1) return;
  const value = random(2) === 0 ? (INTERESTING[random(INTERESTING.length)] ?? 0) : random(256);
  zip.writeUIntLE(value % 256 ** width, at, width);
}

/** One byte of a name, in the local header and in the directory alike. */
function renameEverywhere(zip: Buffer, random: Random): void {
  const at = zip.indexOf("PK\x01\x02", random(zip.length), "latin1");
  if (at < 0 || at + 46 > zip.length) return;
  const name = Buffer.from(zip.subarray(at + 46, at + 46 + zip.readUInt16LE(at + 28)));
  const index = random(name.length);
  const value = random(2) === 0 ? random(256) : ("/.\\:aAé\0"[random(8)] ?? "x").charCodeAt(0);
  if (name.length === 0) return;
  for (let found = zip.indexOf(name); found >= 0; found = zip.indexOf(name, found + 1)) zip[found + index] = value;
}

/** Makes the checksums of stored members right again where the directory can be walked. */
function repairZip(zip: Buffer): void {
  let at = zip.indexOf("PK\x01\x02", 0, "latin1");
  while (at >= 0 && at + 46 <= zip.length) {
    const local = zip.readUInt32LE(at + 42);
    if (zip.readUInt16LE(at + 10) === 0 && local + 30 <= zip.length) {
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const sum = crc32(zip.subarray(start, start + zip.readUInt32LE(at + 20)));
      zip.writeUInt32LE(sum, at + 16);
      zip.writeUInt32LE(sum, local + 14);
    }
    at = zip.indexOf("PK\x01\x02", at + 46, "latin1");
  }
}

/** Without regard to any format: flips, cuts, repeats or inserts. */
function mutateBytes(archive: Uint8Array, others: readonly Uint8Array[], random: Random): Uint8Array {
  const bytes = Buffer.from(archive);
  const at = random(bytes.length + 1);
  const lent = others[random(others.length)] ?? bytes;
  const from = random(lent.length + 1);
  switch (random(5)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), lent.subarray(from, from + random(64)), bytes.subarray(at)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random(32))]);
    case 2:
      return random(8) === 0 ? Buffer.concat([bytes, lent]) : bytes.subarray(0, at);
    default:
      if (at < bytes.length) bytes[at] = random(2) === 0 ? random(256) : (bytes[at] ?? 0) ^ (1 << random(8));
      return bytes;
  }
}
