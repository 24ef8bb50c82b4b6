import { CodedError } from "../coded-error.ts";
import { type CanonicalOrigin, isInsideOrigin } from "../origin.ts";
import { VERSION } from "../version.ts";

/** Sent with every request to a publisher, so that it can tell who asks. */
export const USER_AGENT = `Skillgate/${VERSION}`;

/**
 * The part of `fetch` that reaching a publisher needs. A host may inject one that routes by origin, for example to a
 * service binding or to a site it hosts itself; it must honour `redirect: "manual"`.
 */
export type OriginFetcher = (url: string, init: RequestInit) => Promise<OriginResponse>;

/** The part of a `Response` that is used. */
export interface OriginResponse {
  /** `opaqueredirect` where a browser hides where it was led to. */
  readonly type?: string;
  readonly status: number;
  readonly headers: Pick<Headers, "get" | "has">;
  readonly body: ReadableStream<Uint8Array> | null;
}

export type OriginFetchErrorCode =
  | "timeout"
  | "cancelled"
  | "redirect_outside_origin"
  | "too_many_redirects"
  | "opaque_redirect"
  | "fetch_failed";

/** An expected failure of reaching a publisher. `message` is one English sentence, fit for publishers and guests to read. */
export class OriginFetchError extends CodedError<OriginFetchErrorCode> {
  override readonly name = "OriginFetchError";
}

export interface OriginRequest {
  readonly fetch: OriginFetcher;
  readonly origin: CanonicalOrigin;
  /** Must lie inside the origin; whoever resolved it has checked that. */
  readonly url: URL;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** `no-store` asks past every cache on the way that can be asked past. */
  readonly cache?: "no-store";
  /** Most redirects followed. */
  readonly redirects: number;
  /** Wall clock for headers, redirects and body together, milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308]);

/**
 * Asks a publisher for one resource and reads the answer, never leaving its origin.
 *
 * Redirects are followed by hand, because a platform that follows them itself would fetch the foreign address before
 * anyone could object. Method and body change as in the Fetch standard §4.4 (303, and 301/302 after POST, become GET
 * without a body; 307 and 308 keep both). In a browser a manual redirect is opaque (no status, no `Location`), so it
 * cannot be judged and is refused with `opaque_redirect`. Only `User-Agent` and the given headers are sent.
 *
 * @param read takes the final response, whatever its status. The time limit covers it too, and its signal is aborted
 *   when time is up; a `read` that ignores the signal is abandoned.
 * @throws {OriginFetchError} see {@link OriginFetchErrorCode}; whatever `read` throws passes through.
 *
 * @example
 * ```ts
 * const bytes = await fetchInsideOrigin({ fetch, origin, url, redirects: 5, timeoutMs: 10_000 }, (response, signal) =>
 *   readBounded(response, 262_144, signal));
 * ```
 */
export async function fetchInsideOrigin<T>(
  request: OriginRequest,
  read: (response: OriginResponse, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal: outer, timeoutMs } = request;
  const controller = new AbortController();
  let ended: OriginFetchError | undefined;
  const end = (error: OriginFetchError) => {
    ended ??= error;
    controller.abort(ended);
  };
  const onOuterAbort = () => end(new OriginFetchError("cancelled", "The request was cancelled."));
  if (outer?.aborted) onOuterAbort();
  outer?.addEventListener("abort", onOuterAbort, { once: true });
  const timer = setTimeout(
    () => end(new OriginFetchError("timeout", `The origin did not answer within ${timeoutMs} ms, body included.`)),
    timeoutMs,
  );
  try {
    const response = await follow(request, controller.signal);
    return await orAborted(read(response, controller.signal), controller.signal);
  } catch (error) {
    // Platforms and readers word an abort each in their own way; ours says which limit ended it.
    if (ended !== undefined) throw ended;
    throw error;
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", onOuterAbort);
    // Frees the connection where `read` left the body unread; after a complete read it changes nothing.
    controller.abort();
  }
}

async function follow(request: OriginRequest, signal: AbortSignal): Promise<OriginResponse> {
  let { url } = request;
  let method = request.method ?? "GET";
  let body = request.body;
  let headers: Record<string, string> = { "user-agent": USER_AGENT, ...request.headers };
  for (let hops = 0; ; hops += 1) {
    const response = await send(request.fetch, url, { method, headers, signal, body, cache: request.cache });
    if (response.type === "opaqueredirect") {
      throw new OriginFetchError("opaque_redirect", "The origin redirects, and this platform hides where to.");
    }
    const location = REDIRECT_STATUS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    response.body?.cancel().catch(() => {});
    if (hops === request.redirects) {
      throw new OriginFetchError("too_many_redirects", `The origin redirects more than ${request.redirects} times.`);
    }
    url = nextHop(request.origin, url, location);
    if (response.status === 303 || (response.status < 303 && method === "POST")) {
      method = "GET";
      body = undefined;
      headers = { "user-agent": USER_AGENT };
    }
  }
}

/** `location` is the publisher's word: the border where a redirect could leave the origin. */
function nextHop(origin: CanonicalOrigin, from: URL, location: string): URL {
  let next: URL;
  try {
    next = new URL(location, from);
  } catch (cause) {
    throw new OriginFetchError("fetch_failed", "The origin redirects to something that is not a URL.", { cause });
  }
  if (!isInsideOrigin(origin, next)) {
    throw new OriginFetchError("redirect_outside_origin", "The redirect leaves the origin and is not followed.");
  }
  // A fetcher that routes by address would take a fragment for a part of the path.
  next.hash = "";
  return next;
}

async function send(
  fetcher: OriginFetcher,
  url: URL,
  init: {
    method: string;
    headers: Record<string, string>;
    signal: AbortSignal;
    body: string | undefined;
    cache: "no-store" | undefined;
  },
): Promise<OriginResponse> {
  const { body, cache, ...rest } = init;
  init.signal.throwIfAborted();
  try {
    const optional = { ...(body === undefined ? {} : { body }), ...(cache === undefined ? {} : { cache }) };
    const pending = fetcher(url.href, { ...rest, ...optional, redirect: "manual" });
    // An answer that comes after the abort has no reader, and would hold its connection.
    pending.then(
      (late) => {
        if (init.signal.aborted) late.body?.cancel().catch(() => {});
      },
      () => {},
    );
    return await orAborted(pending, init.signal);
  } catch (cause) {
    if (cause instanceof OriginFetchError) throw cause;
    // The platform's own sentence may name addresses and internals; guests and publishers get ours.
    throw new OriginFetchError("fetch_failed", "The origin could not be reached, or it closed the connection.", {
      cause,
    });
  }
}

/** Ends the wait at the abort even where the awaited work ignores the signal. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
