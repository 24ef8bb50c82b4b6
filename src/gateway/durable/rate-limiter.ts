import { DurableObject } from "cloudflare:workers";
import type { Env } from "../env.ts";
import { type Allowance, CallCounter, type CounterSnapshot, SLOT_MS, type Verdict } from "./sliding-window.ts";

/** Calls that were granted ahead and not made, with the second they were counted in. */
export type Unused = readonly [slot: number, calls: number];

/** A verdict on one call, and calls granted ahead with it. */
export interface Grant {
  readonly verdict: Verdict;
  /** Further calls; counted already. */
  readonly extra: number;
  /** The second that they are counted in, since the epoch. */
  readonly slot: number;
  /** Milliseconds for which they may be made. */
  readonly validMs: number;
}

const FLUSH_INTERVAL_MS = 1_000;
const KEY = "counter";

/**
 * One object a client, and one for each limit of a client on an origin or a tool: the only place where these calls are counted. Counters live in memory and are written to the object's
 * storage at most once a second, so that a call costs no write, and an eviction loses nothing (an object is evicted only after seconds
 * of rest) while a crash loses at most one second of counting.
 */
export class RateLimiter extends DurableObject<Env> {
  readonly #counter: CallCounter;
  #flushedAt = 0;
  #flushPlanned = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#counter = new CallCounter(ctx.storage.kv.get<CounterSnapshot>(KEY));
  }

  /** Admits and counts one call, or refuses it. */
  take(allowance: Allowance): Verdict {
    const verdict = this.#counter.take(allowance, Date.now());
    if (verdict.allowed) this.#planFlush();
    return verdict;
  }

  /**
   * As {@link take}, with up to `wanted - 1` calls more that the asker may let through before the current second is over, and after
   * taking back what it did not use of earlier ones.
   */
  lease(allowance: Allowance, wanted: number, unused: readonly Unused[]): Grant {
    for (const [slot, calls] of unused) this.#counter.giveBack(slot, calls);
    const now = Date.now();
    const verdict = this.#counter.take(allowance, now);
    if (verdict.allowed || unused.length > 0) this.#planFlush();
    if (!verdict.allowed) return { verdict, extra: 0, slot: 0, validMs: 0 };
    const { extra, slot } = this.#counter.countAhead(allowance, wanted - 1, now);
    const validMs = (slot + 1) * SLOT_MS - now;
    return { verdict: { allowed: true, rate: this.#counter.state(allowance, now) }, extra, slot, validMs };
  }

  /** Answers, which is all that readiness asks. */
  ping(): true {
    return true;
  }

  #planFlush(): void {
    if (this.#flushPlanned) return;
    const wait = this.#flushedAt + FLUSH_INTERVAL_MS - Date.now();
    if (wait <= 0) {
      this.#flush();
    } else {
      this.#flushPlanned = true;
      setTimeout(() => this.#flush(), wait);
    }
  }

  #flush(): void {
    this.#flushPlanned = false;
    this.#flushedAt = Date.now();
    // Unconfirmed: else every answer of the object would wait for the disk, once a second, for a write that may be lost anyway.
    this.ctx.waitUntil(this.ctx.storage.put(KEY, this.#counter.snapshot(), { allowUnconfirmed: true }));
  }
}
