import type { Grant, Unused } from "../durable/rate-limiter.ts";
import type { RateState } from "../durable/sliding-window.ts";
import { LruCache } from "../lru.ts";

/** Most calls that one question to the limiter is answered with. */
const MAX_WANTED = 512;
/** A question that is not answered by then is lost, or not worth waiting for. */
const ASKING_MS = 100;
/** A client that was silent for this long begins with single calls again. */
const BUSY_MS = 2_000;
const MAX_CLIENTS = 10_000;

/** What this isolate may let through for one client without asking. */
interface Lease {
  slot: number;
  calls: number;
  /** Valid from … to, by the isolate's clock, epoch milliseconds. */
  from: number;
  until: number;
  rate: RateState | null;
  /** Calls made since the limiter was last asked. */
  made: number;
  askedAt: number;
  /** Several calls were asked for at `askedAt`, and the answer is not there. */
  isAsking: boolean;
  /** To be given back with the next question. */
  unused: Unused[];
}

/**
 * Calls that the limiters have granted ahead to this isolate, for clients that call often: a question to a Durable Object costs as much
 * as a whole call.
 *
 * A grant ends with the second in which the limiter counted it, so never more calls are let through in a minute or a day than without
 * grants. What is left of it then goes back with this isolate's next question, however late. Until then, or for good where the isolate
 * ends or the question fails, the client has that many calls fewer in that minute and that day: at most 511 a question and at most 1/32 of
 * what it had left, so a client with less than 64 calls left is counted call by call.
 */
export class CallLeases {
  readonly #leases = new LruCache<string, Lease>(MAX_CLIENTS);

  /** Uses a call that is at hand: the state of the client's minute after it, or `undefined` where the limiter must be asked. */
  use(key: string, now: number): RateState | null | undefined {
    const lease = this.#leases.get(key);
    if (lease === undefined || lease.calls === 0 || now < lease.from || now >= lease.until) return undefined;
    lease.calls -= 1;
    lease.made += 1;
    return lease.rate === null ? null : { ...lease.rate, remaining: lease.rate.remaining + lease.calls };
  }

  /** What to ask the limiter for: this call and others like it that may follow, and what it gets back. */
  ask(key: string, now: number): { readonly wanted: number; readonly unused: readonly Unused[] } {
    const lease = this.#leases.get(key);
    if (lease === undefined) return { wanted: 1, unused: [] };
    const { made } = lease;
    const isBusy = Math.abs(now - lease.askedAt) < BUSY_MS;
    this.#retire(lease);
    const { unused } = lease;
    lease.unused = [];
    lease.made = 0;
    lease.askedAt = now;
    const wanted = isBusy ? Math.max(1, Math.min(MAX_WANTED, 2 * made)) : 1;
    lease.isAsking = wanted > 1;
    return { wanted, unused };
  }

  /** True while another call's question is open whose answer may do for this one too. */
  isAsking(key: string, now: number): boolean {
    const lease = this.#leases.get(key);
    return lease?.isAsking === true && Math.abs(now - lease.askedAt) < ASKING_MS;
  }

  /** The question that was asked then is answered, whatever with. */
  answered(key: string, askedAt: number): void {
    const lease = this.#leases.get(key);
    if (lease?.askedAt === askedAt) lease.isAsking = false;
  }

  /** Keeps what the limiter granted beyond the call in question; `askedAt` is when it was asked. */
  keep(key: string, { extra, slot, validMs, verdict }: Grant, askedAt: number): void {
    const known = this.#leases.get(key);
    const lease = known ?? {
      slot,
      calls: 0,
      from: 0,
      until: 0,
      rate: null,
      made: 0,
      askedAt,
      isAsking: false,
      unused: [],
    };
    if (lease.slot !== slot) this.#retire(lease);
    lease.made += 1;
    lease.slot = slot;
    // By the isolate's own clock, and from before the question: never longer than the limiter meant.
    lease.until = lease.calls > 0 ? Math.min(lease.until, askedAt + validMs) : askedAt + validMs;
    lease.from = askedAt;
    lease.calls += extra;
    lease.rate = verdict.rate;
    if (known === undefined) this.#leases.set(key, lease);
  }

  #retire(lease: Lease): void {
    if (lease.calls > 0) lease.unused.push([lease.slot, lease.calls]);
    lease.calls = 0;
  }
}

const leasesOf = new WeakMap<object, CallLeases>();

/** The grants of the limiters of one namespace, which is one in production. */
export function callLeases(namespace: object): CallLeases {
  const leases = leasesOf.get(namespace) ?? new CallLeases();
  leasesOf.set(namespace, leases);
  return leases;
}
