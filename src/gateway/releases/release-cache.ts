import type { Release } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { FRESH_MS, type HubState, SERVABLE_MS } from "../durable/origin-hub.ts";
import { type HeldRelease, releaseBytes } from "../durable/release-store.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { LruCache } from "../lru.ts";
import { askHub } from "./hub-client.ts";

/** All releases in the memory of one isolate, of the 128 MB it has (DESIGN §5). */
export const RELEASE_CACHE_BYTES = 24 * 1_048_576;
/** A refresh that has not ended after this long is taken for lost with the request that began it. */
const REFRESH_LOST_MS = 20_000;

interface Entry extends HeldRelease {
  readonly bytes: number;
}

/** Where the release of this request came from: the value of `X-Gw-Discovery`. */
export type DiscoveryState = "hit" | HubState;

/**
 * Releases in the memory of the isolate, in front of the hubs. Their age is `fetchedAt`, which the hub sets: a copy here never lives
 * longer than one there.
 */
export class ReleaseCache {
  readonly #entries: LruCache<CanonicalOrigin, Entry>;
  readonly #refreshing = new Map<CanonicalOrigin, number>();

  constructor(capacity = RELEASE_CACHE_BYTES) {
    this.#entries = new LruCache(capacity, (entry) => entry.bytes);
  }

  /**
   * @param waitUntil keeps a background refresh alive after the answer.
   * @throws {GatewayError} `discovery_failed` or `no_skills`.
   */
  async get(
    env: Env,
    origin: CanonicalOrigin,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<{ readonly state: DiscoveryState; readonly release: Release }> {
    const entry = this.#entries.get(origin);
    const now = Date.now();
    const age = entry === undefined ? Number.POSITIVE_INFINITY : now - entry.release.fetchedAt;
    if (entry !== undefined && age <= SERVABLE_MS) {
      if (age > FRESH_MS && now - (this.#refreshing.get(origin) ?? 0) > REFRESH_LOST_MS) {
        this.#refreshing.set(origin, now);
        waitUntil(
          this.#ask(env, origin, entry)
            .catch(() => {})
            .finally(() => this.#refreshing.delete(origin)),
        );
      }
      return { state: "hit", release: entry.release };
    }
    return this.#ask(env, origin, entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#refreshing.clear();
  }

  async #ask(env: Env, origin: CanonicalOrigin, entry: Entry | undefined) {
    const answer = await ask(env, origin, entry?.version ?? null);
    if (!answer.ok) {
      // An origin that answers and offers nothing has withdrawn what it offered.
      if (answer.failure.code === "no_skills") this.#entries.delete(origin);
      throw new GatewayError(answer.failure.code, { message: answer.failure.message });
    }
    const release = answer.release ?? (entry === undefined ? null : { ...entry.release, fetchedAt: answer.fetchedAt });
    if (release === null) throw new Error("The hub sent no release, though none was held.");
    const bytes = entry !== undefined && answer.release === null ? entry.bytes : releaseBytes(release);
    this.#entries.set(origin, { version: answer.version, release, bytes });
    return { state: answer.state, release };
  }
}

async function ask(env: Env, origin: CanonicalOrigin, knownVersion: string | null) {
  try {
    return await askHub(env, origin, knownVersion);
  } catch {
    throw new GatewayError("discovery_failed", { message: "The origin's hub did not answer." });
  }
}

/** The cache of this isolate. */
export const releases = new ReleaseCache();
