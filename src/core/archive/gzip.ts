import { ArchiveError } from "./archive-error.ts";
import type { Inflater } from "./inflater.ts";
import { type ArchiveLimits, checkRatio, tooExpanded } from "./limits.ts";

const FIXED_HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
const DEFLATE_METHOD = 8;
const FLAG = { headerCrc: 0x02, extra: 0x04, name: 0x08, comment: 0x10, reserved: 0xe0 } as const;

/**
 * Inflates a file that is exactly one gzip member (RFC 1952): header checksum, CRC-32 and length are verified, and nothing may follow,
 * since some readers would go on with a second member and others would not.
 *
 * @throws {ArchiveError} `gzip`, `expanded`, `ratio` or `trailing`.
 */
export function gunzip(bytes: Uint8Array, limits: ArchiveLimits, inflater: Inflater): Uint8Array {
  const start = headerLength(bytes, inflater);
  const inflated = inflater.inflateRaw(bytes.subarray(start), limits.maxExpandedBytes);
  if (inflated.status === "too_large") throw tooExpanded(limits);
  if (inflated.status === "corrupt") throw new ArchiveError("gzip", "The gzip stream is corrupt or cut short.");
  const { output, consumed } = inflated;
  checkRatio(output.length, bytes.length, limits);
  const trailer = bytes.subarray(start + consumed);
  if (trailer.length < TRAILER_BYTES) throw new ArchiveError("gzip", "The gzip trailer is cut short.");
  const view = new DataView(trailer.buffer, trailer.byteOffset, TRAILER_BYTES);
  if (view.getUint32(0, true) !== inflater.crc32(output)) {
    throw new ArchiveError("gzip", "The CRC-32 of the gzip trailer is not that of the data.");
  }
  if (view.getUint32(4, true) !== output.length % 2 ** 32) {
    throw new ArchiveError("gzip", "The length in the gzip trailer is not that of the data.");
  }
  if (trailer.length > TRAILER_BYTES) {
    throw new ArchiveError("trailing", `${trailer.length - TRAILER_BYTES} bytes follow the end of the gzip stream.`);
  }
  return output;
}

function headerLength(bytes: Uint8Array, inflater: Inflater): number {
  const flags = bytes[3] ?? 0;
  if (bytes.length < FIXED_HEADER_BYTES) throw cutHeader();
  if (bytes[2] !== DEFLATE_METHOD || (flags & FLAG.reserved) !== 0) {
    throw new ArchiveError("gzip", "The gzip header names an unknown compression method or flag.");
  }
  let end = FIXED_HEADER_BYTES;
  if ((flags & FLAG.extra) !== 0) end += 2 + (bytes[end] ?? 0) + 256 * (bytes[end + 1] ?? 0);
  for (const flag of [FLAG.name, FLAG.comment]) {
    if ((flags & flag) === 0) continue;
    end = bytes.indexOf(0, end) + 1;
    if (end === 0) throw cutHeader();
  }
  if ((flags & FLAG.headerCrc) !== 0) {
    const stored = (bytes[end] ?? 0) + 256 * (bytes[end + 1] ?? 0);
    if (stored !== (inflater.crc32(bytes.subarray(0, end)) & 0xffff)) {
      throw new ArchiveError("gzip", "The checksum of the gzip header is wrong.");
    }
    end += 2;
  }
  if (end > bytes.length) throw cutHeader();
  return end;
}

function cutHeader(): ArchiveError {
  return new ArchiveError("gzip", "The gzip header is cut short.");
}
