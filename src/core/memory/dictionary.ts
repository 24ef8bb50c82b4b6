import { type HashSeed, newHashSeed } from "./tokens.ts";

/** Words longer than this are counted and not kept: no query that a tool may make contains one. */
const MAX_WORD = 4_096;

const LEAST_SLOTS = 1_024;

/** All words of an index, numbered in the order they came. They lie in one array: a million strings would take far more room. */
export class Dictionary {
  readonly seed: HashSeed = newHashSeed();
  #count = 0;
  /** UTF-16 of all words, one after the other. */
  #units = new Uint16Array(8 * LEAST_SLOTS);
  /** Where each word begins, and where the last one ends. */
  #starts = new Uint32Array(LEAST_SLOTS);
  #hashes = new Int32Array(LEAST_SLOTS);
  /** Open addressing: number of a word + 1, or 0. */
  #slots = new Int32Array(LEAST_SLOTS);

  get size(): number {
    return this.#count;
  }

  /** Bytes in use; {@link trim} gives back what is held beyond them. */
  get bytes(): number {
    return 2 * (this.#starts[this.#count] as number) + 8 * this.#count + this.#slots.byteLength;
  }

  /** Number of a word, which is part of `text`; -1 when it is not known. */
  find(text: string, from: number, to: number, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const word = (this.#slots[slot] as number) - 1;
      if (word < 0 || (this.#hashes[word] === hash && this.#equals(word, text, from, to))) return word;
    }
  }

  /** As {@link find}, but a word that is not known is added; -1 for one that is too long to be kept. */
  intern(text: string, from: number, to: number, hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (; ; slot = (slot + 1) & mask) {
      const word = (this.#slots[slot] as number) - 1;
      if (word < 0) break;
      if (this.#hashes[word] === hash && this.#equals(word, text, from, to)) return word;
    }
    if (to - from > MAX_WORD) return -1;
    return this.#add(slot, text, from, to, hash);
  }

  /** Gives back the room that was kept for more. */
  trim(): void {
    this.#units = this.#units.slice(0, this.#starts[this.#count]);
    this.#starts = this.#starts.slice(0, this.#count + 1);
    this.#hashes = this.#hashes.slice(0, this.#count);
  }

  #add(slot: number, text: string, from: number, to: number, hash: number): number {
    const word = this.#count;
    const start = this.#starts[word] as number;
    const end = start + to - from;
    if (end > this.#units.length) this.#units = enlarged(this.#units, end);
    if (word + 2 > this.#starts.length) {
      this.#starts = enlarged(this.#starts, word + 2);
      this.#hashes = enlarged(this.#hashes, word + 2);
    }
    for (let at = from; at < to; at++) this.#units[start + at - from] = text.charCodeAt(at);
    this.#starts[word + 1] = end;
    this.#hashes[word] = hash;
    this.#slots[slot] = word + 1;
    this.#count += 1;
    if (2 * this.#count > this.#slots.length) this.#rehash();
    return word;
  }

  #equals(word: number, text: string, from: number, to: number): boolean {
    const start = this.#starts[word] as number;
    if ((this.#starts[word + 1] as number) - start !== to - from) return false;
    for (let at = from; at < to; at++) if (this.#units[start + at - from] !== text.charCodeAt(at)) return false;
    return true;
  }

  #rehash(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let word = 0; word < this.#count; word++) {
      let slot = (this.#hashes[word] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = word + 1;
    }
    this.#slots = slots;
  }
}

type Numbers = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** A copy with room for at least `least` numbers, and for twice as many as before. */
export function enlarged<T extends Numbers>(numbers: T, least: number): T {
  const larger = new (numbers.constructor as new (length: number) => T)(Math.max(2 * numbers.length, least));
  larger.set(numbers);
  return larger;
}
