/**
 * A map with a bound on the sum of its entries' weights (their count, unless a weight is given); the entry that was used longest ago
 * goes first. An entry heavier than the bound is not kept at all.
 */
export class LruCache<K, V> {
  readonly #capacity: number;
  readonly #weigh: (value: V) => number;
  readonly #entries = new Map<K, { readonly value: V; readonly weight: number }>();
  #weight = 0;
  /** Used last: what is used again and again need not be moved to the end each time. */
  #newest: { readonly key: K } | null = null;

  constructor(capacity: number, weigh: (value: V) => number = () => 1) {
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#newest?.key !== key) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      this.#newest = { key };
    }
    return entry.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#capacity) return;
    this.#entries.set(key, { value, weight });
    this.#newest = { key };
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    if (this.#newest?.key === key) this.#newest = null;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
    this.#newest = null;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The sum of the weights of all entries. */
  get weight(): number {
    return this.#weight;
  }
}
