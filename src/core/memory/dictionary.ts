import { type HashSeed, newHashSeed } from "./tokens.ts";

/** Words longer than this are counted and not kept: no query that a tool may make contains one. */
const MAX_WORD = 4_096;

const LEAST_WORDS = 1_024;
/** A dictionary that begins with more room than it needs costs more than one that grows. */
const MOST_EXPECTED_WORDS = 65_536;
/** Words that {@link Dictionary.touch} takes at once. */
export const WORDS_AT_ONCE = 256;

/** Numbers of a word's record, where its characters begin and end, and two that are the builder's. */
const RECORD = 4;
const [START, END] = [0, 1];
/** The word's latest posting. */
export const LATEST = 2;
/** In how many chunks it stands. */
export const CHUNKS = 3;

/** Numbers of a slot: the word + 1, or 0, and its hash. */
const SLOT = 2;

/**
 * All words of an index, numbered in the order they came. They lie in one array: a million strings would take far more room. What
 * is needed together lies together, since most of the time of an index goes into waiting for memory.
 */
export class Dictionary {
  readonly seed: HashSeed = newHashSeed();
  #count = 0;
  /** UTF-16 of all words, one after the other. */
  #units: Uint16Array<ArrayBuffer>;
  #records: Uint32Array<ArrayBuffer>;
  /** Open addressing; at most half of the slots are taken. */
  #slots: Int32Array<ArrayBuffer>;
  readonly #touched = new Int32Array(WORDS_AT_ONCE);

  /** @param expected words, about: it grows where there are more. */
  constructor(expected = 0) {
    let words = LEAST_WORDS;
    while (words < expected && words < MOST_EXPECTED_WORDS) words *= 2;
    this.#units = new Uint16Array(8 * words);
    this.#records = new Uint32Array(RECORD * words);
    this.#slots = new Int32Array(SLOT * 2 * words);
  }

  get size(): number {
    return this.#count;
  }

  /** Bytes in use; {@link trim} gives back what is held beyond them. */
  get bytes(): number {
    return 2 * this.#unitCount + 4 * RECORD * this.#count + this.#slots.byteLength;
  }

  /**
   * Reads what {@link intern} is about to read for words of these hashes. Most of its time goes into waiting for memory, one word after
   * the other; here no read waits for another one, so that the waits overlap.
   *
   * @param count at most {@link WORDS_AT_ONCE}.
   */
  touch(hashes: Int32Array, count: number): void {
    const [slots, records, units, touched] = [this.#slots, this.#records, this.#units, this.#touched];
    const mask = slots.length - 1;
    for (let n = 0; n < count; n++) touched[n] = slots[(SLOT * (hashes[n] as number)) & mask] as number;
    // A slot that is free leads to the first record.
    for (let n = 0; n < count; n++) touched[n] = records[RECORD * (Math.max(touched[n] as number, 1) - 1)] as number;
    for (let n = 0; n < count; n++) touched[n] = units[touched[n] as number] as number;
  }

  /** Number of a word, which is part of `text`; -1 when it is not known. */
  find(text: string, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = (SLOT * hash) & mask; ; slot = (slot + SLOT) & mask) {
      const word = (slots[slot] as number) - 1;
      if (word < 0 || (slots[slot + 1] === hash && this.#equals(word, text, from, to))) return word;
    }
  }

  /** As {@link find}, but a word that is not known is added; -1 for one that is too long to be kept. */
  intern(text: string, from: number, to: number, hash: number): number {
    const word = this.find(text, from, to, hash);
    return word >= 0 || to - from > MAX_WORD ? word : this.#add(text, from, to, hash);
  }

  /** A number of a word's record, {@link LATEST} or {@link CHUNKS}: 0 until it is set. */
  get(word: number, field: number): number {
    return this.#records[RECORD * word + field] as number;
  }

  set(word: number, field: number, value: number): void {
    this.#records[RECORD * word + field] = value;
  }

  /** Gives back the room that was kept for more. */
  trim(): void {
    this.#units = this.#units.slice(0, this.#unitCount);
    this.#records = this.#records.slice(0, RECORD * this.#count);
    let words = LEAST_WORDS;
    while (words < this.#count) words *= 2;
    if (SLOT * 2 * words < this.#slots.length) this.#moveSlots(SLOT * 2 * words);
  }

  get #unitCount(): number {
    return this.#count === 0 ? 0 : (this.#records[RECORD * (this.#count - 1) + END] as number);
  }

  #add(text: string, from: number, to: number, hash: number): number {
    const word = this.#count;
    const start = this.#unitCount;
    const end = start + to - from;
    if (end > this.#units.length) this.#units = enlarged(this.#units, end);
    const record = RECORD * word;
    if (record === this.#records.length) this.#records = enlarged(this.#records, 0);
    for (let at = from; at < to; at++) this.#units[start + at - from] = text.charCodeAt(at);
    this.#records[record + START] = start;
    this.#records[record + END] = end;
    this.#count += 1;
    if (2 * SLOT * this.#count > this.#slots.length) this.#moveSlots(2 * this.#slots.length);
    place(this.#slots, word + 1, hash);
    return word;
  }

  #equals(word: number, text: string, from: number, to: number): boolean {
    const start = this.#records[RECORD * word + START] as number;
    if ((this.#records[RECORD * word + END] as number) - start !== to - from) return false;
    const units = this.#units;
    for (let at = from; at < to; at++) if (units[start + at - from] !== text.charCodeAt(at)) return false;
    return true;
  }

  #moveSlots(length: number): void {
    const before = this.#slots;
    this.#slots = new Int32Array(length);
    for (let slot = 0; slot < before.length; slot += SLOT) {
      if (before[slot] !== 0) place(this.#slots, before[slot] as number, before[slot + 1] as number);
    }
  }
}

function place(slots: Int32Array, entry: number, hash: number): void {
  const mask = slots.length - 1;
  let slot = (SLOT * hash) & mask;
  while (slots[slot] !== 0) slot = (slot + SLOT) & mask;
  slots[slot] = entry;
  slots[slot + 1] = hash;
}

type Numbers = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** A copy with room for at least `least` numbers, and for twice as many as before. */
export function enlarged<T extends Numbers>(numbers: T, least: number): T {
  const larger = new (numbers.constructor as new (length: number) => T)(Math.max(2 * numbers.length, least));
  larger.set(numbers);
  return larger;
}
