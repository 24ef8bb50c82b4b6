/** A cache bounded by bytes: the entries least recently used go first. An entry larger than the bound is not kept. */
export class ByteLru<Value> {
  readonly #maximumBytes: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #entries = new Map<string, Value>();
  #bytes = 0;
  /** Used last: what is used again and again need not be moved to the end each time. */
  #newest: string | null = null;

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
    if (key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
      this.#newest = key;
    }
    return value;
  }

  /** The keys of what would go if this were set now. */
  displacedBy(value: Value): readonly string[] {
    const displaced: string[] = [];
    const size = this.#sizeOf(value);
    if (size > this.#maximumBytes) return displaced;
    let bytes = this.#bytes + size;
    for (const [key, oldest] of this.#entries) {
      if (bytes <= this.#maximumBytes) break;
      displaced.push(key);
      bytes -= this.#sizeOf(oldest);
    }
    return displaced;
  }

  set(key: string, value: Value): void {
    this.#delete(key);
    const size = this.#sizeOf(value);
    if (size > this.#maximumBytes) return;
    this.#entries.set(key, value);
    this.#newest = key;
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
    if (key === this.#newest) this.#newest = null;
    this.#bytes -= this.#sizeOf(value);
  }
}
