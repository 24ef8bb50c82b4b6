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
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/**
 * Compares two sources line by line, in bounded time and memory whatever they hold: at most 1,500 changed lines are looked for among
 * 50,000, comparing numbers that stand for lines.
 */
export function diffSources(before: string, after: string): SourceDiff {
  const old = linesOf(before);
  const fresh = linesOf(after);
  const ids = new Map<string, number>();
  const idOf = (line: string) => {
    const id = ids.get(line) ?? ids.size;
    ids.set(line, id);
    return id;
  };
  const left = old.map(idOf);
  const right = fresh.map(idOf);
  const start = Math.max(0, sharedStart(left, right) - CONTEXT_LINES);
  const end = Math.max(0, sharedEnd(left, right, start) - CONTEXT_LINES);
  const leftMiddle = left.slice(start, left.length - end);
  const rightMiddle = right.slice(start, right.length - end);
  const texts = [...ids.keys()];
  const hunks = patch(leftMiddle, rightMiddle)?.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + start,
    newStart: hunk.newStart + start,
    lines: hunk.lines.map((line) => line.charAt(0) + (texts[Number(line.slice(1))] ?? "")),
  }));
  const linesBroken = [before, after].some((text) => text.split("\n").some((line) => line.length > MAX_LINE_CHARS));
  return {
    linesBroken,
    replaced: hunks === undefined,
    ...shown(hunks ?? [wholly(old, fresh)]),
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

function wholly(old: readonly string[], fresh: readonly string[]): Hunk {
  return {
    oldStart: 1,
    oldLines: old.length,
    newStart: 1,
    newLines: fresh.length,
    lines: [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)],
  };
}

function shown(hunks: readonly Hunk[]): Pick<SourceDiff, "hunks" | "truncated"> {
  const kept: Hunk[] = [];
  let room = MAX_SHOWN_LINES;
  for (const hunk of hunks) {
    if (room > 0) kept.push({ ...hunk, lines: hunk.lines.slice(0, room) });
    room -= hunk.lines.length;
  }
  return { hunks: kept, truncated: room < 0 };
}

/** Text without any line has none; a last line that ends in a line feed is told from one that does not by an empty line after it. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split("\n").flatMap((line) => (line.length > MAX_LINE_CHARS ? broken(line) : [line]));
}

function broken(line: string): readonly string[] {
  return line.match(/[^;{},]{0,999}[;{},]|[^;{},]{1,1000}/g) ?? [line];
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
