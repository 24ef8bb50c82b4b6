import { structuredPatch } from "diff";

/** Longer lines, as minifiers write them, are broken after `;`, `{`, `}` and `,` before they are compared. */
export const MAX_LINE_CHARS = 1_000;
/** Of either side, once what both begin and end with is left out. */
export const MAX_COMPARED_LINES = 50_000;
/** Lines that are gone and lines that are new, together; past it the search for the shortest difference ends. */
export const MAX_CHANGED_LINES = 1_500;
/** Lines shown. */
export const MAX_SHOWN_LINES = 5_000;
const CONTEXT_LINES = 3;

export interface SourceDiff {
  /** Whether lines were broken, so that line numbers are not those of the files. */
  readonly linesBroken: boolean;
  /** Whether the sources differ by too much to be compared: then all lines of the old one stand before all of the new one. */
  readonly replaced: boolean;
  /** Whether lines were left out past the bound. */
  readonly truncated: boolean;
  readonly hunks: readonly Hunk[];
}

/** As in a unified diff: each line begins with a space (in both), `-` (gone) or `+` (new). */
export interface Hunk {
  /** Positions in `lines` of pieces of broken lines after which the line goes on: no line feed follows them in the file. */
  readonly continued: readonly number[];
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/** A line of a file, or a piece of one. */
interface Line {
  readonly text: string;
  /** Whether the file's line goes on in the next piece. */
  readonly continued: boolean;
}

/**
 * Compares two sources line by line, in bounded time and memory whatever they hold: at most 1,500 changed lines are looked for among
 * 50,000, comparing numbers that stand for lines. Two sources that differ have a hunk: a piece whose line goes on equals no whole line,
 * so that a source can be put together again from its lines.
 */
export function diffSources(before: string, after: string): SourceDiff {
  const old = linesOf(before);
  const fresh = linesOf(after);
  const known: Line[] = [];
  const ids = { whole: new Map<string, number>(), continued: new Map<string, number>() };
  const idOf = (line: Line) => {
    const sameKind = line.continued ? ids.continued : ids.whole;
    const id = sameKind.get(line.text);
    if (id !== undefined) return id;
    sameKind.set(line.text, known.length);
    return known.push(line) - 1;
  };
  const left = old.map(idOf);
  const right = fresh.map(idOf);
  const start = Math.max(0, sharedStart(left, right) - CONTEXT_LINES);
  const end = Math.max(0, sharedEnd(left, right, start) - CONTEXT_LINES);
  const leftMiddle = left.slice(start, left.length - end);
  const rightMiddle = right.slice(start, right.length - end);
  const hunks = patch(leftMiddle, rightMiddle)?.map((hunk) => {
    const lines = hunk.lines.map((line) => ({ sign: line.charAt(0), line: known[Number(line.slice(1))] ?? NO_LINE }));
    return { ...hunk, oldStart: hunk.oldStart + start, newStart: hunk.newStart + start, ...shownLines(lines) };
  });
  return {
    linesBroken: known.some(({ continued }) => continued),
    replaced: hunks === undefined,
    ...shown(hunks ?? [wholly(old, fresh)]),
  };
}

const NO_LINE: Line = { text: "", continued: false };

function shownLines(lines: readonly { readonly sign: string; readonly line: Line }[]) {
  return {
    lines: lines.map(({ sign, line }) => sign + line.text),
    continued: lines.flatMap(({ line }, position) => (line.continued ? [position] : [])),
  };
}

function patch(left: readonly number[], right: readonly number[]) {
  if (left.length > MAX_COMPARED_LINES || right.length > MAX_COMPARED_LINES) return undefined;
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_CHANGED_LINES };
  return structuredPatch("", "", toText(left), toText(right), "", "", options)?.hunks;
}

function toText(ids: readonly number[]): string {
  return ids.map((id) => `${id}\n`).join("");
}

function wholly(old: readonly Line[], fresh: readonly Line[]): Hunk {
  return {
    oldStart: 1,
    oldLines: old.length,
    newStart: 1,
    newLines: fresh.length,
    ...shownLines([...old.map((line) => ({ sign: "-", line })), ...fresh.map((line) => ({ sign: "+", line }))]),
  };
}

function shown(hunks: readonly Hunk[]): Pick<SourceDiff, "hunks" | "truncated"> {
  const kept: Hunk[] = [];
  let room = MAX_SHOWN_LINES;
  for (const hunk of hunks) {
    const most = room;
    const continued = hunk.continued.filter((position) => position < most);
    if (most > 0) kept.push({ ...hunk, lines: hunk.lines.slice(0, most), continued });
    room -= hunk.lines.length;
  }
  return { hunks: kept, truncated: room < 0 };
}

/** Text without any line has none; a last line that ends in a line feed is told from one that does not by an empty line after it. */
function linesOf(text: string): readonly Line[] {
  return text === ""
    ? []
    : text.split("\n").flatMap((line) => (line.length > MAX_LINE_CHARS ? broken(line) : [whole(line)]));
}

function whole(text: string): Line {
  return { text, continued: false };
}

function broken(line: string): readonly Line[] {
  const pieces = line.match(/[^;{},]{0,999}[;{},]|[^;{},]{1,1000}/g) ?? [line];
  return pieces.map((text, position) => ({ text, continued: position < pieces.length - 1 }));
}

function sharedStart(left: readonly number[], right: readonly number[]): number {
  let count = 0;
  while (count < left.length && count < right.length && left[count] === right[count]) count += 1;
  return count;
}

/** Of what comes after `start`. */
function sharedEnd(left: readonly number[], right: readonly number[], start: number): number {
  const most = Math.min(left.length, right.length) - start;
  let count = 0;
  while (count < most && left[left.length - 1 - count] === right[right.length - 1 - count]) count += 1;
  return count;
}
