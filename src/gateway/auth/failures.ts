import { LruCache } from "../lru.ts";

const MINUTE_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** One minute of an address: how often it failed in the running window and in the one before. */
interface Tally {
  readonly window: number;
  readonly count: number;
  readonly before: number;
}

/**
 * Counts failed authentications by address, in the memory of the isolate, over a sliding minute. It stands before the database, so that
 * guessing tokens costs the guesser and not D1. Bounded: the address seen longest ago is forgotten first.
 */
export class AuthFailures {
  readonly #tallies = new LruCache<string, Tally>(MAX_ADDRESSES);

  /**
   * Seconds until the address may try again, or 0 where it may now.
   *
   * @param limit failures a minute; the one after is refused.
   * @param now epoch milliseconds.
   */
  retryAfter(address: string, limit: number, now: number): number {
    const { count, before } = this.#tally(address, now);
    const share = 1 - (now % MINUTE_MS) / MINUTE_MS;
    if (count + before * share < limit) return 0;
    return Math.ceil((MINUTE_MS - (now % MINUTE_MS)) / 1000);
  }

  record(address: string, now: number): void {
    const tally = this.#tally(address, now);
    this.#tallies.set(address, { ...tally, count: tally.count + 1 });
  }

  clear(): void {
    this.#tallies.clear();
  }

  #tally(address: string, now: number): Tally {
    const window = Math.floor(now / MINUTE_MS);
    const known = this.#tallies.get(address);
    if (known === undefined || known.window < window - 1) return { window, count: 0, before: 0 };
    return known.window === window ? known : { window, count: 0, before: known.count };
  }
}

/** The failures this isolate has seen at the operators' door. */
export const adminFailures = new AuthFailures();

/** Texts that cannot be tokens (wrong shape or checksum). They cost no database read, so they never lock out a neighbour's real token. */
export const junkFailures = new AuthFailures();

/** Well-formed tokens that do not exist or count no more. Each costs a read, so an address beyond its limit gets no further ones. */
export const unknownFailures = new AuthFailures();

/**
 * The address a request is counted under: the client's IP as the platform reports it, an IPv6 one cut to its /64, which is what one
 * household or server commonly has. Requests without one share a name.
 */
export function clientAddress(headers: Headers): string {
  const address = headers.get("CF-Connecting-IP") ?? "unknown";
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":");
}
