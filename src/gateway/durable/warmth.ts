import type { CanonicalOrigin } from "../../core/origin.ts";

/** A hub refreshes itself this long after its last discovery, milliseconds. */
export const KEEP_WARM_MS = 60_000;
/** It does so while somebody called it within this time. */
export const CALLED_LATELY_MS = 30 * 60_000;
/** A call is written down at most this often. */
const WRITE_INTERVAL_MS = 60_000;
const KEY = "called";
const WITHDRAWN = "withdrawn";

interface Called {
  /** An alarm does not say for which name its object was made. */
  readonly origin: CanonicalOrigin;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** When a hub was last called, whether its origin withdrew everything, through evictions, and the alarm that follows from it. Storage that fails costs the alarm, nothing else. */
export class Warmth {
  readonly #storage: DurableObjectStorage;
  #called: Called | null;
  #writtenAt: number;
  #armed = false;
  #withdrawn: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#called = this.#attempt(() => storage.kv.get<Called>(KEY)) ?? null;
    this.#writtenAt = this.#called?.at ?? Number.NEGATIVE_INFINITY;
    this.#withdrawn = this.#attempt(() => storage.kv.get<boolean>(WITHDRAWN)) ?? false;
  }

  /** The origin, when it last answered, offered nothing. */
  get isWithdrawn(): boolean {
    return this.#withdrawn;
  }

  noteWithdrawal(withdrawn: boolean): void {
    if (this.#withdrawn === withdrawn) return;
    this.#withdrawn = withdrawn;
    this.#attempt(() => this.#storage.kv.put(WITHDRAWN, withdrawn));
  }

  get isArmed(): boolean {
    return this.#armed;
  }

  noteCall(origin: CanonicalOrigin): void {
    this.#called = { origin, at: Date.now() };
  }

  /** Writes the last call down, where that is due: after the origin was asked, which would wait for the disk. */
  writeCall(): void {
    if (this.#called === null || Math.abs(this.#called.at - this.#writtenAt) < WRITE_INTERVAL_MS) return;
    this.#writtenAt = this.#called.at;
    this.#attempt(() => this.#storage.kv.put(KEY, this.#called));
  }

  /** The origin where it was called lately, else `null`. */
  calledLately(): CanonicalOrigin | null {
    if (this.#called === null || Math.abs(Date.now() - this.#called.at) > CALLED_LATELY_MS) return null;
    return this.#called.origin;
  }

  /** Sets the hub's only alarm, where it was called lately. @param at epoch milliseconds. */
  arm(at: number): void {
    if (this.calledLately() === null) return;
    this.#armed = true;
    this.#storage.setAlarm(at).catch((error: unknown) => {
      this.#armed = false;
      report(error);
    });
  }

  /** Nobody may call it any more: no alarm follows from earlier calls. */
  rest(): void {
    this.#called = null;
    this.#writtenAt = Number.NEGATIVE_INFINITY;
    this.#armed = false;
    this.#attempt(() => this.#storage.kv.delete(KEY));
    this.#storage.deleteAlarm().catch(report);
  }

  /** The alarm rang. */
  rang(): void {
    this.#armed = false;
  }

  #attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      report(error);
      return undefined;
    }
  }
}

function report(error: unknown): void {
  console.error(JSON.stringify({ event: "hub_not_kept_warm", error: String(error) }));
}
