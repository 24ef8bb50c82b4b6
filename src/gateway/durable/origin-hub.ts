import { DurableObject } from "cloudflare:workers";
import { zlibInflater } from "../../core/archive/zlib-inflater.ts";
import { readAgentSkills } from "../../core/discovery/agent-skills.ts";
import { DiscoveryCache } from "../../core/discovery/discovery-cache.ts";
import { DiscoveryError } from "../../core/discovery/discovery-error.ts";
import type { DiscoveryProgress } from "../../core/discovery/progress.ts";
import type { Release } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { type Env, readSettings } from "../env.ts";
import { publishLive } from "../live/live-feed.ts";
import { tellNotifier } from "../notifications/tell-notifier.ts";
import { inspectRelease } from "../releases/inspection.ts";
import { type PackedRelease, packRelease, unpackRelease } from "../releases/packed-release.ts";
import { type Deciding, TrustedRelease } from "../trust/trusted-release.ts";
import { DeferredWrites } from "./deferred-writes.ts";
import { DiscoveryHistory, type DiscoveryOutcome, type PastOutcome } from "./discovery-history.ts";
import { answerOf, HeldRelease } from "./held-release.ts";
import type { HubAnswer, HubFailure, HubInspection, HubStatus, Watcher } from "./hub-answer.ts";
import { discoverNow, TAKEN_DOWN, toFailure } from "./hub-discovery.ts";
import { KEEP_WARM_MS, Warmth } from "./warmth.ts";

/** Up to this age a release is fresh. */
export const FRESH_MS = 15_000;
/** Up to this age it is served while one refresh runs. */
export const SERVABLE_MS = 105_000;
/** A failed discovery is not tried again for this long. */
const FAILURE_MEMORY_MS = 10_000;
/** A refresh behind an answer begins so much later, so that the caller, whose isolate may be cold, does not compete with it. */
const REFRESH_BEHIND_MS = 250;
/** An alarm that rings so late was missed, as those of all other hubs were … */
const LATE_MS = 5_000;
/** … which therefore ring again within this time, each at a moment of its own, and leave the first callers the thread. */
const CATCH_UP_MS = 5_000;

type Outcome =
  | { readonly ok: true; readonly packed: PackedRelease }
  | { readonly ok: false; readonly failure: HubFailure };

/**
 * One object an origin: the only place in the world that discovers it, hence the only single flight. Any number of callers cost the
 * origin one discovery; a failing origin is asked once in 10 seconds. Its storage is a cache: where that fails, the origin is asked.
 *
 * It refreshes itself by alarm a minute after its last discovery while it is called, and as soon as its release is no longer fresh where
 * the gas of one discovery did not suffice for all definitions. A discovery fetches no bytes that are held here under their hash; what
 * it reads of documents and definitions is remembered until the object is evicted. Once an operator took the origin out of service it asks
 * it for nothing by itself.
 */
export class OriginHub extends DurableObject<Env> {
  readonly #writes = new DeferredWrites((work) => this.ctx.waitUntil(work));
  readonly #held: HeldRelease;
  readonly #cache = new DiscoveryCache(() => Date.now());
  readonly #warmth: Warmth;
  readonly #trusted: TrustedRelease;
  readonly #history: DiscoveryHistory;
  readonly #watchers = new Set<Watcher>();
  /** The latest decisions that anybody told of, as `policy_version`. */
  #decided = 0;
  #failed: { readonly at: number; readonly failure: HubFailure } | null = null;
  #flight: Promise<Outcome> | null = null;
  /** Ends the discovery under way. */
  #ending = new AbortController();
  /** A refresh is about to begin. */
  #isRefreshDue = false;
  #reconsidering: Promise<void> | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#held = new HeldRelease(ctx.id.toString(), ctx.storage, this.#writes);
    this.#warmth = new Warmth(ctx.storage);
    this.#trusted = new TrustedRelease(env, (work) => ctx.waitUntil(work));
    this.#history = new DiscoveryHistory(ctx.storage);
  }

  /**
   * The origin's release.
   *
   * @param origin the origin this object is named after.
   * @param knownVersion the version the caller holds: its bytes are then not sent again.
   * @param policyVersion of the decisions the caller knows: what is answered follows these or later ones, unless the database is silent.
   */
  async get(origin: CanonicalOrigin, knownVersion: string | null, policyVersion = 0): Promise<HubAnswer> {
    this.#warmth.noteCall(origin);
    try {
      return await this.#find(origin, knownVersion, policyVersion);
    } finally {
      this.#writes.later(() => this.#warmth.writeCall());
    }
  }

  async #find(origin: CanonicalOrigin, knownVersion: string | null, policyVersion: number): Promise<HubAnswer> {
    if (!this.#warmth.isArmed) this.#arm(KEEP_WARM_MS);
    await this.#follow(origin, policyVersion);
    const age = this.#held.age();
    const held = age <= SERVABLE_MS ? this.#held.answer("hub", knownVersion) : null;
    if (held !== null) {
      if (age > FRESH_MS && !this.#failedLately()) this.#refreshBehind(origin);
      return held;
    }
    if (this.#failed !== null && this.#failedLately()) return this.#lastKnownGood(this.#failed.failure, knownVersion);
    const state = this.#flight === null ? "miss" : "hub";
    const outcome = await this.#refresh(origin);
    return outcome.ok
      ? answerOf(state, outcome.packed, knownVersion)
      : this.#lastKnownGood(outcome.failure, knownVersion);
  }

  /**
   * Discovers now, whatever is held, and returns what was found: for the operator.
   *
   * @param watch told of what it does.
   */
  async probe(origin: CanonicalOrigin, watch: Watcher | null = null): Promise<HubAnswer> {
    // A discovery under way may have read files from before the publisher's last change.
    await this.#flight;
    if (watch !== null) this.#watchers.add(watch);
    try {
      const outcome = await this.#refresh(origin);
      return outcome.ok ? answerOf("miss", outcome.packed, null) : outcome;
    } finally {
      if (watch !== null) this.#watchers.delete(watch);
    }
  }

  /** What is held, without asking the origin for anything. */
  inspect(): HubInspection {
    const packed = this.#held.packed();
    return {
      inspected: packed === null ? null : inspectRelease(unpackRelease(packed)),
      failure: this.#failed === null ? null : { at: this.#failed.at, ...this.#failed.failure },
    };
  }

  /** What the publisher ships of attestations, and what is known of their proofs; nothing where no release is held. */
  shipped(): Pick<Release, "attestations" | "facts"> {
    const { attestations, facts } = this.#held.followed()?.release ?? { attestations: [], facts: [] };
    return { attestations, facts };
  }

  status(): HubStatus {
    this.#writes.now();
    const failure = this.#failed;
    return {
      fetchedAt: this.#held.head?.fetchedAt ?? null,
      failure: failure && { at: failure.at, code: failure.failure.code, message: failure.failure.message },
      ...this.#history.lastRefusals(),
    };
  }

  /** How the last discoveries ended, newest first. */
  history(): readonly PastOutcome[] {
    this.#writes.now();
    return this.#history.list();
  }

  /** Discovers now, where anybody was ever served anything: the publisher is known to have changed. */
  async refresh(origin: CanonicalOrigin): Promise<void> {
    // One under way may have read files from before the change.
    await this.#flight;
    if (this.#held.head !== null || this.#warmth.isWithdrawn) await this.#refresh(origin);
  }

  /** Forgets what is held, and what would restore it: the operator took down the site that the origin is. A later discovery may find it again. */
  async withdraw(origin: CanonicalOrigin): Promise<void> {
    // One under way may have read what was there before.
    await this.#flight;
    this.#failed = { at: Date.now(), failure: TAKEN_DOWN };
    this.#withdrawAll(origin, this.#trusted.decide(origin));
  }

  /** Refreshes a release whose alarm should have rung, or was never set: for the cron. */
  async wake(origin: CanonicalOrigin): Promise<void> {
    await this.#refreshBeyond(KEEP_WARM_MS, origin);
  }

  /** Takes what is held to the operator's latest decisions, without asking the origin: after each of them. */
  async reconsider(origin: CanonicalOrigin): Promise<void> {
    // One under way may have read what was decided before.
    await this.#reconsidering;
    await this.#reconsider(origin);
  }

  /** Keeps the release warm, and goes on reading what was deferred. */
  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    this.#warmth.rang();
    if (info !== undefined && Date.now() - info.scheduledTime > LATE_MS) {
      this.#warmth.arm(Date.now() + CATCH_UP_MS * (0.2 + 0.8 * Math.random()));
      return;
    }
    const origin = this.#warmth.calledLately();
    // Where nothing is to be done, the next caller sets the alarm again.
    if (origin !== null) await this.#refreshBeyond(FRESH_MS, origin);
  }

  /** Answers, which is all that readiness asks. */
  ping(): true {
    return true;
  }

  #failedLately(): boolean {
    return this.#failed !== null && Math.abs(Date.now() - this.#failed.at) < FAILURE_MEMORY_MS;
  }

  #lastKnownGood(failure: HubFailure, knownVersion: string | null): HubAnswer {
    const settings = readSettings(this.env);
    const servable =
      settings.ok && failure.code === "discovery_failed" && this.#held.age() <= settings.settings.staleIfErrorMs;
    return (servable ? this.#held.answer("stale", knownVersion) : null) ?? { ok: false, failure };
  }

  /** Unasked, so whether the origin is in service is looked up first. */
  async #refreshBeyond(age: number, origin: CanonicalOrigin): Promise<void> {
    if (this.#held.age() <= age || this.#failedLately()) return;
    const deciding = this.#trusted.decide(origin);
    if (!(await this.#isOutOfService(deciding))) await this.#refresh(origin, deciding);
  }

  /** Then nothing rings here any more, and of a revoked origin nothing is kept or finished. Never rejects. */
  async #isOutOfService(deciding: Deciding): Promise<boolean> {
    const status = await this.#trusted.statusOf(deciding);
    if (status !== "suspended" && status !== "revoked") return false;
    this.#warmth.rest();
    if (status === "revoked") {
      this.#ending.abort();
      this.#held.keep(null);
    }
    return true;
  }

  /**
   * Where the storage was lost while the origin fails, the operator's own store has what was approved; its age counts from now. Never
   * rejects.
   */
  async #restore(origin: CanonicalOrigin): Promise<void> {
    const restored = await this.#trusted.restore(origin, Date.now() - SERVABLE_MS - 1);
    if (restored === null) return;
    try {
      this.#held.keep(await packRelease(restored.release, restored.policyVersion));
    } catch (error) {
      console.error(JSON.stringify({ event: "release_not_restored", error: String(error) }));
    }
  }

  /** Takes what is held to these decisions, unless it follows them already. Never rejects. */
  async #follow(origin: CanonicalOrigin, policyVersion: number): Promise<void> {
    this.#decided = Math.max(this.#decided, policyVersion);
    const isBehind = () => (this.#held.head?.policyVersion ?? policyVersion) < policyVersion;
    // One under way may have read what was decided before.
    if (isBehind()) await this.#reconsidering;
    if (isBehind()) await this.#reconsider(origin);
  }

  #reconsider(origin: CanonicalOrigin): Promise<void> {
    this.#reconsidering ??= this.#chooseAnew(origin).finally(() => {
      this.#reconsidering = null;
    });
    return this.#reconsidering;
  }

  /** Which versions are held follows from the approvals, also while the origin fails. Never rejects. */
  async #chooseAnew(origin: CanonicalOrigin): Promise<void> {
    try {
      const deciding = this.#trusted.decide(origin);
      if (await this.#isOutOfService(deciding)) return;
      const previous = this.#held.followed();
      if (previous === null) return;
      const completed = await this.#trusted.complete(previous.release, previous, deciding);
      this.#decided = Math.max(this.#decided, completed.policyVersion);
      // Where the database was silent nothing is known better.
      if (completed.policyVersion === 0) return;
      const packed = await packRelease(completed.release, completed.policyVersion);
      // What a discovery brought meanwhile is of another time.
      if (this.#held.head?.fetchedAt !== packed.fetchedAt) return;
      this.#held.keep(packed);
      this.#writes.later(completed.writeDown);
    } catch (error) {
      console.error(JSON.stringify({ event: "release_not_reconsidered", error: String(error) }));
    }
  }

  /** Joins the discovery under way, or starts one. Inside one object, requests may await each other's work. */
  #refresh(origin: CanonicalOrigin, deciding: Deciding | null = null): Promise<Outcome> {
    this.#flight ??= this.#discover(origin, deciding ?? this.#trusted.decide(origin)).finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  #refreshBehind(origin: CanonicalOrigin): void {
    if (this.#isRefreshDue || this.#flight !== null) return;
    this.#isRefreshDue = true;
    const refresh = async () => {
      await scheduler.wait(REFRESH_BEHIND_MS);
      this.#isRefreshDue = false;
      // Another one may have come first.
      if (this.#held.age() > FRESH_MS && !this.#failedLately()) await this.#refresh(origin);
    };
    this.ctx.waitUntil(refresh());
  }

  /** Never rejects. */
  async #discover(origin: CanonicalOrigin, deciding: Deciding): Promise<Outcome> {
    this.#ending = new AbortController();
    const { signal } = this.#ending;
    try {
      const discovered = await discoverNow(this.env, origin, {
        cache: this.#cache,
        held: (sha256) => this.#held.bytes(sha256),
        revoked: this.#trusted.revokedHashes(deciding),
        readAgentSkills: async (context) =>
          (await this.#trusted.readsSkills(deciding)) ? readAgentSkills(context, zlibInflater) : [],
        mayLackTools: () => this.#trusted.mayLackTools(origin, deciding),
        last: async () => this.#held.followed()?.release ?? (await this.#trusted.lastPublished(deciding)),
        signal,
        ...(this.#watchers.size === 0 ? {} : { onProgress: (progress) => this.#tell(progress) }),
      });
      let completed = await this.#trusted.complete(discovered, this.#held.followed(), deciding);
      // Something was decided while the publisher was read.
      if (completed.policyVersion < this.#decided) {
        completed = await this.#trusted.complete(discovered, this.#held.followed(), this.#trusted.decide(origin));
      }
      const { release, policyVersion, isPartial, writeDown } = completed;
      const packed = await packRelease(release, policyVersion);
      await this.#isOutOfService(deciding);
      if (signal.aborted) throw new DiscoveryError("discovery_failed", "cancelled", "The origin is revoked.");
      const before = this.#held.head?.version ?? null;
      this.#held.keep(packed);
      // No other release than one that was found makes up for a failure.
      this.#failed = null;
      this.#writes.later(writeDown);
      if (this.#warmth.isWithdrawn || (before !== null && before !== packed.version)) this.#tellOfRelease(origin);
      this.#warmth.noteWithdrawal(false);
      const isComplete = !isPartial && release.rejected.every(({ code }) => code !== "deferred");
      this.#arm(isComplete ? KEEP_WARM_MS : FRESH_MS + 1);
      this.#note(origin, {
        outcome: "release",
        version: packed.version,
        skills: release.skills.length,
        held: release.held.length,
        rejected: release.rejected.length,
      });
      return { ok: true, packed };
    } catch (error) {
      const failure = toFailure(error);
      this.#failed = { at: Date.now(), failure };
      this.#note(origin, { outcome: "failure", code: failure.code, message: failure.message });
      // The origin answered, and offers nothing: what it offered before is withdrawn.
      if (failure.code === "no_skills") {
        this.#withdrawAll(origin, deciding);
      } else if (this.#held.head === null && !this.#warmth.isWithdrawn) {
        await this.#restore(origin);
      } else {
        await this.#reconsider(origin);
      }
      this.#arm(KEEP_WARM_MS);
      return { ok: false, failure };
    }
  }

  #withdrawAll(origin: CanonicalOrigin, deciding: Deciding): void {
    if (this.#held.head !== null) this.#tellOfRelease(origin);
    this.#held.keep(null);
    this.#warmth.noteWithdrawal(true);
    this.#writes.later(() => this.ctx.waitUntil(this.#trusted.withdraw(deciding)));
  }

  /** What an operator decides is told by whoever decided it. */
  #tellOfRelease(origin: CanonicalOrigin): void {
    this.ctx.waitUntil(tellNotifier(this.env, origin, true));
  }

  /** Whoever stopped watching hears nothing more. */
  #tell(progress: DiscoveryProgress): void {
    const tell = async (watch: Watcher) => watch(progress);
    for (const watch of this.#watchers) tell(watch).catch(() => this.#watchers.delete(watch));
  }

  /** Written together with what the discovery brought. */
  #note(origin: CanonicalOrigin, outcome: DiscoveryOutcome): void {
    const at = Date.now();
    this.#writes.later(() => {
      if (!this.#history.note(outcome, at)) return;
      this.ctx.waitUntil(publishLive(this.env, { type: "discovery", at, origin, ...outcome }));
    });
  }

  /** @param ms from now. An origin of which nothing is held is asked only for callers. */
  #arm(ms: number): void {
    if (this.#held.head === null) return;
    const at = Date.now() + ms;
    this.#writes.later(() => this.#warmth.arm(at));
  }
}
