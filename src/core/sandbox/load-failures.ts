import type { GuestErrorCode, GuestFailure } from "./outcome.ts";

const REMEMBERED_MS = 60_000;
const MAX_ENTRIES = 1_024;

/** Ends of a load that say nothing of the script: the same may load the next time. */
const PASSING: ReadonlySet<GuestErrorCode> = new Set(["timeout", "cancelled", "out_of_memory", "crashed"]);

/**
 * Scripts that did not load, for a minute: a script that was right when it was discovered and fails now (its origin's limits were lowered,
 * say) would cost every call a whole load's gas. Bounded: the oldest entry is forgotten first.
 */
export class LoadFailures {
  readonly #entries = new Map<string, { readonly failure: GuestFailure; readonly at: number }>();

  /** The failure, as it is for a call that ran nothing. */
  get(key: string, now: number): GuestFailure | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    if (now >= entry.at && now - entry.at < REMEMBERED_MS) return { ...entry.failure, gasUsed: 0 };
    this.#entries.delete(key);
    return null;
  }

  record(key: string, failure: GuestFailure, now: number): void {
    if (PASSING.has(failure.code)) return;
    this.#entries.delete(key);
    this.#entries.set(key, { failure, at: now });
    if (this.#entries.size <= MAX_ENTRIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}
