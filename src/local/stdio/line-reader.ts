/** A line without its end, or one that was longer than allowed and was thrown away. */
export type Line = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false };

const LINE_FEED = 0x0a;

/** Cuts a stream of bytes into lines of at most `maximum` bytes; of a longer one nothing is kept, however long it is. */
export class LineReader {
  readonly #maximum: number;
  readonly #take: (line: Line) => void;
  #parts: Uint8Array[] = [];
  #length = 0;
  #isTooLong = false;

  constructor(maximum: number, take: (line: Line) => void) {
    this.#maximum = maximum;
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    let begin = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, begin)) {
      this.#keep(chunk.subarray(begin, end));
      this.end();
      begin = end + 1;
    }
    if (begin < chunk.length) this.#keep(chunk.subarray(begin));
  }

  /** Takes what there is for a line, also where its end never came. */
  end(): void {
    const parts = this.#parts;
    const line: Line = this.#isTooLong ? { ok: false } : { ok: true, bytes: joined(parts, this.#length) };
    this.#parts = [];
    this.#length = 0;
    this.#isTooLong = false;
    this.#take(line);
  }

  #keep(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.#maximum) {
      this.#isTooLong = true;
      this.#parts = [];
    } else if (!this.#isTooLong && part.length > 0) this.#parts.push(part);
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
