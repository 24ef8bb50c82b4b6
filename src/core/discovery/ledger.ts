/**
 * Counts the bytes that a release keeps, in document order. Once a file does not fit, none after it does, so that what is
 * kept depends on the files alone and not on the order in which they arrived.
 */
export class ReleaseLedger {
  readonly #limit: number;
  readonly #counted = new Set<string>();
  #sum = 0;

  constructor(limits: { readonly releaseBytes: number }) {
    this.#limit = limits.releaseBytes;
  }

  /** @param key the file's identity: the same file is counted once. @returns whether it may be kept. */
  take(key: string, bytes: number): boolean {
    if (this.#counted.has(key)) return true;
    if (this.#sum >= this.#limit || this.#sum + bytes > this.#limit) {
      this.#sum = this.#limit;
      return false;
    }
    this.#sum += bytes;
    this.#counted.add(key);
    return true;
  }
}
