/** A cache bounded by bytes: the entries least recently used go first. An entry larger than the bound is not kept. */
export class ByteLru<Value> {
  readonly #maximumBytes: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #entries = new Map<string, Value>();
  #bytes = 0;

  constructor(maximumBytes: number, sizeOf: (value: Value) => number) {
    this.#maximumBytes = maximumBytes;
    this.#sizeOf = sizeOf;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#delete(key);
    const size = this.#sizeOf(value);
    if (size > this.#maximumBytes) return;
    this.#entries.set(key, value);
    this.#bytes += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maximumBytes) break;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= this.#sizeOf(value);
  }
}
