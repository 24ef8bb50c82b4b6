import type { Block, Section } from "./sections.ts";

/** Characters (code points) of a chunk. Only a block that must stay whole, such as a code block, makes a longer one. */
export const MOST_CHARACTERS = 1_200;
/** A shorter chunk joins its neighbour, unless it is all that its document has. */
export const LEAST_CHARACTERS = 60;

const BETWEEN_BLOCKS = "\n\n";

export interface Chunk {
  /** Of the section that it begins in; `null` before the first heading. */
  readonly heading: string | null;
  /** Markdown. */
  readonly content: string;
}

/**
 * Packs the blocks of a document into chunks, in order. A chunk never reaches over a heading, except that what is shorter than
 * {@link LEAST_CHARACTERS} joins its neighbour, its own heading then being part of the text. A block longer than a chunk is parted
 * between items, rows, sentences or words; code blocks and quotes are never parted.
 */
export function cutChunks(sections: readonly Section[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  for (const { heading, headingSource, blocks } of sections) {
    const pieces = pack(blocks.flatMap(partBlock));
    const last = chunks.at(-1);
    const [first = ""] = pieces;
    // Only the first chunk of a document may still be too short: then the section after it joins it.
    const joins = last !== undefined && pieces.length > 0 && (isShort(last.content) || isShort(first));
    if (joins) {
      chunks[chunks.length - 1] = { ...last, content: joined(last.content, headingSource, first) };
      pieces.shift();
    }
    chunks.push(...pieces.map((content) => ({ heading, content })));
  }
  return chunks.filter(({ content }) => /[\p{Alphabetic}\p{N}]/u.test(content));
}

function isShort(content: string): boolean {
  return lengthOf(content) < LEAST_CHARACTERS;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(BETWEEN_BLOCKS);
}

function pack(blocks: readonly string[]): string[] {
  return gather(blocks, BETWEEN_BLOCKS, MOST_CHARACTERS);
}

function partBlock(block: Block): string[] {
  const { kind, source, parts, head } = block;
  if (kind === "whole" || lengthOf(source) <= MOST_CHARACTERS) return [source];
  if (kind === "text") return partText(source);
  const room = MOST_CHARACTERS - lengthOf(head);
  const pieces = kind === "table" ? parts : parts.flatMap((part) => (isPartable(part) ? partText(part) : [part]));
  return gather(pieces, "\n", room).map((piece) => `${head}${piece}`);
}

/** An item of a list with code or a quote in it stays whole. */
function isPartable(item: string): boolean {
  return lengthOf(item) > MOST_CHARACTERS && !/^\s*(?:[-*+]|\d+[.)])?\s*(?:```|~~~|>)/m.test(item);
}

/** Parts text after sentences, and sentences that are too long after words. */
function partText(text: string): string[] {
  const sentences = text.split(/(?<=[.!?…]["')\]*_`]*)\s+|(?<=[。！？])/u);
  return gather(
    sentences.flatMap((sentence) => (lengthOf(sentence) > MOST_CHARACTERS ? partWords(sentence) : [sentence])),
    " ",
    MOST_CHARACTERS,
  );
}

function partWords(sentence: string): string[] {
  const words = sentence.split(/\s+/).flatMap((word) => {
    const points = [...word];
    const count = Math.ceil(points.length / MOST_CHARACTERS);
    return Array.from({ length: count }, (_, n) =>
      points.slice(n * MOST_CHARACTERS, (n + 1) * MOST_CHARACTERS).join(""),
    );
  });
  return gather(words, " ", MOST_CHARACTERS);
}

/** Pieces in order, put together as long as they fit into `room`; what is too short to stand alone joins the one beside it. */
function gather(pieces: readonly string[], separator: string, room: number): string[] {
  const gathered: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    const own = lengthOf(piece);
    if (gathered.length > 0 && (length + separator.length + own <= room || length < LEAST_CHARACTERS)) {
      gathered[gathered.length - 1] += separator + piece;
      length += separator.length + own;
    } else {
      gathered.push(piece);
      length = own;
    }
  }
  const tail = gathered.at(-1) ?? "";
  if (gathered.length > 1 && isShort(tail)) gathered.splice(-2, 2, `${gathered.at(-2)}${separator}${tail}`);
  return gathered;
}

/** Code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
