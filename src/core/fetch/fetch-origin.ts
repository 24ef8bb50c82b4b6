import { IntegrityError, readTruncated } from "../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { SandboxLimits } from "../limits.ts";
import { type CanonicalOrigin, OriginError, resolvePublisherPath } from "../origin.ts";
import type { Capabilities, FetchOriginAnswer } from "../sandbox/capabilities.ts";
import { fetchInsideOrigin, OriginFetchError, type OriginFetcher, type OriginResponse } from "./origin-fetch.ts";

type FetchOrigin = NonNullable<Capabilities["fetchOrigin"]>;

export type FetchOriginLimits = Pick<SandboxLimits, "fetchTimeoutMs" | "fetchRequestBytes" | "fetchResponseBytes">;

export interface FetchOriginOptions {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  readonly limits: FetchOriginLimits;
  /** Most redirects followed; each must stay inside the origin. Default 5. */
  readonly redirects?: number;
  /** The caller's W3C `traceparent`, sent with every request; only where the operator decided that this publisher may see it. */
  readonly traceparent?: string | undefined;
}

/** Most UTF-16 units of a `contentType`. */
const CONTENT_TYPE_LENGTH = 256;
const DEFAULT_CONTENT_TYPE = "application/json";

/**
 * The `host.fetchOrigin(path, opts?)` capability of one origin (Executable Skills v0.5 §3; reference behaviour §5.4,
 * with its faults corrected: redirects, bytes, stalled bodies, truncation).
 *
 * `opts`: `method` GET (default) or POST in any letter case; `body` a string of at most `fetchRequestBytes` UTF-8 bytes,
 * not with GET; `contentType` only with a body, default `application/json`. Everything else in it is ignored. The path
 * is resolved under the origin's base and may not leave it, nor may a redirect.
 *
 * Rejects with an `Error` whose English message the guest sees, such as `method not allowed: PUT`.
 */
export function createFetchOrigin(options: FetchOriginOptions): FetchOrigin {
  const { origin, fetch, limits, redirects = 5, traceparent } = options;
  return async (path, opts, signal) => {
    const url = resolveGuestPath(origin, path);
    const { headers, ...guest } = readOptions(opts, limits);
    const request =
      traceparent === undefined ? { ...guest, headers } : { ...guest, headers: { ...headers, traceparent } };
    try {
      return await fetchInsideOrigin(
        { fetch, origin, url, ...request, redirects, timeoutMs: limits.fetchTimeoutMs, signal },
        (response, bodySignal) => readAnswer(response, limits.fetchResponseBytes, bodySignal),
      );
    } catch (error) {
      throw guestError(error, limits);
    }
  };
}

async function readAnswer(response: OriginResponse, maxBytes: number, signal: AbortSignal): Promise<FetchOriginAnswer> {
  const { bytes, truncated, contentLength } = await readTruncated(response, maxBytes, signal);
  const body = new TextDecoder().decode(bytes);
  return { status: response.status, body, truncated, bytes: bytes.length, contentLength };
}

function resolveGuestPath(origin: CanonicalOrigin, path: unknown): URL {
  const text = String(path);
  try {
    return resolvePublisherPath(origin, text);
  } catch (error) {
    if (!(error instanceof OriginError)) throw error;
    const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    throw new Error(`${error.code === "outside_origin" ? "outside the origin" : "invalid URL"}: ${shown}`);
  }
}

interface GuestRequest {
  readonly method: "GET" | "POST";
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
}

function readOptions(opts: Json | undefined, limits: FetchOriginLimits): GuestRequest {
  const options: JsonObject = isJsonObject(opts) ? opts : {};
  const method = typeof options.method === "string" ? options.method.toUpperCase() : "GET";
  if (method !== "GET" && method !== "POST") throw new Error(`method not allowed: ${method.slice(0, 32)}`);
  const { body } = options;
  if (body === undefined || body === null) return { method, headers: {} };
  if (typeof body !== "string") throw new Error("body must be a string");
  // A string longer than the limit in UTF-16 units is longer in bytes too, so this never encodes megabytes.
  if (body.length > limits.fetchRequestBytes || utf8Length(body) > limits.fetchRequestBytes) {
    throw new Error(`body exceeds ${limits.fetchRequestBytes} bytes`);
  }
  if (method === "GET") throw new Error("body not allowed with GET");
  return { method, body, headers: { "content-type": readContentType(options.contentType) } };
}

function readContentType(value: Json | undefined): string {
  if (typeof value !== "string" || value === "") return DEFAULT_CONTENT_TYPE;
  if (value.length > CONTENT_TYPE_LENGTH || !/^[\x20-\x7e]+$/.test(value)) {
    throw new Error(`contentType must be at most ${CONTENT_TYPE_LENGTH} printable ASCII characters`);
  }
  return value;
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** What a guest may read about a failed request; the cause is for the host alone. */
function guestError(cause: unknown, limits: FetchOriginLimits): Error {
  if (cause instanceof IntegrityError) {
    return new Error("fetchOrigin failed: the response body could not be read", { cause });
  }
  if (!(cause instanceof OriginFetchError)) return new Error("fetchOrigin failed", { cause });
  switch (cause.code) {
    case "timeout":
      return new Error(`fetchOrigin timeout: no complete answer within ${limits.fetchTimeoutMs} ms`);
    case "redirect_outside_origin":
      return new Error("outside the origin: the response redirects to another place, which is not followed");
    default:
      return new Error(`fetchOrigin failed: ${cause.message}`);
  }
}
