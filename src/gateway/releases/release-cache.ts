import type { Release } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { withDeadline } from "../deadline.ts";
import type { HubAnswer, HubState } from "../durable/hub-answer.ts";
import { FRESH_MS, SERVABLE_MS } from "../durable/origin-hub.ts";
import { type Env, readSettings } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { LruCache } from "../lru.ts";
import { ColoCache } from "./colo-cache.ts";
import { askHub } from "./hub-client.ts";
import { packedBytes, unpackRelease } from "./packed-release.ts";

/** All releases in the memory of one isolate, of the 128 MB it has. */
const RELEASE_CACHE_BYTES = 24 * 1_048_576;
/** A refresh or a first load that has not ended after this long is taken for lost with the request that began it. */
const LOST_MS = 20_000;
const POLL_MS = 10;
/** A request waits so long for the hub to follow decisions made since; after that it is answered with what is at hand. */
const FOLLOW_MS = 2_000;
/** A hub that could not follow is not asked to again for this long. */
const FOLLOW_PAUSE_MS = 5_000;
const MAX_ORIGINS_UNDER_WAY = 10_000;

interface Entry {
  readonly version: string;
  readonly release: Release;
  /** As in `ReleaseHead`. */
  readonly policyVersion: number;
  readonly bytes: number;
}

interface AskOptions {
  /** What the isolate holds. */
  readonly entry: Entry | undefined;
  readonly waitUntil: WaitUntil;
  /** Most milliseconds of age at which the data centre's copy will do. */
  readonly oldest: number;
  /** Of the decisions that what is found should follow. */
  readonly policyVersion: number;
}

/** Where the release of this request came from: the value of `X-Gw-Discovery`. */
export type DiscoveryState = "hit" | "l2" | HubState;

type WaitUntil = (work: Promise<unknown>) => void;

export interface Found {
  readonly state: DiscoveryState;
  readonly release: Release;
}

/**
 * Releases in the memory of the isolate, in front of the data centre's cache and the hubs. Their age is `fetchedAt`, which the hub sets: a
 * copy here never lives longer than one there.
 */
export class ReleaseCache {
  readonly #entries: LruCache<CanonicalOrigin, Entry>;
  /** When a request began to refresh an origin that is in memory, or to load one that is not. */
  readonly #underWay = new LruCache<CanonicalOrigin, number>(MAX_ORIGINS_UNDER_WAY);

  /** When a hub did not follow the latest decisions. */
  readonly #unfollowed = new LruCache<CanonicalOrigin, number>(MAX_ORIGINS_UNDER_WAY);
  readonly #colo: ColoCache | null;

  /** @param colo what isolates of one data centre share; `null`: nothing. */
  constructor(capacity = RELEASE_CACHE_BYTES, colo: ColoCache | null = null) {
    this.#colo = colo;
    this.#entries = new LruCache(capacity, (entry) => entry.bytes);
  }

  /**
   * What is in memory and good for a while is there at once.
   *
   * @param waitUntil keeps a background refresh alive after the answer.
   * @param policyVersion of the decisions in force: a copy that follows older ones may lack what is to be served now.
   * @throws {GatewayError} `discovery_failed` or `no_skills`.
   */
  get(env: Env, origin: CanonicalOrigin, waitUntil: WaitUntil, policyVersion = 0): Found | Promise<Found> {
    const entry = this.#entries.get(origin);
    const age = entry === undefined ? -1 : Date.now() - entry.release.fetchedAt;
    const isFresh = entry !== undefined && age >= 0 && age <= FRESH_MS && entry.policyVersion >= policyVersion;
    return isFresh
      ? { state: "hit", release: entry.release }
      : this.#find(env, origin, { entry, waitUntil, policyVersion });
  }

  async #find(env: Env, origin: CanonicalOrigin, options: Omit<AskOptions, "oldest">): Promise<Found> {
    const { waitUntil, policyVersion } = options;
    let { entry } = options;
    if (entry === undefined && this.#isUnderWay(origin)) entry = await this.#awaitLoad(origin);
    // Less than nothing where the hub's clock is ahead: then the hub says what it is worth.
    const age = entry === undefined ? -1 : Date.now() - entry.release.fetchedAt;
    if (entry !== undefined && age >= 0 && age <= SERVABLE_MS) {
      if (entry.policyVersion < policyVersion) {
        const followed = await this.#follow(env, origin, { entry, waitUntil, policyVersion });
        if (followed !== null) return followed;
      } else if (age > FRESH_MS && !this.#isUnderWay(origin)) {
        this.#refresh(env, origin, { entry, waitUntil, policyVersion });
      }
      return { state: "hit", release: entry.release };
    }
    const asking = this.#ask(env, origin, { entry, waitUntil, policyVersion, oldest: SERVABLE_MS });
    // Others may be waiting for it by now, so it goes on when this caller hangs up.
    waitUntil(asking.catch(() => {}));
    const found = await asking;
    if (found.state === "l2" && Date.now() - found.release.fetchedAt > FRESH_MS) {
      this.#refresh(env, origin, { entry: this.#entries.get(origin), waitUntil, policyVersion });
    }
    return found;
  }

  clear(): void {
    this.#entries.clear();
    this.#underWay.clear();
    this.#unfollowed.clear();
  }

  #refresh(env: Env, origin: CanonicalOrigin, options: Omit<AskOptions, "oldest">): void {
    options.waitUntil(this.#ask(env, origin, { ...options, oldest: FRESH_MS }).catch(() => {}));
  }

  /**
   * Asks for the release anew, since what was decided moved: another version may have to be held now. `null` where the hub does not say
   * in time, or could not ask the database: what is at hand is then judged by the decisions all the same.
   */
  async #follow(env: Env, origin: CanonicalOrigin, options: Omit<AskOptions, "oldest">): Promise<Found | null> {
    if (Math.abs(Date.now() - (this.#unfollowed.get(origin) ?? 0)) < FOLLOW_PAUSE_MS) return null;
    // Who refreshes it may ask with the same decisions.
    for (let waited = 0; this.#isUnderWay(origin) && waited < FOLLOW_MS; waited += POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const entry = this.#entries.get(origin);
    if (entry !== undefined && entry.policyVersion >= options.policyVersion) {
      return { state: "hit", release: entry.release };
    }
    const asking = this.#ask(env, origin, { ...options, entry, oldest: SERVABLE_MS });
    options.waitUntil(asking.catch(() => {}));
    const found = await withDeadline(asking, FOLLOW_MS).catch((error) => {
      // What is at hand was withdrawn.
      if (error instanceof GatewayError && error.code === "no_skills") throw error;
      return null;
    });
    if ((this.#entries.get(origin)?.policyVersion ?? 0) < options.policyVersion) {
      this.#unfollowed.set(origin, Date.now());
    }
    return found;
  }

  #isUnderWay(origin: CanonicalOrigin): boolean {
    const since = this.#underWay.get(origin);
    return since !== undefined && Date.now() - since < LOST_MS;
  }

  /**
   * Waits until another request has loaded the origin: fifty cold requests must not bring fifty copies of its bytes into one isolate.
   * Each looks at its own timer, since a request that awaited another one's promise would be cancelled by the platform.
   */
  async #awaitLoad(origin: CanonicalOrigin): Promise<Entry | undefined> {
    while (this.#isUnderWay(origin)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const entry = this.#entries.get(origin);
      if (entry !== undefined) return entry;
    }
    return this.#entries.get(origin);
  }

  async #ask(env: Env, origin: CanonicalOrigin, options: AskOptions): Promise<Found> {
    const since = Date.now();
    this.#underWay.set(origin, since);
    try {
      return (await this.#askColo(origin, options)) ?? (await this.#askHub(env, origin, options));
    } finally {
      if (this.#underWay.get(origin) === since) this.#underWay.delete(origin);
    }
  }

  async #askColo(origin: CanonicalOrigin, { entry, oldest, ...wanted }: AskOptions): Promise<Found | null> {
    const head = (await this.#colo?.head(origin)) ?? null;
    if (this.#colo === null || head === null || Date.now() - head.fetchedAt > oldest) return null;
    const { version, fetchedAt, policyVersion } = head;
    if (policyVersion < Math.max(wanted.policyVersion, entry?.policyVersion ?? 0)) return null;
    if (entry !== undefined && fetchedAt < entry.release.fetchedAt) return null;
    if (entry?.release.fetchedAt === fetchedAt && entry.policyVersion === policyVersion) return null;
    const loaded =
      entry?.version === version
        ? { release: { ...entry.release, fetchedAt }, bytes: entry.bytes }
        : await this.#colo.load(origin, head);
    if (loaded === null) return null;
    this.#entries.set(origin, { version, policyVersion, ...loaded });
    return { state: "l2", release: loaded.release };
  }

  async #askHub(env: Env, origin: CanonicalOrigin, { entry, waitUntil, ...wanted }: AskOptions): Promise<Found> {
    let answer: HubAnswer;
    try {
      answer = await askHub(env, origin, entry?.version ?? null, wanted.policyVersion);
    } catch (error) {
      if (entry !== undefined && isLastKnownGood(env, entry)) return { state: "stale", release: entry.release };
      throw error;
    }
    if (!answer.ok) {
      // An origin that answers and offers nothing has withdrawn what it offered.
      if (answer.failure.code === "no_skills") {
        this.#entries.delete(origin);
        if (this.#colo !== null) waitUntil(this.#colo.forget(origin));
      }
      throw new GatewayError(answer.failure.code, { message: answer.failure.message });
    }
    const { state, version, fetchedAt, policyVersion, packed } = answer;
    const release =
      packed !== null ? unpackRelease(packed) : entry === undefined ? null : { ...entry.release, fetchedAt };
    if (release === null) throw new Error("The hub sent no release, though none was held.");
    const bytes = packed !== null ? packedBytes(packed) : (entry?.bytes ?? 0);
    this.#entries.set(origin, { version, release, policyVersion, bytes });
    if (this.#colo !== null) waitUntil(this.#colo.store(origin, { version, fetchedAt, policyVersion }, packed));
    return { state, release };
  }
}

/** Where the hub itself does not answer, what the isolate holds is as good as what the hub would serve of a failing origin. */
function isLastKnownGood(env: Env, { release }: Entry): boolean {
  const answer = readSettings(env);
  const age = Date.now() - release.fetchedAt;
  return answer.ok && age >= 0 && age <= answer.settings.staleIfErrorMs;
}

/** The cache of this isolate. */
export const releases = new ReleaseCache(RELEASE_CACHE_BYTES, new ColoCache());
