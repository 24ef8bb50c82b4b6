import type { GuestErrorCode } from "./outcome.ts";

export type StopCode = Extract<GuestErrorCode, "timeout" | "cancelled" | "out_of_memory">;

/** A call is over before the guest is: nothing of it will be resumed. */
export class CallStopped extends Error {
  override readonly name = "CallStopped";
  readonly code: StopCode;

  constructor(code: StopCode) {
    super(code);
    this.code = code;
  }
}

/** The end of one call: by its deadline, by its caller's signal, or by the pool. */
export class CallControl {
  readonly #deadline: number;
  readonly #now: () => number;
  readonly #outer: AbortSignal | undefined;
  #stopped: StopCode | null = null;
  #rejectWait: ((reason: CallStopped) => void) | null = null;
  #controller: AbortController | null = null;

  /** `deadline` in epoch milliseconds. */
  constructor(options: { deadline: number; now: () => number; signal: AbortSignal | undefined }) {
    this.#deadline = options.deadline;
    this.#now = options.now;
    this.#outer = options.signal;
  }

  /** Why the call has been stopped, or `null` while it may go on. */
  get stopped(): StopCode | null {
    if (this.#stopped === null && this.#outer?.aborted) this.#stopped = "cancelled";
    return this.#stopped;
  }

  /** Milliseconds until the deadline. */
  get remainingMs(): number {
    return this.#deadline - this.#now();
  }

  /** Handed to capabilities; aborted when the call ends, however it ends. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  /** Ends the call from outside: a wait rejects at once. */
  stop(code: StopCode): void {
    this.#stopped ??= code;
    this.#rejectWait?.(new CallStopped(this.#stopped));
  }

  finish(): void {
    this.#controller?.abort();
  }

  /** Throws `CallStopped` when the call may not go on. */
  check(): void {
    if (this.#stopped === null && this.remainingMs <= 0) this.#stopped = "timeout";
    const { stopped } = this;
    if (stopped !== null) throw new CallStopped(stopped);
  }

  /** The value of `work`, or `CallStopped` as soon as the call is stopped. */
  wait<T>(work: Promise<T>): Promise<T> {
    this.check();
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#outer?.removeEventListener("abort", cancel);
        this.#rejectWait = null;
      };
      const fail = (reason: unknown) => {
        end();
        reject(reason);
      };
      const cancel = () => this.stop("cancelled");
      const timer = setTimeout(() => this.stop("timeout"), Math.max(0, this.remainingMs));
      this.#outer?.addEventListener("abort", cancel);
      this.#rejectWait = fail;
      work.then((value) => {
        if (this.#rejectWait !== fail) return;
        end();
        resolve(value);
      }, fail);
    });
  }
}
