import { DurableObject } from "cloudflare:workers";
import type { Env } from "../env.ts";
import { type Allowance, CallCounter, type CounterSnapshot, type Verdict } from "./sliding-window.ts";

const FLUSH_INTERVAL_MS = 1_000;
const KEY = "counter";

/**
 * One object a client: the only place where the client's calls are counted. Counters live in memory and are written to the object's
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
    this.ctx.storage.kv.put(KEY, this.#counter.snapshot());
  }
}
