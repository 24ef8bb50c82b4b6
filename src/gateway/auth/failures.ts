import ipaddr from "ipaddr.js";
import { LruCache } from "../lru.ts";

const MINUTE_MS = 60_000;
const MAX_ADDRESSES = 10_000;
/** An attempt that did not settle within this time was cancelled with its request. */
const OPEN_MS = 5_000;
/** So many attempts of an address are judged at a time, since each may cost a read of the database … */
const ATTEMPTS_AT_ONCE = 4;
/** … and one of an address that failed so often within a minute: it looks like one that guesses. */
const GUESSES = 10;

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
  /** Attempts whose outcome is not known yet, with the time they began. */
  readonly #open = new LruCache<string, Map<string, number>>(MAX_ADDRESSES);

  /**
   * Seconds until the address may try again, or 0 where it may now.
   *
   * @param limit failures a minute; the one after is refused. Open attempts count as failures until they settle.
   * @param now epoch milliseconds.
   * @param credential names the credential of this attempt: others with the same one do not count against it.
   */
  retryAfter(address: string, limit: number, now: number, credential?: string): number {
    const failed = this.#failed(address, now);
    if (failed >= limit) return Math.ceil((MINUTE_MS - (now % MINUTE_MS)) / 1000);
    return failed + this.#openOthers(address, now, credential) >= limit ? 1 : 0;
  }

  /** True while the attempt must wait for others of its address to be judged: a flood's guesses come one after the other. */
  mustWait(address: string, now: number, credential: string): boolean {
    const atOnce = this.isGuessing(address, now) ? 1 : ATTEMPTS_AT_ONCE;
    return this.#openOthers(address, now, credential) >= atOnce;
  }

  /** True of an address that failed often: it gets its refusals late. */
  isGuessing(address: string, now: number): boolean {
    return this.#failed(address, now) >= GUESSES;
  }

  /** Notes an attempt that takes time to judge, so that many at once are not more than the limit allows. */
  begin(address: string, credential: string, now: number): void {
    const open = this.#open.get(address) ?? new Map<string, number>();
    open.set(credential, now);
    this.#open.set(address, open);
  }

  settle(address: string, credential: string): void {
    const open = this.#open.get(address);
    open?.delete(credential);
    if (open?.size === 0) this.#open.delete(address);
  }

  record(address: string, now: number): void {
    const tally = this.#tally(address, now);
    this.#tallies.set(address, { ...tally, count: tally.count + 1 });
  }

  clear(): void {
    this.#tallies.clear();
    this.#open.clear();
  }

  #failed(address: string, now: number): number {
    const { count, before } = this.#tally(address, now);
    return count + before * (1 - (now % MINUTE_MS) / MINUTE_MS);
  }

  #openOthers(address: string, now: number, credential: string | undefined): number {
    const open = this.#open.get(address);
    if (open === undefined) return 0;
    for (const [name, since] of open) if (Math.abs(now - since) > OPEN_MS) open.delete(name);
    return open.size - (credential !== undefined && open.has(credential) ? 1 : 0);
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
  const address = headers.get("CF-Connecting-IP") ?? "";
  let name = addressNames.get(address);
  if (name === undefined) {
    name = addressName(address);
    if (address.length <= MAX_ADDRESS_CHARS) addressNames.set(address, name);
  }
  return name;
}

const MAX_ADDRESS_CHARS = 64;
const addressNames = new LruCache<string, string>(1_000);

function addressName(address: string): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv4) return ip.toString();
  const network = ip.parts.slice(0, 4).map((part) => part.toString(16));
  return network.join(":");
}
