import { OriginFetchError, type OriginFetcher } from "../core/fetch/origin-fetch.ts";

/** Would make a browser ask a static host for leave first, which it never gives. */
const UNASKED = new Set(["user-agent", "if-none-match", "if-modified-since"]);

/**
 * Reaches a publisher from a page: without cookies or a referrer, and with a reason where the browser gives none. A browser hides
 * why a request failed, so a second one, whose answer nobody can read, tells a publisher that does not answer from one that allows no page.
 *
 * @throws {OriginFetchError} `fetch_failed`.
 */
export function pageFetch(underlying: OriginFetcher): OriginFetcher {
  return async (url, init) => {
    const headers = Object.fromEntries(
      Object.entries((init.headers ?? {}) as Record<string, string>).filter(
        ([name]) => !UNASKED.has(name.toLowerCase()),
      ),
    );
    const request = { ...init, headers, mode: "cors", credentials: "omit", referrerPolicy: "no-referrer" };
    try {
      return await underlying(url, request as RequestInit);
    } catch (error) {
      if (!(error instanceof TypeError) || init.signal?.aborted) throw error;
      throw new OriginFetchError("fetch_failed", await reasonOf(underlying, url, init), { cause: error });
    }
  };
}

async function reasonOf(
  underlying: OriginFetcher,
  url: string,
  { signal, method = "GET" }: RequestInit,
): Promise<string> {
  const { origin } = new URL(url);
  if (method !== "GET") return `${origin} did not answer, or does not let this page send that request (CORS).`;
  try {
    const init = { mode: "no-cors", credentials: "omit", referrerPolicy: "no-referrer", ...(signal ? { signal } : {}) };
    const response = await underlying(url, init as RequestInit);
    response.body?.cancel().catch(() => {});
    return `${origin} answers, but does not let other pages read it: it must send Access-Control-Allow-Origin (CORS).`;
  } catch {
    return `${origin} could not be reached from this page.`;
  }
}
