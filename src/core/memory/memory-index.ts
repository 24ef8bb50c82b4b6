import type { Dictionary } from "./dictionary.ts";
import { logf } from "./logf.ts";
import { eachToken } from "./tokens.ts";

const f32 = Math.fround;
const K1 = f32(1.2);
const B = 0.75;
const K1_PLUS_1 = f32(K1 + 1);
const ONE_MINUS_B = 0.25;

/** Gas of a search beside that of its postings; a posting costs one unit, which is dearer than it is. */
const SEARCH_GAS = 500;
/** Chunks whose score is cleared and looked at for one unit of gas. */
const CHUNKS_PER_GAS = 8;

/** One found chunk. */
export interface IndexHit {
  readonly chunkId: string;
  /** `""` where the entry names none. */
  readonly conceptId: string;
  readonly title: string | null;
  /** The first 200 code points of the content, and `…` where there are more. */
  readonly text: string;
  /** Float32, negative; the smaller the better. */
  readonly score: number;
}

/** What {@link IndexBuilder} puts together. Chunks and words are known by their numbers. */
export interface IndexParts {
  readonly words: Dictionary;
  /** For each word where its postings begin, and at the end where the last ones end. */
  readonly firstPostings: Uint32Array;
  /** Of each posting: the chunk, and how often the word stands in it. */
  readonly postingChunks: Uint16Array;
  readonly postingCounts: Uint32Array;
  /** Words of each chunk. */
  readonly lengths: Uint32Array;
  readonly ids: readonly string[];
  /** JSON of `[concept, title, text]` of all chunks, and where each ends. */
  readonly shown: Uint8Array;
  readonly shownEnds: Uint32Array;
  /** Estimated; all that the index holds. */
  readonly bytes: number;
}

/**
 * Search over one snapshot: BM25 (k1 = 1.2, b = 0.75) over all text of a chunk as one field, every step in float32, so that
 * the scores are those of `minimemory-okf-v1` bit for bit. Immutable but for its scratch room.
 */
export class MemoryIndex {
  readonly bytes: number;
  readonly #parts: IndexParts;
  /** For each chunk k1 · ((1 − b) + b · length / mean length). */
  readonly #norms: Float32Array;
  readonly #scores: Float32Array;

  constructor(parts: IndexParts) {
    this.#parts = parts;
    const { lengths } = parts;
    this.#norms = new Float32Array(lengths.length);
    this.#scores = new Float32Array(lengths.length);
    this.bytes = parts.bytes + this.#norms.byteLength + this.#scores.byteLength;
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const mean = f32(f32(total) / f32(lengths.length));
    for (const [chunk, length] of lengths.entries()) {
      this.#norms[chunk] = f32(K1 * f32(ONE_MINUS_B + f32(f32(B * f32(length)) / mean)));
    }
  }

  /** Chunks. */
  get size(): number {
    return this.#norms.length;
  }

  /**
   * The best `k` chunks that hold at least one word of the query, best first; those of equal score in the order of their ids
   * (by code unit). A word that the query repeats counts as often.
   *
   * @param charge is told the gas of the search before it begins; a throw of it ends the search.
   */
  search(query: string, k: number, charge: (gas: number) => void = () => {}): readonly IndexHit[] {
    const { words, firstPostings } = this.#parts;
    const asked: number[] = [];
    let gas = SEARCH_GAS + this.size / CHUNKS_PER_GAS;
    eachToken(query, words.seed, (text, from, to, hash) => {
      const word = words.find(text, from, to, hash);
      if (word < 0) return;
      asked.push(word);
      gas += (firstPostings[word + 1] as number) - (firstPostings[word] as number);
    });
    charge(Math.ceil(gas));
    if (asked.length === 0) return [];
    this.#scores.fill(0);
    for (const word of asked) this.#addWord(word);
    return this.#best(k).map((chunk) => this.#hit(chunk));
  }

  #addWord(word: number): void {
    const { firstPostings, postingChunks, postingCounts } = this.#parts;
    const scores = this.#scores;
    const norms = this.#norms;
    const begin = firstPostings[word] as number;
    const end = firstPostings[word + 1] as number;
    const count = end - begin;
    const rarity = f32(f32(f32(this.size - count) + 0.5) / f32(count + 0.5));
    const idf = logf(f32(rarity + 1));
    for (let posting = begin; posting < end; posting++) {
      const chunk = postingChunks[posting] as number;
      const tf = f32(postingCounts[posting] as number);
      const weight = f32(f32(idf * f32(tf * K1_PLUS_1)) / f32(tf + (norms[chunk] as number)));
      scores[chunk] = (scores[chunk] as number) + weight;
    }
  }

  #best(k: number): number[] {
    const scores = this.#scores;
    const { ids } = this.#parts;
    const best: number[] = [];
    let least = 0;
    for (let chunk = 0; chunk < scores.length; chunk++) {
      const score = scores[chunk] as number;
      // Every chunk with a word of the query has a score above zero.
      if (score === 0 || (best.length === k && score < least)) continue;
      let place = best.length;
      while (place > 0) {
        const other = best[place - 1] as number;
        const otherScore = scores[other] as number;
        if (otherScore > score || (otherScore === score && (ids[other] as string) < (ids[chunk] as string))) break;
        place -= 1;
      }
      best.splice(place, 0, chunk);
      if (best.length > k) best.pop();
      if (best.length === k) least = scores[best[k - 1] as number] as number;
    }
    return best;
  }

  #hit(chunk: number): IndexHit {
    const { ids, shown, shownEnds } = this.#parts;
    const bytes = shown.subarray(chunk === 0 ? 0 : shownEnds[chunk - 1], shownEnds[chunk]);
    const [conceptId, title, text] = JSON.parse(new TextDecoder().decode(bytes)) as [string, string | null, string];
    return { chunkId: ids[chunk] as string, conceptId, title, text, score: -(this.#scores[chunk] as number) };
  }
}
