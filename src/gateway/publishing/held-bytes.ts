/** What reads of skills' files may hold in one isolate, bytes, of the 128 MB it has; a file that would need more is read alone. */
export const HELD_BYTES = 32 * 1_048_576;
/** A read waits so long for its turn, milliseconds … */
export const TURN_LIMIT_MS = 2_000;
/** … and looks so often: by its own timer, since no request may wait for another one's promise. */
const LOOK_MS = 20;

/** One hold of more than half gives way to who waits for room once it is so old, milliseconds … */
export const LARGE_LIMIT_MS = 10_000;
/** … and one that does not within this time belongs to a request that was cancelled. */
const GIVING_WAY_MS = 1_500;

/** A hold that is so old belongs to a request that was cancelled and never gave it back. */
const LOST_AFTER_MS = 90_000;

/** Bytes that a read holds. */
export interface Hold {
  /** Gives back all but so many. */
  keep(bytes: number): void;
  /** Others wait for it, and it was held for long: its holder is to end. */
  readonly isWanted: boolean;
  /** Gives back all; more than once does nothing. */
  release(): void;
}

/**
 * Bytes that requests hold at one time, together at most `capacity`. Whoever asks for more waits, and one holder has half of all at most, so
 * that a client that reads many large files at once, or takes its time with them, leaves room for others. A request that alone needs more
 * than that gets it, and more than there is when nobody else holds any; but then it has less time.
 */
export class HeldBytes {
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #held = new Set<Held>();

  constructor(capacity = HELD_BYTES, now: () => number = Date.now) {
    this.#capacity = capacity;
    this.#now = now;
  }

  /** All that is held. */
  get bytes(): number {
    return sum(this.#held);
  }

  /** Settles as soon as there is room; `null` where there was none for {@link TURN_LIMIT_MS}. */
  async take(bytes: number, holder: string): Promise<Hold | null> {
    for (let looks = 0; looks <= TURN_LIMIT_MS / LOOK_MS; looks++) {
      if (looks > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (this.#hasRoom(bytes, holder)) return this.#hold(bytes, holder);
    }
    return null;
  }

  #hasRoom(bytes: number, holder: string): boolean {
    const now = this.#now();
    const own: Held[] = [];
    for (const held of this.#held) {
      if (isLost(held, now)) this.#held.delete(held);
      else if (held.holder === holder) own.push(held);
    }
    if (this.#held.size === 0) return true;
    if (own.length > 0 && sum(own) + bytes > this.#capacity / 2) return false;
    if (this.bytes + bytes <= this.#capacity) return true;
    for (const held of this.#held) {
      if (held.bytes > this.#capacity / 2 && Math.abs(now - held.at) > LARGE_LIMIT_MS) held.wantedAt ??= now;
    }
    return false;
  }

  #hold(bytes: number, holder: string): Hold {
    const held: Held = { holder, bytes, at: this.#now(), wantedAt: null };
    this.#held.add(held);
    return {
      keep: (left) => {
        held.bytes = Math.min(held.bytes, left);
      },
      get isWanted() {
        return held.wantedAt !== null;
      },
      release: () => {
        this.#held.delete(held);
      },
    };
  }
}

interface Held {
  readonly holder: string;
  bytes: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Since when others wait for it; `null`: nobody does, or it has not had its time. */
  wantedAt: number | null;
}

function isLost({ at, wantedAt }: Held, now: number): boolean {
  return Math.abs(now - at) > LOST_AFTER_MS || (wantedAt !== null && Math.abs(now - wantedAt) > GIVING_WAY_MS);
}

function sum(held: Iterable<Held>): number {
  let total = 0;
  for (const { bytes } of held) total += bytes;
  return total;
}

/** Of this isolate. */
export const heldBytes = new HeldBytes();
