const MINUTE_MS = 60_000;
/** Each entry stands for a call that burned all of its gas, so filling the table takes minutes of computing. */
const MAX_ENTRIES = 4_096;

interface Entry {
  /** Exhaustions of the last minute, epoch milliseconds. */
  readonly times: readonly number[];
  readonly suspendedUntil: number;
}

/**
 * Refuses for a minute what exhausted its gas too often within a minute: each such call costs a tenth of a second of everybody's computing
 * time and can only fail. Bounded: the entry that failed longest ago is forgotten first.
 */
export class GasBreaker {
  readonly #perMinute: number;
  readonly #entries = new Map<string, Entry>();

  /** @param perMinute the exhaustion that is the last one before the suspension. */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Milliseconds until it may run again; 0 where it may now. */
  remainingMs(key: string, now: number): number {
    const left = (this.#entries.get(key)?.suspendedUntil ?? now) - now;
    // A clock that was set back must not make a suspension longer than a minute.
    return left > 0 && left <= MINUTE_MS ? left : 0;
  }

  /** Notes that it exhausted its gas. Calls that were under way when it was suspended end after that and change nothing of it. */
  record(key: string, now: number): void {
    if (this.remainingMs(key, now) > 0) return;
    const past = this.#entries.get(key)?.times ?? [];
    const times = [...past.filter((time) => time > now - MINUTE_MS && time <= now), now];
    this.#entries.delete(key);
    this.#entries.set(
      key,
      times.length >= this.#perMinute ? { times: [], suspendedUntil: now + MINUTE_MS } : { times, suspendedUntil: 0 },
    );
    if (this.#entries.size <= MAX_ENTRIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
