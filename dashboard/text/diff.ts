import type { DiffHunk } from "../api/types.ts";

/** One row of two columns; null: the side has no line there. */
export interface DiffRow {
  readonly old: DiffSide | null;
  readonly fresh: DiffSide | null;
}

export interface DiffSide {
  readonly number: number;
  readonly text: string;
  readonly isChanged: boolean;
  /** Where the two lines of a row begin and cease to differ, in characters. */
  readonly from: number;
  readonly to: number;
}

/** Lines that went and lines that came, side by side in the order in which they stand. */
export function sideBySide(hunk: DiffHunk): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let oldNumber = hunk.oldStart;
  let freshNumber = hunk.newStart;
  let gone: string[] = [];
  let came: string[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(gone.length, came.length); index++) {
      rows.push(changedRow(gone[index], came[index], oldNumber, freshNumber));
      if (index < gone.length) oldNumber++;
      if (index < came.length) freshNumber++;
    }
    gone = [];
    came = [];
  };
  for (const line of hunk.lines) {
    const text = line.slice(1);
    if (line.startsWith("-")) gone.push(text);
    else if (line.startsWith("+")) came.push(text);
    else {
      flush();
      const same = { text, isChanged: false, from: 0, to: 0 };
      rows.push({ old: { number: oldNumber++, ...same }, fresh: { number: freshNumber++, ...same } });
    }
  }
  flush();
  return rows;
}

function changedRow(
  gone: string | undefined,
  came: string | undefined,
  oldNumber: number,
  freshNumber: number,
): DiffRow {
  if (gone === undefined || came === undefined) {
    const side = (text: string | undefined, number: number) =>
      text === undefined ? null : { number, text, isChanged: true, from: 0, to: 0 };
    return { old: side(gone, oldNumber), fresh: side(came, freshNumber) };
  }
  let start = 0;
  while (start < gone.length && start < came.length && gone[start] === came[start]) start++;
  let end = 0;
  while (end < gone.length - start && end < came.length - start && gone.at(-1 - end) === came.at(-1 - end)) end++;
  const side = (text: string, number: number) => ({
    number,
    text,
    isChanged: true,
    from: start,
    to: text.length - end,
  });
  return { old: side(gone, oldNumber), fresh: side(came, freshNumber) };
}
