import { crc32, deflateRawSync } from "node:zlib";

/** A tar member as its header says it; whatever is left out is what an honest writer would put there. */
export interface TarEntry {
  readonly name: string;
  readonly body?: string | Uint8Array;
  /** The typeflag; `"0"`, a regular file, by default. */
  readonly type?: string;
  readonly link?: string;
  /** Written in place of the octal length. */
  readonly size?: string;
  readonly prefix?: string;
  readonly magic?: string;
  /** Overwrites bytes of the header before its checksum is taken. */
  readonly patch?: readonly [offset: number, text: string];
}

const BLOCK = 512;

/** A tar of these entries with its end marker, nothing checked. */
export function buildTar(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const parts = entries.flatMap((entry) => {
    const body = typeof entry.body === "string" ? Buffer.from(entry.body) : (entry.body ?? new Uint8Array(0));
    return [tarHeader(entry, body.length), body, new Uint8Array(-body.length & (BLOCK - 1))];
  });
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]));
}

function tarHeader(entry: TarEntry, length: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const put = (offset: number, text: string) => block.write(text, offset, "utf8");
  put(0, entry.name);
  put(100, "0000644\0");
  put(124, entry.size ?? `${length.toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0");
  put(156, entry.type ?? "0");
  put(157, entry.link ?? "");
  put(257, entry.magic ?? "ustar\x0000");
  put(345, entry.prefix ?? "");
  if (entry.patch !== undefined) put(...entry.patch);
  return sealTarHeader(block);
}

/** Writes the checksum that belongs to the other bytes of a header. */
export function sealTarHeader<T extends Uint8Array>(block: T): T {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.set(Buffer.from(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return block;
}

/** The body of a pax header with these records. */
export function paxBody(records: Readonly<Record<string, string>>): string {
  return Object.entries(records)
    .map(([key, value]) => {
      const rest = Buffer.byteLength(` ${key}=${value}\n`);
      const length = rest + String(rest + String(rest).length).length;
      return `${length} ${key}=${value}\n`;
    })
    .join("");
}

/** One gzip member; `flags` and `extra` are what the header says after its fixed part. */
export function wrapGzip(
  content: Uint8Array,
  flags = 0,
  extra: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(content), 0);
  trailer.writeUInt32LE(content.length % 2 ** 32, 4);
  const header = Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]);
  return new Uint8Array(Buffer.concat([header, extra, deflateRawSync(content), trailer]));
}

/** A zip member; its sizes and CRC-32 are the body's, the rest may be anything. */
export interface ZipEntry {
  readonly name: string;
  readonly body?: string;
  readonly isStored?: boolean;
  /** Compressed data that is not the body's. */
  readonly data?: Uint8Array;
  readonly flags?: number;
  /** Extra fields of the local header and of the directory. */
  readonly extra?: Uint8Array;
  readonly attributes?: number;
  /** What stands between this member's data and the next one. */
  readonly after?: Uint8Array;
}

/** A zip of these entries, nothing checked. */
export function buildZip(
  entries: readonly ZipEntry[],
  comment: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const locals: Uint8Array[] = [];
  const centrals: Uint8Array[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const body = Buffer.from(entry.body ?? "");
    const data = entry.data ?? (entry.isStored ? body : deflateRawSync(body));
    const extra = entry.extra ?? new Uint8Array(0);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(entry.flags ?? 0x0800, 2);
    shared.writeUInt16LE(entry.isStored ? 0 : 8, 4);
    shared.writeUInt32LE(crc32(body), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(body.length, 18);
    shared.writeUInt16LE(name.length, 22);
    shared.writeUInt16LE(extra.length, 24);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(entry.attributes ?? 0, 6);
    tail.writeUInt32LE(offset, 10);
    const local = [Buffer.from("PK\x03\x04"), shared, name, extra, data, entry.after ?? new Uint8Array(0)];
    locals.push(...local);
    centrals.push(Buffer.from("PK\x01\x02\x14\x03"), shared, tail, name, extra);
    offset += local.reduce((sum, part) => sum + part.length, 0);
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(centrals).length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return new Uint8Array(Buffer.concat([...locals, ...centrals, end, comment]));
}
