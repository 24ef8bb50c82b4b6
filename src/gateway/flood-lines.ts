import { LruCache } from "./lru.ts";

const SECOND_MS = 1_000;
const MAX_ADDRESSES = 1_000;

/** What became of the lines of one address. */
interface Lines {
  readonly writtenAt: number;
  unwritten: number;
}

/**
 * Which refusals of a flood get a line of the log of their own: the first of an address in a second. The line tells how many others had
 * none since the one before it; those after the last line are in the counters alone (`metrics`), which count every request.
 */
export class FloodLines {
  readonly #lines = new LruCache<string, Lines>(MAX_ADDRESSES);

  /**
   * How many refusals of the address got no line since its last one, where this one gets a line; else `null`.
   *
   * @param now epoch milliseconds.
   */
  take(address: string, now: number): number | null {
    const lines = this.#lines.get(address);
    if (lines !== undefined && Math.abs(now - lines.writtenAt) < SECOND_MS) {
      lines.unwritten += 1;
      return null;
    }
    this.#lines.set(address, { writtenAt: now, unwritten: 0 });
    return lines?.unwritten ?? 0;
  }
}
