import { DAY_MS, HOUR_MS } from "../../core/durations.ts";

const WINDOW_MS = 60_000;
export const SLOT_MS = 1_000;
/** A slot counts as long as any instant of it lies inside the window, hence one more than fit exactly. */
const SLOTS = WINDOW_MS / SLOT_MS + 1;
/** What is granted ahead is at most this part of what is left. */
const LEASE_SHARE = 32;
/** Clocks of two machines differ by seconds; one that is this far behind the day it counted for was wrong before. */
const CLOCK_ERROR_MS = HOUR_MS;

/** What a client is entitled to; `null` is no limit, `0` is nothing. */
export interface Allowance {
  /** Calls in any 60 seconds. */
  readonly rpm: number | null;
  /** Calls a UTC day. */
  readonly dailyQuota: number | null;
}

/** The state of the minute, after the call in question. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch milliseconds at which more calls become free; now, when none was used. */
  readonly resetAt: number;
}

export type Verdict =
  | { readonly allowed: true; readonly rate: RateState | null }
  | {
      readonly allowed: false;
      readonly reason: "rate" | "quota";
      readonly rate: RateState | null;
      /** Milliseconds until a call can be admitted; more than 0. */
      readonly retryAfterMs: number;
    };

/** Plain data, for storage. */
export interface CounterSnapshot {
  /** `[slot number, admitted calls]`, oldest first; a slot is one second since the epoch. */
  readonly slots: readonly (readonly [number, number])[];
  readonly day: number;
  readonly dayCount: number;
}

/**
 * Counts the admitted calls of one client: never more than `rpm` in any 60 seconds wherever they begin (a fixed window admits twice that
 * across its edge, a token bucket twice that in its first minute), and never more than the quota in a UTC day. Refused calls are not
 * counted. The window is kept in slots of one second, each counted whole, so a call is freed up to one second late and never early.
 */
export class CallCounter {
  #slots: [number, number][];
  #day: number;
  #dayCount: number;

  constructor(snapshot?: CounterSnapshot) {
    this.#slots = (snapshot?.slots ?? []).map(([slot, count]) => [slot, count]);
    this.#day = snapshot?.day ?? 0;
    this.#dayCount = snapshot?.dayCount ?? 0;
  }

  /**
   * Admits and counts a call, or refuses it. `now` is in epoch milliseconds. A clock that was set back frees nothing, and blocks nobody
   * for longer than a right one would: the calls it left in the future count as made now.
   */
  take(allowance: Allowance, now: number): Verdict {
    const { rpm, dailyQuota } = allowance;
    const current = Math.floor(now / SLOT_MS);
    const ahead = Math.max(0, (this.#slots.at(-1)?.[0] ?? current) - current);
    for (const slot of this.#slots) slot[0] -= ahead;
    this.#slots = this.#slots.filter(([slot]) => slot > current - SLOTS);
    const day = this.#turnDay(now);
    if (dailyQuota !== null && this.#dayCount >= dailyQuota) {
      const retryAfterMs = Math.max(1, (day + 1) * DAY_MS - now);
      return { allowed: false, reason: "quota", rate: this.#rate(rpm, now), retryAfterMs };
    }
    if (rpm !== null && this.#used() >= rpm) {
      const retryAfterMs = rpm === 0 ? WINDOW_MS : Math.max(1, this.#freedAt(this.#used() - rpm + 1) - now);
      return { allowed: false, reason: "rate", rate: this.#rate(rpm, now), retryAfterMs };
    }
    const last = this.#slots.at(-1);
    if (last?.[0] === current) last[1] += 1;
    else this.#slots.push([current, 1]);
    this.#dayCount += 1;
    return { allowed: true, rate: this.#rate(rpm, now) };
  }

  /**
   * Counts up to `wanted` further calls ahead, to be made before the second that `now` lies in is over: counted and made in the same
   * slot, they loosen no limit. At most a {@link LEASE_SHARE}th of what the allowance leaves is granted, so that little is kept from
   * other callers. Answers how many, and the slot they stand in.
   */
  countAhead(allowance: Allowance, wanted: number, now: number): { readonly extra: number; readonly slot: number } {
    const { rpm, dailyQuota } = allowance;
    const last = this.#slots.at(-1);
    const slot = Math.floor(now / SLOT_MS);
    if (last === undefined || last[0] !== slot) return { extra: 0, slot };
    const left = Math.min(
      rpm === null ? Number.POSITIVE_INFINITY : rpm - this.#used(),
      dailyQuota === null ? Number.POSITIVE_INFINITY : dailyQuota - this.#dayCount,
    );
    const extra = Math.max(0, Math.min(wanted, Math.floor(left / LEASE_SHARE)));
    last[1] += extra;
    this.#dayCount += extra;
    return { extra, slot };
  }

  /** Takes back calls that were counted ahead and not made: from their second, while that counts, and from their day. */
  giveBack(slot: number, calls: number): void {
    const counted = this.#slots.find(([number]) => number === slot);
    const freed = counted === undefined ? calls : Math.min(calls, counted[1]);
    if (counted !== undefined) counted[1] -= freed;
    if (Math.floor((slot * SLOT_MS) / DAY_MS) === this.#day) this.#dayCount = Math.max(0, this.#dayCount - freed);
  }

  /** The state of the minute, with nothing taken. */
  state({ rpm }: Allowance, now: number): RateState | null {
    return this.#rate(rpm, now);
  }

  snapshot(): CounterSnapshot {
    return { slots: this.#slots.map(([slot, count]) => [slot, count]), day: this.#day, dayCount: this.#dayCount };
  }

  /** The UTC day that calls count for. Just after midnight, a clock a little behind does not bring the day before back. */
  #turnDay(now: number): number {
    const today = Math.floor(now / DAY_MS);
    if (today > this.#day) this.#dayCount = 0;
    if (today > this.#day || now < this.#day * DAY_MS - CLOCK_ERROR_MS) this.#day = today;
    return this.#day;
  }

  #used(): number {
    return this.#slots.reduce((sum, [, count]) => sum + count, 0);
  }

  #rate(rpm: number | null, now: number): RateState | null {
    if (rpm === null) return null;
    const used = this.#used();
    const resetAt = used === 0 ? now : Math.max(now, this.#freedAt(Math.max(1, used - rpm + 1)));
    return { limit: rpm, remaining: Math.max(0, rpm - used), resetAt };
  }

  /** When `count` of the counted calls will have left the window. */
  #freedAt(count: number): number {
    let left = count;
    let slot = 0;
    for (const [number, calls] of this.#slots) {
      slot = number;
      left -= calls;
      if (left <= 0) break;
    }
    return (slot + SLOTS) * SLOT_MS;
  }
}
