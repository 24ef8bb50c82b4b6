import { LruCache } from "../lru.ts";

const MINUTE_MS = 60_000;
/** Gas is summed up in slots of this length, and counts until its whole slot is a minute old. */
const SLOT_MS = 5_000;
const MAX_CLIENTS = 10_000;

interface Slot {
  /** Epoch milliseconds. */
  readonly start: number;
  gas: number;
}

/**
 * What the tools of each client computed within the last minute, in the memory of the isolate. It is known when a call has ended, so calls
 * that run at the same time may take a client beyond its budget by what each of them may use, and no further call starts. Bounded: the
 * client seen longest ago is forgotten first.
 */
export class ClientGas {
  readonly #slots = new LruCache<string, Slot[]>(MAX_CLIENTS);

  /**
   * Milliseconds until the client may call a tool again, or 0 where it may now.
   *
   * @param budget units a minute; a client that used exactly that is refused.
   * @param now epoch milliseconds.
   */
  retryAfterMs(client: string, budget: number, now: number): number {
    const slots = this.#live(client, now);
    let used = 0;
    for (const { gas } of slots) used += gas;
    let wait = 0;
    for (const { start, gas } of slots) {
      if (used < budget) break;
      used -= gas;
      wait = start + SLOT_MS + MINUTE_MS - now;
    }
    return wait;
  }

  /** Notes what one call used. */
  charge(client: string, gas: number, now: number): void {
    if (gas <= 0) return;
    const slots = this.#live(client, now);
    const start = now - (now % SLOT_MS);
    const last = slots.at(-1);
    if (last?.start === start) last.gas += gas;
    else slots.push({ start, gas });
    this.#slots.set(client, slots);
  }

  clear(): void {
    this.#slots.clear();
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Slots of the future, which a clock that was set back leaves behind, count no more. */
  #live(client: string, now: number): Slot[] {
    const slots = this.#slots.get(client) ?? [];
    for (const slot of slots) if (!isLive(slot, now)) return slots.filter((each) => isLive(each, now));
    return slots;
  }
}

function isLive({ start }: Slot, now: number): boolean {
  return start <= now && start + SLOT_MS + MINUTE_MS > now;
}

/** The gas of this isolate's clients. */
export const clientGas = new ClientGas();
