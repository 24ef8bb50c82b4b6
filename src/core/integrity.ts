import { CodedError } from "./coded-error.ts";

declare const sha256HexBrand: unique symbol;

/** 64 lower-case hexadecimal digits: the SHA-256 of exact bytes. */
export type Sha256Hex = string & { readonly [sha256HexBrand]: true };

/** Why bytes could not be taken. `bad_encoding` comes from {@link decodeUtf8} alone, the others from reading a body. */
export type IntegrityErrorCode = "too_large" | "length_mismatch" | "aborted" | "read_failed" | "bad_encoding";

/** An expected failure of reading or decoding bytes; `message` is an English sentence naming the limit. */
export class IntegrityError extends CodedError<IntegrityErrorCode> {
  override readonly name = "IntegrityError";
}

/** The part of a `Response` that is read. */
export type ReadableResponse = {
  readonly headers: Pick<Headers, "get" | "has">;
  readonly body: ReadableStream<Uint8Array> | null;
};

/** What {@link readTruncated} kept of a body. */
export interface TruncatedBody {
  /** The first bytes, at most the limit; when cut, cut on a UTF-8 code-point boundary. */
  readonly bytes: Uint8Array;
  /** True when the body had more bytes than the limit. */
  readonly truncated: boolean;
  /** The declared `Content-Length`, or `null` where there is none. */
  readonly contentLength: number | null;
}

/** True for a declared hash of the only accepted form, `^[0-9a-f]{64}$` (Executable Skills v0.5: lower-case hex). */
export function isSha256Hex(value: string): value is Sha256Hex {
  return /^[0-9a-f]{64}$/.test(value);
}

/**
 * SHA-256 of exactly these bytes: no decoding, BOM stripping or newline change comes first. Of a body they are the bytes
 * of the file: transfer and content codings (`gzip`, `br`) are the connection's own, and `fetch` has undone them.
 *
 * @example `await sha256Hex(body) === declared`
 */
export async function sha256Hex(bytes: Uint8Array): Promise<Sha256Hex> {
  // The type of `digest` excludes shared memory, which no body or file ever is.
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return digestHex(digest);
}

/** A digest that was taken elsewhere, in the form of {@link sha256Hex}. */
export function digestHex(digest: Uint8Array): Sha256Hex {
  let hex = "";
  for (const byte of digest) hex += byte.toString(16).padStart(2, "0");
  return hex as Sha256Hex;
}

/**
 * Reads a body whole, byte for byte, against a cap. A body of exactly `maxBytes` passes.
 *
 * @param maxBytes cap in bytes after any `Content-Encoding` is undone, so that a small body cannot inflate past it. A `Content-Length` above it rejects before anything is read.
 * @param signal ends the read even where the fetch implementation ignores it while the body stalls.
 * @throws {IntegrityError} `too_large`; `length_mismatch` when the body has another length than declared and no
 *   `Content-Encoding` explains it; `aborted`; `read_failed` when the stream breaks.
 *   The body is cancelled whenever the read is refused.
 */
export async function readBounded(
  response: ReadableResponse,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const declared = contentLength(response);
  if (declared !== null && declared > maxBytes) {
    discard(response);
    throw new IntegrityError("too_large", `The body declares ${declared} bytes; the limit is ${maxBytes}.`);
  }
  const bytes = await readUpTo(response, maxBytes + 1, signal);
  if (bytes.length > maxBytes) {
    throw new IntegrityError("too_large", `The body has more than ${maxBytes} bytes, the limit.`);
  }
  if (declared !== null && declared !== bytes.length && !response.headers.has("content-encoding")) {
    throw new IntegrityError(
      "length_mismatch",
      `The body has ${bytes.length} bytes, but its Content-Length says ${declared}.`,
    );
  }
  return bytes;
}

/**
 * Reads the first bytes of a body and leaves the rest. What is kept depends on the bytes alone, not on how they arrive
 * in chunks; a cut never splits a well-formed UTF-8 sequence.
 *
 * @param maxBytes most bytes kept. At most one byte more is waited for, then the body is cancelled.
 * @throws {IntegrityError} `aborted` or `read_failed`.
 */
export async function readTruncated(
  response: ReadableResponse,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<TruncatedBody> {
  const bytes = await readUpTo(response, maxBytes + 1, signal);
  const truncated = bytes.length > maxBytes;
  const declared = contentLength(response);
  return {
    bytes: truncated ? bytes.slice(0, codePointBoundary(bytes, maxBytes)) : bytes,
    truncated,
    // Four hundred digits are no length, and infinity would not survive JSON.
    contentLength: Number.isSafeInteger(declared) ? declared : null,
  };
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
const exactUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Strict UTF-8 for text that will be executed or parsed. A leading byte order mark is dropped from the text; hashes are
 * taken over the bytes and never see this function.
 *
 * @throws {IntegrityError} `bad_encoding` for any invalid sequence, instead of replacing it.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoded(strictUtf8, bytes);
}

/**
 * Strict UTF-8 for text that is handed on: a leading byte order mark stays, so that encoding the text gives the same bytes again.
 *
 * @throws {IntegrityError} `bad_encoding` for any invalid sequence.
 */
export function decodeExactly(bytes: Uint8Array): string {
  return decoded(exactUtf8, bytes);
}

function decoded(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new IntegrityError("bad_encoding", "The bytes are not valid UTF-8.", { cause });
  }
}

function contentLength(response: ReadableResponse): number | null {
  const value = response.headers.get("content-length");
  return value !== null && /^[0-9]+$/.test(value) ? Number(value) : null;
}

/** Tells the sender that nothing more is wanted; whether that succeeds changes nothing for us. */
function discard(response: ReadableResponse): void {
  if (response.body !== null && !response.body.locked) response.body.cancel().catch(() => {});
}

/** The first `count` bytes of a body, or all of it when it is shorter; the stream is cancelled where it is left early. */
function readUpTo(response: ReadableResponse, count: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
  if (signal?.aborted) {
    discard(response);
    return Promise.reject(aborted(signal));
  }
  if (response.body === null) return Promise.resolve(new Uint8Array(0));
  let reader: ReadableStreamDefaultReader<Uint8Array>;
  try {
    reader = response.body.getReader();
  } catch (cause) {
    return Promise.reject(new IntegrityError("read_failed", "The body was already read.", { cause }));
  }
  const cancel = () => {
    reader.cancel().catch(() => {});
  };
  return new Promise<Uint8Array>((resolve, reject) => {
    const onAbort = () => {
      reject(aborted(signal));
      cancel();
    };
    // One listener for the whole body: racing every read would keep a reaction for each of a hostile sender's tiny chunks.
    signal?.addEventListener("abort", onAbort, { once: true });
    pump(reader, count)
      .then(resolve, (cause: unknown) => {
        reject(new IntegrityError("read_failed", "The body could not be read to its end.", { cause }));
      })
      .finally(() => {
        signal?.removeEventListener("abort", onAbort);
        cancel();
      });
  });
}

function aborted(signal: AbortSignal | undefined): IntegrityError {
  return new IntegrityError("aborted", "Reading the body was aborted.", { cause: signal?.reason });
}

/** Copies chunks into one growing buffer, since a list of one-byte chunks would cost a hundred times their size. */
async function pump(reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<Uint8Array> {
  let buffer = new Uint8Array(Math.min(count, 16_384));
  let length = 0;
  while (length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!ArrayBuffer.isView(value)) throw new TypeError("A body stream must yield bytes.");
    const chunk = value.length > count - length ? value.subarray(0, count - length) : value;
    if (length + chunk.length > buffer.length) {
      const larger = new Uint8Array(Math.min(count, Math.max(2 * buffer.length, length + chunk.length)));
      larger.set(buffer.subarray(0, length));
      buffer = larger;
    }
    buffer.set(chunk, length);
    length += chunk.length;
  }
  return length === buffer.length ? buffer : buffer.slice(0, length);
}

/** The largest cut at or before `end` that splits no well-formed sequence; malformed bytes are cut anywhere. */
function codePointBoundary(bytes: Uint8Array, end: number): number {
  for (let start = end; start >= Math.max(0, end - 3); start -= 1) {
    const byte = bytes[start] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return start + sequenceLength(byte) > end ? start : end;
  }
  return end;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}
