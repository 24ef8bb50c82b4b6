import pLimit, { type LimitFunction } from "p-limit";
import { fetchInsideOrigin, OriginFetchError, type OriginFetcher } from "../fetch/origin-fetch.ts";
import { IntegrityError, readBounded, type Sha256Hex, sha256Hex } from "../integrity.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { CanonicalOrigin } from "../origin.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";

/** A file that another status than 200 answered for: 404 is silence for the well-known files. */
export type Download = Checked<Uint8Array> & { readonly status?: number };

export interface DownloadsOptions {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  readonly limits: DiscoveryLimits;
  /** Ends with the time for fetching, or with the discovery's caller. */
  readonly signal: AbortSignal;
}

/** One file to fetch against a declared hash. */
export interface DeclaredFile {
  readonly url: URL;
  readonly sha256: Sha256Hex;
  readonly maxBytes: number;
  /** What it is called in a sentence, such as `tool.js`. */
  readonly label: string;
}

/**
 * The fetches of one discovery: at most `limits.concurrency` at once, started in the order they were asked for, each under
 * its own time limit and all under the discovery's signal.
 */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #limit: LimitFunction;
  readonly #verified = new Map<string, Promise<Checked<Uint8Array>>>();
  /** Bytes of verified files held so far. */
  #held = 0;

  constructor(options: DownloadsOptions) {
    this.#options = options;
    this.#limit = pLimit(options.limits.concurrency);
  }

  /** Fetches a file that declares no hash. */
  plain(url: URL, maxBytes: number, label: string): Promise<Download> {
    return this.#limit(() => this.#fetch(url, maxBytes, label));
  }

  /**
   * Fetches a file and checks its exact bytes against its declared hash; the same URL and hash are fetched once.
   *
   * Bytes are held until the release is put together, so nothing more is started once they fill a release. Files are
   * started in document order: whoever comes after them could not fit in anyway, whatever order the answers come in.
   */
  verified(file: DeclaredFile): Promise<Checked<Uint8Array>> {
    const key = `${fileKey(file)} ${file.maxBytes}`;
    let pending = this.#verified.get(key);
    if (pending === undefined) {
      pending = this.#limit(() => this.#fetchVerified(file));
      this.#verified.set(key, pending);
    }
    return pending;
  }

  /** Runs several fetches one after the other in one of the lanes, so that their common budget holds while they arrive. */
  inOneLane<T>(task: (fetchVerified: (file: DeclaredFile) => Promise<Checked<Uint8Array>>) => Promise<T>): Promise<T> {
    return this.#limit(() => task((file) => this.#fetchDeclared(file)));
  }

  async #fetchVerified(file: DeclaredFile): Promise<Checked<Uint8Array>> {
    if (this.#held >= this.#options.limits.releaseBytes) return releaseFull(file.label, this.#options.limits);
    const result = await this.#fetchDeclared(file);
    if (result.ok) this.#held += result.value.length;
    return result;
  }

  async #fetchDeclared({ url, sha256, maxBytes, label }: DeclaredFile): Promise<Checked<Uint8Array>> {
    const download = await this.#fetch(url, maxBytes, label);
    if (!download.ok) return download;
    const actual = await sha256Hex(download.value);
    if (actual === sha256) return passed(download.value);
    return refused("hash_mismatch", `The SHA-256 of ${label} is ${actual}, but llms.txt declares ${sha256}.`);
  }

  async #fetch(url: URL, maxBytes: number, label: string): Promise<Download> {
    const { origin, fetch, limits, signal } = this.#options;
    try {
      return await fetchInsideOrigin(
        { fetch, origin, url, redirects: limits.redirects, timeoutMs: limits.fetchTimeoutMs, signal },
        async (response, bodySignal): Promise<Download> => {
          if (response.status === 200) return passed(await readBounded(response, maxBytes, bodySignal));
          const { status } = response;
          return { ...refused("http_status", `The origin answered ${status} for ${label}; it must be 200.`), status };
        },
      );
    } catch (error) {
      return describeFailure(error, label, maxBytes, limits);
    }
  }
}

export function releaseFull(label: string, limits: DiscoveryLimits): Refused {
  return refused(
    "release_too_large",
    `With ${label} the files of this origin would exceed ${limits.releaseBytes} bytes, the limit of one release.`,
  );
}

/** What makes two declared files one: where they are, and what they must be. */
export function fileKey({ url, sha256 }: Pick<DeclaredFile, "url" | "sha256">): string {
  return `${sha256} ${url.origin}${url.pathname}${url.search}`;
}

function describeFailure(error: unknown, label: string, maxBytes: number, limits: DiscoveryLimits): Refused {
  if (error instanceof IntegrityError) {
    switch (error.code) {
      case "too_large":
        return refused("too_large", `The file ${label} is larger than ${maxBytes} bytes, the limit.`);
      case "length_mismatch":
        return refused("length_mismatch", `The file ${label} has another length than its Content-Length declares.`);
      default:
        return refused("fetch_failed", `The body of ${label} could not be read to its end.`);
    }
  }
  if (!(error instanceof OriginFetchError)) throw error;
  switch (error.code) {
    case "timeout":
      return refused("timeout", `The origin did not deliver ${label} within ${limits.fetchTimeoutMs} ms.`);
    case "cancelled":
      // The signal is the discovery's own; its caller learns of a cancellation by other means.
      return refused(
        "timeout",
        `The file ${label} did not arrive in time for the discovery's deadline of ${limits.deadlineMs} ms.`,
      );
    case "redirect_outside_origin":
      return refused("redirect_outside_origin", `The redirect of ${label} leaves the origin and is not followed.`);
    case "too_many_redirects":
      return refused("too_many_redirects", `The file ${label} is redirected more than ${limits.redirects} times.`);
    default:
      return refused("fetch_failed", `The file ${label} could not be fetched: ${error.message}`);
  }
}
