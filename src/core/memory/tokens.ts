/** A character of a word: `Alphabetic`, or a number of any kind (Nd, Nl, No). */
const WORD = /[\p{Alphabetic}\p{N}]/u;

const UNKNOWN = 0;
const IN_WORD = 1;
const BETWEEN = 2;

/** What is known of each UTF-16 code unit. The platform's Unicode tables are asked once for each. */
const known = new Uint8Array(0x10000);

/** Numbers that make the hashes of one dictionary: random, so that nobody can choose words that collide. */
export interface HashSeed {
  readonly start: number;
  /** Odd. */
  readonly factor: number;
}

export function newHashSeed(): HashSeed {
  const random = () => Math.floor(Math.random() * 2 ** 32);
  return { start: random() | 0, factor: (0x9e3779b1 ^ (random() & 0x7ffffffe)) | 0 };
}

/** `from` inclusive, `to` exclusive, in UTF-16 code units of `text`, which is in lower case. */
export type VisitToken = (text: string, from: number, to: number, hash: number) => void;

/**
 * Visits the words of a text as `minimemory-okf-v1` has them: the whole text is put into lower case first, by the full rules
 * of Unicode; whatever is neither alphabetic nor a number separates; words of a single byte of UTF-8 are left out. There are
 * no stop words, no stems, and runs of ideographs stay whole.
 */
export function eachToken(original: string, seed: HashSeed, visit: VisitToken): void {
  const text = original.toLowerCase();
  const { length } = text;
  const { start: firstHash, factor } = seed;
  let from = -1;
  let hash = firstHash;
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    let units = 1;
    let kind = known[unit];
    if (kind === UNKNOWN) {
      if ((unit & 0xf800) === 0xd800) {
        const point = text.codePointAt(at) as number;
        if (point > 0xffff) units = 2;
        kind = point > 0xffff && WORD.test(String.fromCodePoint(point)) ? IN_WORD : BETWEEN;
      } else {
        kind = known[unit] = WORD.test(String.fromCharCode(unit)) ? IN_WORD : BETWEEN;
      }
    }
    if (kind === IN_WORD) {
      if (from < 0) {
        from = at;
        hash = firstHash;
      }
      hash = Math.imul(hash ^ unit, factor);
      hash ^= hash >>> 15;
      if (units === 2) {
        at += 1;
        hash = Math.imul(hash ^ text.charCodeAt(at), factor);
        hash ^= hash >>> 15;
      }
    } else if (from >= 0) {
      if (isKept(text, from, at)) visit(text, from, at, hash);
      from = -1;
    }
  }
  if (from >= 0 && isKept(text, from, length)) visit(text, from, length, hash);
}

function isKept(text: string, from: number, to: number): boolean {
  return to - from > 1 || text.charCodeAt(from) >= 0x80;
}
