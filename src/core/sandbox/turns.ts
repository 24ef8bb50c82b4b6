/** Units of gas that a call computes before others get their turn: about a millisecond. */
export const SLICE_GAS = 150_000;

/** While others want to compute, one slice of all long calls together begins within this time, of which it takes about a third. */
const TURN_MS = 3;

/** A call that meets nobody else has longer and longer slices, up to this many times the first. */
const LONGEST = 4;

/** As many others as can be before a call; then it takes its turn whatever the clock says. */
const MOST_LOOKS = 16;

/** Somebody's last turn. */
interface Turn {
  readonly call: object;
  /** Calls that had begun by then. */
  readonly begun: number;
  readonly gas: number;
}

/**
 * The turns of calls that compute for long. Between two slices everything else that the thread has to do gets in; and while there are other
 * calls, the long ones together take a share of its time that does not grow with their number. Each waits by its own timer, for workerd
 * cancels who awaits a promise of another request.
 */
export class Turns {
  readonly #now: () => number;
  /** Epoch milliseconds. */
  #nextAt = 0;
  /** Calls that have begun, ever. */
  #begun = 0;
  #last: Turn | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes that a call begins. */
  begin(): void {
    this.#begun += 1;
  }

  /** Settles when it is the call's turn, with the units of gas that it may use in it. */
  async next(call: object): Promise<number> {
    const last = this.#last;
    const isAlone = last?.call === call && last.begun === this.#begun;
    let now = this.#now();
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      // A clock that was set back must not make a turn longer.
      const wait = isAlone ? 0 : Math.min(TURN_MS, Math.max(0, this.#nextAt - now));
      await new Promise((resolve) => setTimeout(resolve, wait));
      now = this.#now();
      if (isAlone || now >= this.#nextAt) break;
    }
    const gas = isAlone && last.begun === this.#begun ? Math.min(last.gas * 2, SLICE_GAS * LONGEST) : SLICE_GAS;
    this.#nextAt = now + TURN_MS;
    this.#last = { call, begun: this.#begun, gas };
    return gas;
  }
}
