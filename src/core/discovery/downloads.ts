import pLimit, { type LimitFunction } from "p-limit";
import { fetchInsideOrigin, OriginFetchError, type OriginFetcher } from "../fetch/origin-fetch.ts";
import { IntegrityError, readBounded, type Sha256Hex, sha256Hex } from "../integrity.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { SkillId } from "../skill.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";
import type { DiscoveryCache, HeldDocument } from "./discovery-cache.ts";
import type { DiscoveryProgress } from "./progress.ts";
import type { FailedFetch } from "./release.ts";

/** A file that another status than 200 answered for: 404 is silence for the well-known files. */
export type Download = Checked<Uint8Array> & { readonly status?: number };

/** @param after how many more are to follow in this lane: they share the time that is left. */
export type LaneFetch = (file: DeclaredFile, after: number) => Promise<Checked<Uint8Array>>;

export interface DownloadsOptions {
  readonly origin: CanonicalOrigin;
  readonly fetch: OriginFetcher;
  readonly limits: DiscoveryLimits;
  /** Ends with the time for fetching, or with the discovery's caller. */
  readonly signal: AbortSignal;
  /** Documents that need not be sent again where the origin says that they did not change. */
  readonly cache?: DiscoveryCache | undefined;
  /** Bytes that need not be fetched, since somebody holds them under their hash. */
  readonly held?: ((sha256: Sha256Hex) => Uint8Array | undefined) | undefined;
  /** Told of every fetch and every hash. */
  readonly onProgress?: ((progress: DiscoveryProgress) => void) | undefined;
}

/** One file to fetch against a declared hash. */
export interface DeclaredFile {
  readonly url: URL;
  readonly sha256: Sha256Hex;
  readonly maxBytes: number;
  /** What it is called in a sentence, such as `tool.js`. */
  readonly label: string;
  /** Of the first line that declares it; a memory snapshot has its scope and no name. */
  readonly of: SkillId;
}

type UndeclaredFile = Omit<DeclaredFile, "sha256" | "of">;

/** The document that is held of a file, and what to do with a newer one. */
interface DocumentExchange {
  readonly held?: HeldDocument | undefined;
  readonly keep?: (etag: string | null, bytes: Uint8Array) => void;
}

/** Part of the deadline after which nothing is fetched any more: what stalls must not keep what has arrived from being read. */
export const FETCHING_SHARE = 0.8;

/** Part of the deadline that a file has in any case, however many others wait. */
const LEAST_SHARE = 1 / 60;

/** A publisher that takes long for everything is no staller: a file may take this many times the longest so far. */
const PATIENCE = 3;

/** How often one file is asked for when it does not arrive in its share of the time. */
const ATTEMPTS = 3;

/**
 * The fetches of one discovery: at most `limits.concurrency` at once, started in the order they were asked for, each under
 * its own time limit and all under the discovery's signal.
 *
 * One file that stalls harms only itself, in time too: while others wait for a lane it has its share of the time left, and
 * is asked for again behind them.
 */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #limit: LimitFunction;
  readonly #verified = new Map<string, Promise<Checked<Uint8Array>>>();
  readonly #arrived = new Map<string, Uint8Array>();
  readonly #mismatched = new Set<string>();
  #uncached = false;
  readonly #begin = performance.now();
  /** Bytes of verified files held so far. */
  #held = 0;
  #longestMs = 0;

  constructor(options: DownloadsOptions) {
    this.#options = options;
    this.#limit = pLimit(options.limits.concurrency);
  }

  /** Names the files that had another hash than declared. */
  get mismatched(): ReadonlySet<string> {
    return this.#mismatched;
  }

  /** From here on everything is asked for past all caches, and files that had another hash are asked for once more. */
  askPastCaches(): void {
    this.#uncached = true;
    for (const key of this.#mismatched) this.#verified.delete(key);
    this.#mismatched.clear();
  }

  /** Fetches a file that declares no hash; one that is held with an ETag is sent only where it changed (RFC 9110 §13). */
  plain(url: URL, maxBytes: number, label: string): Promise<Download> {
    return this.#inTurns((timeoutMs) => this.#fetchDocument({ url, maxBytes, label }, timeoutMs));
  }

  /**
   * Fetches a file and checks its exact bytes against its declared hash; the same URL and hash are fetched once.
   *
   * Bytes are held until the release is put together, so nothing more is started once they fill a release. Files are
   * started in document order: whoever comes after them could not fit in anyway, whatever order the answers come in.
   */
  verified(file: DeclaredFile): Promise<Checked<Uint8Array>> {
    const key = boundedKey(file);
    let pending = this.#verified.get(key);
    if (pending === undefined) {
      pending = this.#inTurns((timeoutMs) => this.#fetchVerified(file, timeoutMs));
      this.#verified.set(key, pending);
    }
    return pending;
  }

  /** Fetches a file whose hash nobody declares; like verified ones, nothing more is started once they fill a release. */
  undeclared(file: UndeclaredFile): Promise<Checked<Uint8Array>> {
    return this.#inTurns(async (timeoutMs) => {
      if (this.#held >= this.#options.limits.releaseBytes) return releaseFull(file.label, this.#options.limits);
      const result = await this.#fetch(file, timeoutMs);
      if (result.ok) this.#held += result.value.length;
      return result;
    });
  }

  /** Runs several fetches one after the other in one of the lanes, so that their common budget holds while they arrive. */
  inOneLane<T>(task: (fetchVerified: LaneFetch) => Promise<T>): Promise<T> {
    return this.#limit(() => task((file, after) => this.#fetchDeclared(file, this.#shareOfTime(after))));
  }

  /** Fetches in a lane; what does not arrive in its share of the time goes to the end of the line. */
  async #inTurns<T extends Checked<Uint8Array>>(fetch: (timeoutMs: number) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      let timeoutMs = 0;
      const result = await this.#limit(() => {
        timeoutMs = this.#shareOfTime(Math.ceil(this.#limit.pendingCount / this.#limit.concurrency));
        return fetch(timeoutMs);
      });
      const cutShort = !result.ok && result.code === "timeout" && timeoutMs < this.#options.limits.fetchTimeoutMs;
      if (!cutShort || attempt === ATTEMPTS || this.#options.signal.aborted) return result;
    }
  }

  /** Milliseconds for a fetch that starts now, when as many as `after` follow in the same lane. */
  #shareOfTime(after: number): number {
    const { deadlineMs, fetchTimeoutMs } = this.#options.limits;
    const left = deadlineMs * FETCHING_SHARE - (performance.now() - this.#begin);
    const share = Math.max(left / (after + 1), PATIENCE * this.#longestMs, deadlineMs * LEAST_SHARE);
    return Math.min(fetchTimeoutMs, Math.ceil(share));
  }

  async #fetchVerified(file: DeclaredFile, timeoutMs: number): Promise<Checked<Uint8Array>> {
    if (this.#held >= this.#options.limits.releaseBytes) return releaseFull(file.label, this.#options.limits);
    const result = await this.#fetchDeclared(file, timeoutMs);
    if (result.ok) this.#held += result.value.length;
    return result;
  }

  async #fetchDeclared(file: DeclaredFile, timeoutMs: number): Promise<Checked<Uint8Array>> {
    const { sha256, label, maxBytes } = file;
    const held = this.#arrived.get(fileKey(file)) ?? this.#options.held?.(sha256);
    if (held !== undefined && held.length <= maxBytes) {
      this.#tellHash(file, sha256);
      return passed(held);
    }
    const download = await this.#fetch(file, timeoutMs);
    if (!download.ok) return download;
    const actual = await sha256Hex(download.value);
    this.#tellHash(file, actual);
    if (actual === sha256) {
      this.#arrived.set(fileKey(file), download.value);
      return passed(download.value);
    }
    this.#mismatched.add(boundedKey(file));
    const message = `The SHA-256 of ${label} is ${actual}, but ${sha256} is declared.`;
    return { ...refused("hash_mismatch", message), fetch: failedFetch(file.url, 200) };
  }

  #tellHash({ sha256, label, of: { scope, name } }: DeclaredFile, actual: Sha256Hex): void {
    const ok = actual === sha256;
    this.#options.onProgress?.({ kind: "hash", scope, name, file: label, ok, expected: sha256, actual });
  }

  #fetchDocument(file: UndeclaredFile, timeoutMs: number): Promise<Download> {
    const { cache } = this.#options;
    const held = this.#uncached ? undefined : cache?.document(file.url.href);
    const keep = (etag: string | null, bytes: Uint8Array) => cache?.keepDocument(file.url.href, etag, bytes);
    return this.#fetch(file, timeoutMs, { held, keep });
  }

  async #fetch(file: UndeclaredFile, timeoutMs: number, exchange: DocumentExchange = {}): Promise<Download> {
    const { url } = file;
    const begin = performance.now();
    let status: number | null = null;
    const download = await this.#ask(file, timeoutMs, exchange, (answered) => {
      status = answered;
    });
    const ms = Math.round(performance.now() - begin);
    const [bytes, code] = download.ok ? [download.value.length, null] : [null, download.code];
    this.#options.onProgress?.({ kind: "fetch", url: url.href, status, bytes, ms, code });
    return download.ok ? download : { ...download, fetch: failedFetch(url, status) };
  }

  async #ask(
    { url, maxBytes, label }: UndeclaredFile,
    timeoutMs: number,
    { held, keep }: DocumentExchange,
    onStatus: (status: number) => void,
  ): Promise<Download> {
    const { origin, fetch, limits, signal } = this.#options;
    const begin = performance.now();
    try {
      const download = await fetchInsideOrigin(
        {
          ...{ fetch, origin, url, redirects: limits.redirects, timeoutMs, signal },
          ...(held === undefined ? {} : { headers: { "if-none-match": held.etag } }),
          ...(this.#uncached ? { cache: "no-store" } : {}),
        },
        async (response, bodySignal): Promise<Download> => {
          const { status } = response;
          onStatus(status);
          if (status === 304 && held !== undefined) return passed(held.bytes);
          if (status === 200) {
            const bytes = await readBounded(response, maxBytes, bodySignal);
            keep?.(response.headers.get("etag"), bytes);
            return passed(bytes);
          }
          return { ...refused("http_status", `The origin answered ${status} for ${label}; it must be 200.`), status };
        },
      );
      this.#longestMs = Math.max(this.#longestMs, performance.now() - begin);
      return download;
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

/** Longest URL that a rejection keeps. */
const MAX_URL_CHARS = 2_048;

export function failedFetch(url: URL, status: number | null): FailedFetch {
  return { url: url.href.slice(0, MAX_URL_CHARS), status };
}

/** What makes two declared files one: where they are, and what they must be. */
export function fileKey({ url, sha256 }: Pick<DeclaredFile, "url" | "sha256">): string {
  return `${sha256} ${url.origin}${url.pathname}${url.search}`;
}

function boundedKey(file: DeclaredFile): string {
  return `${fileKey(file)} ${file.maxBytes}`;
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
    case "cancelled":
      // The signal is the discovery's own; its caller learns of a cancellation by other means. The sentence is the same
      // whatever share of the time the file had, since the next discovery of an unchanged origin must give an equal release.
      return refused(
        "timeout",
        `The file ${label} did not arrive in time: a fetch may take ${limits.fetchTimeoutMs} ms, a discovery ${limits.deadlineMs} ms.`,
      );
    case "redirect_outside_origin":
      return refused("redirect_outside_origin", `The redirect of ${label} leaves the origin and is not followed.`);
    case "too_many_redirects":
      return refused("too_many_redirects", `The file ${label} is redirected more than ${limits.redirects} times.`);
    default:
      return refused("fetch_failed", `The file ${label} could not be fetched: ${error.message}`);
  }
}
