// The one import of Node in the core: workerd and Node both have this module, nothing on the web is as safe (see `Inflater`).
// biome-ignore lint/style/noRestrictedImports: a documented exception; a browser hands `readArchive` an inflater of its own.
import { crc32, inflateRawSync } from "node:zlib";
import type { Inflated, Inflater } from "./inflater.ts";

/** What `inflateRawSync` throws for an invalid stream and for one that is cut short. */
const CORRUPT = new Set(["Z_DATA_ERROR", "Z_BUF_ERROR"]);

/** The inflater of workerd and Node. */
export const zlibInflater: Inflater = { inflateRaw, crc32: (bytes) => crc32(bytes) };

function inflateRaw(input: Uint8Array, maxBytes: number): Inflated {
  try {
    // A cap of zero is none that zlib would take.
    const { buffer, engine } = inflateRawSync(input, {
      info: true,
      maxOutputLength: Math.max(1, maxBytes),
    }) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
    if (buffer.length > maxBytes) return { status: "too_large" };
    // Small results sit in a chunk of 16 KiB, which a view would keep.
    const isSmall = buffer.byteLength < buffer.buffer.byteLength / 2;
    const output = isSmall
      ? Uint8Array.from(buffer)
      : new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    return { status: "complete", output, consumed: engine.bytesWritten };
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === "ERR_BUFFER_TOO_LARGE") return { status: "too_large" };
    if (CORRUPT.has(String(code))) return { status: "corrupt" };
    throw error;
  }
}
