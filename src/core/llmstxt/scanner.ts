/**
 * Reads hostile text by position and counts every character it looks at, so that a test can prove the parser linear.
 * Ranges are half-open: `end` is the first position not looked at.
 */
export class Scanner {
  readonly text: string;
  /** Characters looked at so far. */
  steps = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The first position in the range that holds no white space, or `end`. */
  skipSpace(from: number, end: number): number {
    let position = from;
    while (position < end && this.isSpaceAt(position)) position += 1;
    return position;
  }

  /** The end of the range without its trailing white space, at least `start`. */
  trimEnd(start: number, end: number): number {
    let position = end;
    while (position > start && this.isSpaceAt(position - 1)) position -= 1;
    return position;
  }

  isSpaceAt(position: number): boolean {
    this.steps += 1;
    return isSpace(this.text.charCodeAt(position));
  }

  /** The position of the first `character` in the range, or -1. */
  find(character: string, from: number, end: number): number {
    for (let position = from; position < end; position += 1) {
      this.steps += 1;
      if (this.text[position] === character) return position;
    }
    return -1;
  }

  /** The position behind `word` where it stands at `from` inside the range, or -1. */
  after(word: string, from: number, end: number): number {
    this.steps += 1;
    if (from + word.length > end || !this.text.startsWith(word, from)) return -1;
    this.steps += word.length;
    return from + word.length;
  }

  slice(start: number, end: number): string {
    this.steps += Math.max(0, end - start);
    return this.text.slice(start, end);
  }
}

/** What `\s` and `String.prototype.trim` call white space, the byte order mark included. */
function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  if (code < 0xa0) return false;
  return (
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000 ||
    code === 0xfeff
  );
}
