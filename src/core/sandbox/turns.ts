/** Units of gas that a call computes before others get their turn: about a millisecond. */
export const SLICE_GAS = 150_000;

/** While others want to compute, one slice of all long calls together begins within this time, milliseconds. */
const TURN_MS = 5;

/** On a slow or busy machine, where slices take longer, the pause after one is so many times its length … */
const PAUSES = 3;
/** … and at most this long. */
const LONGEST_PAUSE_MS = 50;

/** A call that meets nobody else has longer and longer slices, up to this many times the first. */
const LONGEST_SLICE = 4;
/** A timer that is later than this waited for somebody. */
const PUNCTUAL_MS = 2;

/** As many others as can be before a call; then it takes its turn whatever the clock says. */
const MOST_LOOKS = 16;

/** Somebody's last turn. */
interface Turn {
  readonly call: object;
  /** Calls that had begun by then. */
  readonly begun: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly gas: number;
  /** Its timer fired in time: the thread had nothing else to do. */
  readonly wasPunctual: boolean;
}

/**
 * The turns of calls that compute for long. Between two slices everything else that the thread has to do gets in; and while there is
 * anything else, the long calls together take about a quarter of its time, however many they are. Each waits by its own timer, for workerd
 * cancels who awaits a promise of another request. Where the clock stands still while a guest computes (Workers), the length of a slice
 * shows in how late the timer after it is.
 */
export class Turns {
  readonly #now: () => number;
  /** Epoch milliseconds. */
  #nextAt = 0;
  /** Calls that have begun, ever. */
  #begun = 0;
  #last: Turn | null = null;
  /** Who looked last whether it is its turn, without having had the last one. One whose request is cancelled never says that it left. */
  #waiting: { readonly call: object; readonly at: number } | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes that a call begins. */
  begin(): void {
    this.#begun += 1;
  }

  /** Settles when it is the call's turn, with the units of gas that it may use in it. */
  async next(call: object): Promise<number> {
    let now = this.#now();
    const last = this.#last?.call === call ? this.#last : null;
    if (last !== null) this.#pause(now, now - last.at);
    let isAlone = last !== null;
    let wasPunctual = true;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      if (last === null) this.#waiting = { call, at: now };
      isAlone &&= this.#isAlone(last, now);
      // A clock that was set back must not make a turn longer.
      const wait = isAlone ? 0 : Math.min(LONGEST_PAUSE_MS, Math.max(0, this.#nextAt - now));
      const due = now + wait;
      await new Promise((resolve) => setTimeout(resolve, wait));
      const stoodStill = looks === 0 && last?.at === now;
      now = this.#now();
      wasPunctual = now - due <= PUNCTUAL_MS;
      if (stoodStill) this.#pause(now, now - due);
      isAlone &&= wasPunctual && this.#isAlone(last, now);
      if (isAlone || now >= this.#nextAt) break;
    }
    const gas = isAlone ? Math.min((last?.gas ?? 0) * 2, SLICE_GAS * LONGEST_SLICE) : SLICE_GAS;
    this.#nextAt = now + TURN_MS;
    this.#last = { call, begun: this.#begun, at: now, gas, wasPunctual };
    return gas;
  }

  /** Whether a call met nobody since its last turn, nor when it had it. */
  #isAlone(last: Turn | null, now: number): boolean {
    if (last === null || !last.wasPunctual || last.begun !== this.#begun) return false;
    const waiting = this.#waiting;
    return waiting === null || waiting.call === last.call || Math.abs(now - waiting.at) > LONGEST_PAUSE_MS;
  }

  /** After a slice that took `tookMs`. */
  #pause(now: number, tookMs: number): void {
    if (tookMs > 0) this.#nextAt = Math.max(this.#nextAt, now + Math.min(PAUSES * tookMs, LONGEST_PAUSE_MS));
  }
}
