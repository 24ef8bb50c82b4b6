import { CHUNKS, Dictionary, enlarged, LATEST, WORDS_AT_ONCE } from "./dictionary.ts";
import { MemoryIndex } from "./memory-index.ts";
import { readSnapshot, type SnapshotChunk } from "./snapshot.ts";
import { SnapshotError } from "./snapshot-error.ts";
import { eachToken } from "./tokens.ts";

/** Most bytes of one index, and of all that an isolate keeps. A snapshot of 4 MiB of prose makes 8 to 10 MiB. */
export const MAX_INDEX_BYTES = 16 * 1024 * 1024;

/** Bytes of a snapshot for each word that is new in it, about: prose of 4 MiB has 60,000. */
const BYTES_PER_WORD = 64;

/** Code points of a chunk's content that a hit shows. */
const SHOWN_CODE_POINTS = 200;

/** Estimated bytes of a string beside its characters, and of the reference to it. */
const STRING_BYTES = 32;

/**
 * Makes an index of a snapshot, in slices of some milliseconds: each `next()` does one and answers how many bytes of the
 * snapshot it read.
 *
 * @throws {SnapshotError}
 *
 * @example
 * ```ts
 * const building = buildIndex(bytes);
 * let slice = building.next();
 * while (!slice.done) slice = building.next();
 * slice.value.search("bm25", 5);
 * ```
 */
export function* buildIndex(snapshot: Uint8Array): Generator<number, MemoryIndex, void> {
  const builder = new IndexBuilder(snapshot.length);
  for (const { chunks, bytes } of readSnapshot(snapshot)) {
    for (const chunk of chunks) builder.add(chunk);
    yield bytes;
  }
  return builder.finish();
}

class IndexBuilder {
  readonly #words: Dictionary;
  readonly #encoder = new TextEncoder();
  readonly #ids: string[] = [];
  #idBytes = 0;
  #lengths = new Uint32Array(1_024);
  #shown: Uint8Array<ArrayBuffer>;
  #shownEnds = new Uint32Array(1_024);
  // Postings in the order of chunks: word and count. Where those of a chunk end stands in #postingEnds.
  #postings = 0;
  #postingWords: Uint32Array<ArrayBuffer>;
  #postingCounts: Uint32Array<ArrayBuffer>;
  #postingEnds = new Uint32Array(1_024);
  // Words on their way into the dictionary: where they stand in the text, and their hashes.
  readonly #froms = new Int32Array(WORDS_AT_ONCE);
  readonly #tos = new Int32Array(WORDS_AT_ONCE);
  readonly #hashes = new Int32Array(WORDS_AT_ONCE);

  /** @param snapshotBytes lets arrays begin at about the size that they will need: growing them costs more than filling them. */
  constructor(snapshotBytes: number) {
    this.#words = new Dictionary(snapshotBytes / BYTES_PER_WORD);
    this.#shown = new Uint8Array(1_024 + (snapshotBytes >> 1));
    this.#postingWords = new Uint32Array(1_024 + (snapshotBytes >> 3));
    this.#postingCounts = new Uint32Array(1_024 + (snapshotBytes >> 3));
  }

  add(chunk: SnapshotChunk): void {
    const number = this.#ids.length;
    if (number === this.#lengths.length) {
      this.#lengths = enlarged(this.#lengths, 0);
      this.#shownEnds = enlarged(this.#shownEnds, 0);
      this.#postingEnds = enlarged(this.#postingEnds, 0);
    }
    this.#ids.push(chunk.id);
    this.#idBytes += STRING_BYTES + 2 * chunk.id.length;
    this.#addShown(number, chunk);
    this.#addWords(number, chunk.texts);
    this.#requireRoom();
  }

  finish(): MemoryIndex {
    const chunks = this.#ids.length;
    const words = this.#words;
    words.trim();
    const firstPostings = new Uint32Array(words.size + 1);
    for (let word = 0; word < words.size; word++) {
      firstPostings[word + 1] = (firstPostings[word] as number) + words.get(word, CHUNKS);
    }
    const next = firstPostings.slice();
    const postingChunks = new Uint16Array(this.#postings);
    const postingCounts = new Uint32Array(this.#postings);
    const [byChunk, counts, ends] = [this.#postingWords, this.#postingCounts, this.#postingEnds];
    for (let chunk = 0, posting = 0; chunk < chunks; chunk++) {
      for (const end = ends[chunk] as number; posting < end; posting++) {
        const word = byChunk[posting] as number;
        const place = next[word] as number;
        next[word] = place + 1;
        postingChunks[place] = chunk;
        postingCounts[place] = counts[posting] as number;
      }
    }
    const lengths = this.#lengths.slice(0, chunks);
    const shownEnds = this.#shownEnds.slice(0, chunks);
    const shown = this.#shown.slice(0, shownEnds[chunks - 1] ?? 0);
    const arrays = [firstPostings, postingChunks, postingCounts, lengths, shownEnds, shown];
    const bytes = arrays.reduce((sum, { byteLength }) => sum + byteLength, words.bytes + this.#idBytes);
    const parts = {
      words,
      firstPostings,
      postingChunks,
      postingCounts,
      lengths,
      shown,
      shownEnds,
      ids: this.#ids,
      bytes,
    };
    return new MemoryIndex(parts);
  }

  #addShown(number: number, { concept, title, content }: SnapshotChunk): void {
    const text = JSON.stringify([concept, title, snippetOf(content)]);
    const begin = number === 0 ? 0 : (this.#shownEnds[number - 1] as number);
    // UTF-8 takes at most three bytes for a code unit.
    if (begin + 3 * text.length > this.#shown.length) {
      this.#shown = enlarged(this.#shown, begin + 3 * text.length);
    }
    const { written } = this.#encoder.encodeInto(text, this.#shown.subarray(begin));
    this.#shownEnds[number] = begin + written;
  }

  #addWords(number: number, texts: readonly string[]): void {
    const [froms, tos, hashes] = [this.#froms, this.#tos, this.#hashes];
    const begin = this.#postings;
    let length = 0;
    for (const text of texts) {
      this.#reservePostings(this.#postings + (text.length >> 1) + 1);
      let waiting = 0;
      let lower = "";
      eachToken(text, this.#words.seed, (lowered, from, to, hash) => {
        lower = lowered;
        froms[waiting] = from;
        tos[waiting] = to;
        hashes[waiting] = hash;
        waiting += 1;
        length += 1;
        if (waiting < WORDS_AT_ONCE) return;
        this.#addPostings(lower, waiting, begin);
        waiting = 0;
      });
      this.#addPostings(lower, waiting, begin);
    }
    this.#lengths[number] = length;
    this.#postingEnds[number] = this.#postings;
  }

  /** @param begin where the postings of the chunk begin: a word that has one from there on is counted up. */
  #addPostings(lower: string, count: number, begin: number): void {
    const words = this.#words;
    const [froms, tos, hashes] = [this.#froms, this.#tos, this.#hashes];
    const [postingWords, postingCounts] = [this.#postingWords, this.#postingCounts];
    let postings = this.#postings;
    words.touch(hashes, count);
    for (let n = 0; n < count; n++) {
      const word = words.intern(lower, froms[n] as number, tos[n] as number, hashes[n] as number);
      if (word < 0) continue;
      const latest = words.get(word, LATEST);
      const chunks = words.get(word, CHUNKS);
      if (chunks !== 0 && latest >= begin) {
        postingCounts[latest] = (postingCounts[latest] as number) + 1;
        continue;
      }
      words.set(word, LATEST, postings);
      words.set(word, CHUNKS, chunks + 1);
      postingWords[postings] = word;
      postingCounts[postings] = 1;
      postings += 1;
    }
    this.#postings = postings;
  }

  /** Between two words there is at least one other character. */
  #reservePostings(count: number): void {
    if (count <= this.#postingWords.length) return;
    this.#postingWords = enlarged(this.#postingWords, count);
    this.#postingCounts = enlarged(this.#postingCounts, count);
  }

  /** What the finished index would hold so far, roughly: six bytes a posting, and 16 a chunk for lengths, places and scores. */
  #requireRoom(): void {
    const chunks = this.#ids.length;
    const shown = this.#shownEnds[chunks - 1] as number;
    const bytes = this.#words.bytes + 4 * this.#words.size + 6 * this.#postings + 16 * chunks + shown + this.#idBytes;
    if (bytes <= MAX_INDEX_BYTES) return;
    throw new SnapshotError(
      "index_too_large",
      `The index of the snapshot would take more than ${MAX_INDEX_BYTES} bytes, the limit: it has too many different words.`,
    );
  }
}

function snippetOf(content: string): string {
  const head = content.slice(0, SHOWN_CODE_POINTS);
  // Without the first half of a pair every code unit is a code point.
  if (!/[\ud800-\udbff]/.test(head)) return head.length < content.length ? `${head}…` : content;
  let end = 0;
  for (let points = 0; points < SHOWN_CODE_POINTS && end < content.length; points++) {
    end += (content.codePointAt(end) as number) > 0xffff ? 2 : 1;
  }
  return end < content.length ? `${content.slice(0, end)}…` : content;
}
