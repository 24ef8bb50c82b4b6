/**
 * How one raw DEFLATE stream (RFC 1951) ended. `consumed` is how many bytes of the input it took: what follows is not part of it.
 * `too_large` says that it went on past the cap, `corrupt` that it is invalid or cut short.
 */
export type Inflated =
  | { readonly status: "complete"; readonly output: Uint8Array; readonly consumed: number }
  | { readonly status: "too_large" }
  | { readonly status: "corrupt" };

/**
 * What the platform must offer. The web's `DecompressionStream` will not do: workerd's has no back-pressure, so that 522 KB
 * can take 700 MiB before a cap is seen, and Node's ignores what follows the stream.
 */
export interface Inflater {
  /** Stops at the cap: neither time nor memory may depend on how far the stream would go on. Exactly `maxBytes` passes. */
  inflateRaw(input: Uint8Array, maxBytes: number): Inflated;
  /** CRC-32 as gzip and zip use it, unsigned. */
  crc32(bytes: Uint8Array): number;
}
