import { DurableObject } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { DAY_MS } from "../../core/durations.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { POLICY_FRESH_MS, POLICY_STALE_MS, type PolicyMoment } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { describeFailure } from "../log.ts";
import { ChangeStream, type Opening, type StreamEnd } from "../notifications/change-stream.ts";
import { lastDecision } from "../notifications/decision-sequence.ts";
import { isSame, knownOfEither, type ListsKnown, NOTHING_KNOWN } from "../notifications/lists-known.ts";
import { clientOf, type ListsSeen, listsSeen } from "../notifications/lists-seen.ts";
import { openRegistry } from "../registry/database.ts";
import { NEXT_POLICY_VERSION } from "../registry/origins.ts";
import { origins } from "../registry/schema.ts";

/** Streams of one client at this origin; with the next one the oldest ends. */
export const MAX_STREAMS = 4;
/** Streams of all clients at this origin. */
const MAX_ALL_STREAMS = 2_000;
/** A stream ends after this long; whoever still listens opens another one. */
export const STREAM_MS = 5 * 60_000;
const TICK_MS = 1_000;
/** An operator's decisions are looked for this often: whoever they shut out hears nothing 5 seconds later. */
const TICKS_A_QUESTION = 4;
/** So often something is sent, so that nobody on the way takes the stream for dead. */
const TICKS_A_BEAT = 12;
/** A change is told once every isolate that could still answer with what was before has forgotten it. */
const SETTLE_MS = POLICY_FRESH_MS + 250;
/** Where changes come so fast that they never settle, they are told this often. */
const UNSETTLED_MS = 20_000;
/** What a client sees is also looked at unasked this often: what told of a change may have been lost. */
const LOOK_MS = 60_000;
/** What a stream was told of last counts for the next ones of its client, where these come within this time. */
const REMEMBERED_MS = 60_000;
/** Streams of one client of which that is remembered, where each was told something else; after more, it is told of everything. */
const MAX_DEPARTED = 8;
/** A stream that gave way to a newer one comes back after this long at the earliest, and gives way to none before. */
const DISPLACED_MS = 30_000;
const WRITE_TIMEOUT_MS = 2_000;
/** While a stream is being opened everything may change this often. */
const OPENING_ROUNDS = 5;
/** Key of a client with a stream, before its id. */
const LISTENING = "listening ";
/** No number of decisions. */
const UNKNOWN = -1;

/** A stream that ended: what it was told last. */
interface Departed {
  readonly seen: ListsKnown;
  readonly at: number;
}

/**
 * One object an origin: holds the streams on which clients are told that its lists changed, and looks at what each client sees of it. Stored
 * is who listens, no more: a client whose stream broke off with the object may have missed a change, and is told that its lists changed.
 *
 * It is told of changes, and in case it was not it looks for an operator's decisions every 4 seconds and at everything once a minute.
 */
export class Notifier extends DurableObject<Env> {
  readonly #streams = new Set<ChangeStream>();
  /** By client: what each of its streams that ended lately was told. */
  readonly #departed = new Map<string, readonly Departed[]>();
  readonly #moment: PolicyMoment = { now: () => Date.now(), waitUntil: (work) => this.ctx.waitUntil(work) };
  /** Of the operators, as far as this object took notice. */
  #decisions = UNKNOWN;
  #decisionsReadAt = 0;
  #changedAt = Number.NEGATIVE_INFINITY;
  /** When the first change came that was not yet looked at; `null`: all were. */
  #unsettledSince: number | null = null;
  #lookedAt = 0;
  #timer: ReturnType<typeof setInterval> | null = null;
  #ticks = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const interrupted = this.#attempt(() => [...ctx.storage.kv.list<true>({ prefix: LISTENING })]) ?? [];
    if (interrupted.length === 0) return;
    const at = Date.now();
    for (const [key] of interrupted) {
      this.#departed.set(key.slice(LISTENING.length), [{ seen: NOTHING_KNOWN, at }]);
      this.#attempt(() => ctx.storage.kv.delete(key));
    }
    this.#noteChange();
  }

  /**
   * Something changed that may change what clients see of the origin.
   *
   * @param isRelease its hub has another release: whoever still holds the last one is to ask for it.
   */
  async changed(origin: CanonicalOrigin, isRelease: boolean): Promise<void> {
    if (isRelease) await this.#outdate(origin);
    this.#noteChange();
  }

  /** Opens a stream; its body is an {@link Opening}. Only the gateway itself can ask; it has checked who that is. */
  override async fetch(request: Request): Promise<Response> {
    const opening = (await request.json()) as Opening;
    try {
      return new Response(await this.#open(opening));
    } catch (error) {
      const refusal =
        error instanceof GatewayError ? error : new GatewayError("notifier_unavailable", { cause: error });
      if (refusal.cause !== undefined) this.#warn("stream_not_opened", refusal);
      const { code, message, retryAfter } = refusal;
      return Response.json({ code, message, retryAfter }, { status: refusal.kind.status });
    }
  }

  async #open(opening: Opening): Promise<ReadableStream<Uint8Array>> {
    const { now, expiresAt } = await this.#admit(opening);
    const isSettled = this.#isSettled();
    this.#makeRoom(opening.clientId);
    const openedAt = Date.now();
    const stream = new ChangeStream(opening, {
      openedAt,
      endsAt: Math.min(openedAt + STREAM_MS, expiresAt ?? Number.POSITIVE_INFINITY),
      seen: opening.lastSeen ?? this.#seenBefore(opening.clientId, isSettled ? now : NOTHING_KNOWN),
      onEnd: (ended, reason) => this.#forget(ended, reason),
    });
    if (this.#streams.size === 0) {
      this.#lookedAt = openedAt;
      if (isSettled) this.#unsettledSince = null;
    }
    if (!this.#isListening(opening.clientId)) this.#store(opening.clientId, true);
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    if (isSettled) stream.tell(now, true);
    return stream.body;
  }

  /** What the client sees at the moment at which its stream begins: nothing changed and nobody decided anything while that was found out. */
  async #admit(opening: Opening): Promise<{ readonly now: ListsSeen; readonly expiresAt: number | null }> {
    for (let round = 0; round < OPENING_ROUNDS; round++) {
      const [changedAt, isSettled] = [this.#changedAt, this.#isSettled()];
      const decisions = await this.#followDecisions();
      const access = await clientOf(this.env, opening, this.#moment);
      const now = await listsSeen(this.env, opening, this.#moment);
      if (access === null || now === null) throw new GatewayError("origin_forbidden");
      const isSame = changedAt === this.#changedAt && isSettled === this.#isSettled();
      if (isSame && decisions === this.#decisions) return { now, expiresAt: access.client.expiresAt };
    }
    throw new GatewayError("notifier_unavailable");
  }

  /**
   * Ends the oldest stream of a client that has as many as one may have. Clients open the next stream by themselves a second after one ended:
   * where all of them are new, the newcomer is refused, or a client of five sessions would open streams for ever.
   *
   * @throws {GatewayError} `rate_limited`, `notifier_unavailable`.
   */
  #makeRoom(clientId: string): void {
    if (this.#streams.size >= MAX_ALL_STREAMS) {
      throw new GatewayError("notifier_unavailable", {
        message: `${MAX_ALL_STREAMS} streams are open at this origin, the limit.`,
      });
    }
    const own = [...this.#streams].filter(({ opening }) => opening.clientId === clientId);
    // That a reader is gone may be found only when something is written to it.
    for (const stream of own) stream.beat();
    const open = own.filter(({ isOpen }) => isOpen);
    const [oldest] = open;
    if (oldest === undefined || open.length < MAX_STREAMS) return;
    if (Math.abs(Date.now() - oldest.openedAt) < DISPLACED_MS) {
      throw new GatewayError("rate_limited", {
        message: `This client has opened ${MAX_STREAMS} streams at this origin within the last ${DISPLACED_MS / 1_000} seconds.`,
        retryAfter: DISPLACED_MS / 1_000,
      });
    }
    oldest.retryAfter(DISPLACED_MS);
    oldest.end("displaced");
  }

  /**
   * What a client that does not say so has seen: what its streams were told that ended lately, since it may have missed what was told after them.
   * Which of them comes back nobody knows, so that each counts for all that come: nothing is kept from any, and for {@link REMEMBERED_MS} what is
   * new to one may be told to another that knows it.
   *
   * @param otherwise where no stream of it ended lately.
   */
  #seenBefore(clientId: string, otherwise: ListsKnown): ListsKnown {
    const [first, ...others] = this.#departedOf(clientId);
    return first === undefined ? otherwise : others.reduce((known, { seen }) => knownOfEither(known, seen), first.seen);
  }

  #departedOf(clientId: string): readonly Departed[] {
    const now = Date.now();
    for (const [key, before] of this.#departed) {
      const lately = before.filter(({ at }) => Math.abs(now - at) <= REMEMBERED_MS);
      if (lately.length === 0) this.#departed.delete(key);
      else if (lately.length < before.length) this.#departed.set(key, lately);
    }
    return this.#departed.get(clientId) ?? [];
  }

  /** Has every isolate ask the hub anew, within the time that policy may be old. */
  async #outdate(origin: CanonicalOrigin): Promise<void> {
    try {
      const update = openRegistry(this.env.DB)
        .update(origins)
        .set({ policyVersion: NEXT_POLICY_VERSION })
        .where(eq(origins.origin, origin));
      await withDeadline(update, WRITE_TIMEOUT_MS);
    } catch (error) {
      this.#warn("release_not_outdated", error);
    }
  }

  #noteChange(): void {
    this.#changedAt = Date.now();
    this.#unsettledSince ??= this.#changedAt;
  }

  #isSettled(): boolean {
    return Math.abs(Date.now() - this.#changedAt) > SETTLE_MS;
  }

  /** Tells each client what changed of what it sees. Never rejects. */
  async #look(isSettled: boolean): Promise<void> {
    this.#lookedAt = Date.now();
    await Promise.all([...this.#byToken().values()].map((streams) => this.#lookFor(streams, isSettled)));
  }

  /** @param streams of one token. */
  async #lookFor(streams: readonly ChangeStream[], isSettled: boolean): Promise<void> {
    const [first] = streams;
    if (first === undefined) return;
    try {
      const now = await listsSeen(this.env, first.opening, this.#moment);
      for (const stream of streams) {
        if (now === null) stream.end("signed_out");
        else stream.tell(now, isSettled);
      }
    } catch (error) {
      // What cannot be seen is not known to have changed: the next look tells.
      this.#warn("lists_not_seen", error);
    }
  }

  #tick(): void {
    const now = Date.now();
    this.#ticks += 1;
    for (const stream of this.#streams) {
      if (now + TICK_MS > stream.endsAt) stream.end("time");
      else if (this.#ticks % TICKS_A_BEAT === 0) stream.beat();
    }
    if (this.#streams.size === 0) return;
    this.#lookAtChanges(now);
    if (this.#ticks % TICKS_A_QUESTION === 0) this.ctx.waitUntil(this.#check(now));
  }

  /** Once all have settled, and now and then where they never do: what is told then is told again. */
  #lookAtChanges(now: number): void {
    if (this.#unsettledSince === null) return;
    const isSettled = this.#isSettled();
    if (!isSettled && Math.abs(now - this.#unsettledSince) < UNSETTLED_MS) return;
    this.#unsettledSince = isSettled ? null : now;
    this.ctx.waitUntil(this.#look(isSettled));
  }

  /** Never rejects. */
  async #check(now: number): Promise<void> {
    try {
      await this.#followDecisions();
    } catch (error) {
      this.#warn("decisions_not_read", error);
      if (now - this.#decisionsReadAt <= POLICY_STALE_MS) return;
      for (const stream of this.#streams) stream.end("policy_unavailable");
      return;
    }
    if (this.#unsettledSince !== null) return;
    const isAnotherDay = Math.floor(now / DAY_MS) !== Math.floor(this.#lookedAt / DAY_MS);
    if (isAnotherDay || Math.abs(now - this.#lookedAt) > LOOK_MS) await this.#look(true);
  }

  /**
   * After a decision of an operator streams of whoever may listen no more end at once; what others see is looked at when it has settled.
   *
   * @returns how many decisions there are.
   * @throws where the database does not say.
   */
  async #followDecisions(): Promise<number> {
    const at = Date.now();
    const decisions = await lastDecision(this.env.DB);
    this.#decisionsReadAt = at;
    if (decisions === this.#decisions) return decisions;
    // Said first: a stream that is being opened with what was known before begins anew.
    this.#decisions = decisions;
    if (this.#streams.size === 0) return decisions;
    this.#noteChange();
    const checks = [...this.#byToken().values()].map((streams) => this.#signOut(streams));
    // Whoever could not be looked up is looked up again at the next tick.
    if ((await Promise.allSettled(checks)).some(({ status }) => status === "rejected")) this.#decisions = UNKNOWN;
    return decisions;
  }

  /** @param streams of one token. */
  async #signOut(streams: readonly ChangeStream[]): Promise<void> {
    const [first] = streams;
    if (first === undefined || (await clientOf(this.env, first.opening, this.#moment)) !== null) return;
    for (const stream of streams) stream.end("signed_out");
  }

  #byToken(): ReadonlyMap<string, readonly ChangeStream[]> {
    return Map.groupBy(this.#streams, ({ opening }) => opening.tokenSha256);
  }

  #forget(stream: ChangeStream, end: StreamEnd): void {
    this.#streams.delete(stream);
    const { opening, openedAt, told, seen } = stream;
    const { origin, clientId, subscription } = opening;
    const now = Date.now();
    // Of streams that were told the same the last one is enough.
    const others = this.#departedOf(clientId).filter((departed) => !isSame(departed.seen, seen));
    const isMany = others.length >= MAX_DEPARTED;
    this.#departed.set(clientId, isMany ? [{ seen: NOTHING_KNOWN, at: now }] : [...others, { seen, at: now }]);
    if (!this.#isListening(clientId)) this.#store(clientId, false);
    const era = subscription === null ? "legacy" : "modern";
    console.log(JSON.stringify({ event: "stream", origin, client: clientId, era, told, end, ms: now - openedAt }));
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #isListening(clientId: string): boolean {
    for (const { opening } of this.#streams) if (opening.clientId === clientId) return true;
    return false;
  }

  #store(clientId: string, isListening: boolean): void {
    const { kv } = this.ctx.storage;
    const key = `${LISTENING}${clientId}`;
    this.#attempt(() => (isListening ? kv.put(key, true) : kv.delete(key)));
  }

  /** Where the storage fails, whoever listens is told of what this object hears of. */
  #attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#warn("listeners_not_stored", error);
      return undefined;
    }
  }

  #warn(event: string, error: unknown): void {
    console.warn(JSON.stringify({ event, error: describeFailure(error) }));
  }
}
