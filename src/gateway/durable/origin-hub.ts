import { DurableObject } from "cloudflare:workers";
import { discover } from "../../core/discovery/discover.ts";
import { DiscoveryError } from "../../core/discovery/discovery-error.ts";
import type { Rejection, Release } from "../../core/discovery/release.ts";
import { type CanonicalOrigin, OriginError, parseOrigin } from "../../core/origin.ts";
import { type Env, readSettings, type Settings } from "../env.ts";
import { publisherFetch } from "../releases/publisher-fetch.ts";
import { sandboxFor } from "../sandbox.ts";
import { type HeldRelease, ReleaseStore, releaseVersion } from "./release-store.ts";

/** Up to this age a release is fresh (DESIGN §6). */
export const FRESH_MS = 15_000;
/** Up to this age it is served while one refresh runs. */
export const SERVABLE_MS = 105_000;
/** A failed discovery is not tried again for this long. */
export const FAILURE_MEMORY_MS = 10_000;

export interface HubFailure {
  readonly code: "discovery_failed" | "no_skills";
  /** One English sentence, fit for any caller. */
  readonly message: string;
  /** Lines that might have been meant to be executable, and what is wrong with them: for the operator. */
  readonly rejected: readonly Rejection[];
}

/** `hub`: the hub had it. `miss`: it was fetched for this request. `stale`: the origin fails, this is the last known good one. */
export type HubState = "hub" | "miss" | "stale";

export type HubAnswer =
  | {
      readonly ok: true;
      readonly state: HubState;
      readonly version: string;
      readonly fetchedAt: number;
      /** `null` where the caller said it holds this version. */
      readonly release: Release | null;
    }
  | { readonly ok: false; readonly failure: HubFailure };

type Outcome = { readonly ok: true; readonly held: HeldRelease } | { readonly ok: false; readonly failure: HubFailure };

/**
 * One object an origin: the only place in the world that discovers it, hence the only single flight. Any number of callers cost the
 * origin one discovery; a failing origin is asked once in 10 seconds.
 */
export class OriginHub extends DurableObject<Env> {
  readonly #store: ReleaseStore;
  #held: HeldRelease | null;
  #failed: { readonly at: number; readonly failure: HubFailure } | null = null;
  #flight: Promise<Outcome> | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new ReleaseStore(ctx.storage);
    this.#held = this.#store.load();
  }

  /**
   * The origin's release.
   *
   * @param origin the origin this object is named after.
   * @param knownVersion the version the caller holds: its bytes are then not sent again.
   */
  async get(origin: CanonicalOrigin, knownVersion: string | null): Promise<HubAnswer> {
    const age = this.#age();
    if (this.#held !== null && age <= FRESH_MS) return answer("hub", this.#held, knownVersion);
    if (this.#held !== null && age <= SERVABLE_MS) {
      if (!this.#failedLately()) this.ctx.waitUntil(this.#refresh(origin));
      return answer("hub", this.#held, knownVersion);
    }
    if (this.#failed !== null && this.#failedLately()) return this.#lastKnownGood(this.#failed.failure, knownVersion);
    const state = this.#flight === null ? "miss" : "hub";
    const outcome = await this.#refresh(origin);
    return outcome.ok ? answer(state, outcome.held, knownVersion) : this.#lastKnownGood(outcome.failure, knownVersion);
  }

  /** Discovers now, whatever is held, and returns what was found: for the operator. */
  async probe(origin: CanonicalOrigin): Promise<HubAnswer> {
    // A discovery under way may have read files from before the publisher's last change.
    await this.#flight;
    const outcome = await this.#refresh(origin);
    return outcome.ok ? answer("miss", outcome.held, null) : outcome;
  }

  /** Refreshes a release that is not fresh: for the cron. */
  async wake(origin: CanonicalOrigin): Promise<void> {
    if (this.#age() > FRESH_MS && !this.#failedLately()) await this.#refresh(origin);
  }

  /** Answers, which is all that readiness asks. */
  ping(): true {
    return true;
  }

  #age(): number {
    return this.#held === null ? Number.POSITIVE_INFINITY : Date.now() - this.#held.release.fetchedAt;
  }

  #failedLately(): boolean {
    return this.#failed !== null && Date.now() - this.#failed.at < FAILURE_MEMORY_MS;
  }

  #lastKnownGood(failure: HubFailure, knownVersion: string | null): HubAnswer {
    const settings = readSettings(this.env);
    const servable =
      settings.ok && failure.code === "discovery_failed" && this.#age() <= settings.settings.staleIfErrorMs;
    return servable && this.#held !== null ? answer("stale", this.#held, knownVersion) : { ok: false, failure };
  }

  /** Joins the discovery under way, or starts one. Inside one object, requests may await each other's work. */
  #refresh(origin: CanonicalOrigin): Promise<Outcome> {
    this.#flight ??= this.#discover(origin).finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #discover(origin: CanonicalOrigin): Promise<Outcome> {
    try {
      const release = await discoverNow(this.env, origin);
      const held = { version: await releaseVersion(release), release };
      this.#store.save(held);
      this.#held = held;
      this.#failed = null;
      return { ok: true, held };
    } catch (error) {
      const failure = toFailure(error);
      this.#failed = { at: Date.now(), failure };
      if (failure.code === "no_skills") {
        // The origin answered, and offers nothing: what it offered before is withdrawn.
        this.#held = null;
        this.#store.clear();
      }
      return { ok: false, failure };
    }
  }
}

async function discoverNow(env: Env, origin: CanonicalOrigin): Promise<Release> {
  const answer = readSettings(env);
  if (!answer.ok) throw new Error(answer.problems[0].message);
  const { settings } = answer;
  return discover({
    origin: checked(origin, settings),
    fetch: publisherFetch(env),
    sandbox: sandboxFor(settings),
    limits: settings.discovery,
    loadGas: settings.sandbox.loadGas,
    now: Date.now,
  });
}

/** The last gate before the network: whoever called, an address that must not be fetched is not fetched. */
function checked(origin: string, settings: Settings): CanonicalOrigin {
  return parseOrigin(origin, { allowLoopbackHttp: settings.allowLoopbackOrigins, ownHosts: settings.publicHosts });
}

function toFailure(error: unknown): HubFailure {
  if (error instanceof DiscoveryError) return { code: error.code, message: error.message, rejected: error.rejected };
  if (error instanceof OriginError) return { code: "discovery_failed", message: error.message, rejected: [] };
  console.error(JSON.stringify({ event: "discovery_crashed", error: String(error) }));
  return { code: "discovery_failed", message: "The origin's skills could not be read.", rejected: [] };
}

function answer(state: HubState, { version, release }: HeldRelease, knownVersion: string | null): HubAnswer {
  const same = version === knownVersion;
  return { ok: true, state, version, fetchedAt: release.fetchedAt, release: same ? null : release };
}
