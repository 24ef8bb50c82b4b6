/** What a hub writes down of what it found is written so much later, so that the answer does not compete with it on its way. */
const WRITE_BEHIND_MS = 50;

/**
 * Writes to an object's storage that begin once the answer under way has left: an answer waits until all that was written before it is on
 * the disk, and what is held is in memory and as good from there. A crash in between costs what the next discovery brings again.
 */
export class DeferredWrites {
  readonly #waitUntil: (work: Promise<unknown>) => void;
  readonly #writes: (() => void)[] = [];

  constructor(waitUntil: (work: Promise<unknown>) => void) {
    this.#waitUntil = waitUntil;
  }

  /** Writes are done in the order in which they come. */
  later(write: () => void): void {
    this.#writes.push(write);
    if (this.#writes.length === 1) this.#waitUntil(scheduler.wait(WRITE_BEHIND_MS).then(() => this.now()));
  }

  /** Does what was not done yet: before the storage is read. */
  now(): void {
    for (const write of this.#writes.splice(0)) write();
  }
}
