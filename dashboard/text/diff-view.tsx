import { useState } from "preact/hooks";
import type { SkillDiff } from "../api/types.ts";
import { Note } from "../ui/parts.tsx";
import { type DiffRow, type DiffSide, sideBySide } from "./diff.ts";
import { visibleParts } from "./visible.tsx";

const ROWS_SHOWN = 600;

/** Two versions beside each other. */
export function DiffView({ diff }: { readonly diff: SkillDiff }) {
  const [shown, show] = useState(ROWS_SHOWN);
  const hunks = diff.hunks.map(sideBySide);
  const total = hunks.reduce((sum, rows) => sum + rows.length, 0);
  let room = shown;
  if (total === 0) return <Note tone="quiet">The script is the same in both versions.</Note>;
  return (
    <div>
      {diff.replaced && (
        <Note tone="warn">The two differ in too many lines to be compared: the old one stands before the new one.</Note>
      )}
      {diff.linesBroken && (
        <Note tone="info">Very long lines were broken, so that line numbers are not those of the files.</Note>
      )}
      {diff.truncated && (
        <Note tone="warn">
          Only the first part of the difference is shown. Read the whole source before you decide.
        </Note>
      )}
      <div class="diff-frame" tabIndex={0} role="region" aria-label="Difference">
        <table class={diff.against === null ? "diff alone" : "diff"}>
          <caption class="unseen">
            {diff.against === null ? "All lines are new" : "Old lines on the left, new lines on the right"}
          </caption>
          <thead>
            <tr>
              <th scope="col">Line</th>
              <th scope="col">Approved</th>
              <th scope="col">Line</th>
              <th scope="col">This version</th>
            </tr>
          </thead>
          {hunks.map((rows, index) => {
            const part = rows.slice(0, Math.max(0, room));
            room -= rows.length;
            return (
              <tbody key={index}>
                {part.map((row, position) => (
                  <Row key={position} row={row} />
                ))}
              </tbody>
            );
          })}
        </table>
      </div>
      {total > shown && (
        <button type="button" class="button small" onClick={() => show(shown + ROWS_SHOWN)}>
          Show more: {total - shown} rows are left
        </button>
      )}
    </div>
  );
}

function Row({ row: { old, fresh } }: { readonly row: DiffRow }) {
  return (
    <tr>
      <Side side={old} kind="gone" sign="−" />
      <Side side={fresh} kind="came" sign="+" />
    </tr>
  );
}

function Side({ side, kind, sign }: { readonly side: DiffSide | null; readonly kind: string; readonly sign: string }) {
  if (side === null) {
    return (
      <>
        <td class="line-number" />
        <td class="no-line" />
      </>
    );
  }
  const { number, text, isChanged, from, to } = side;
  return (
    <>
      <td class="line-number">{number}</td>
      <td class={isChanged ? kind : undefined}>
        {isChanged && (
          <span class="sign">
            <span aria-hidden="true">{sign}</span>
            <span class="unseen">{kind === "gone" ? "removed " : "added "}</span>
          </span>
        )}
        {isChanged && to > from ? (
          <>
            {visibleParts(text.slice(0, from))}
            <mark>{visibleParts(text.slice(from, to))}</mark>
            {visibleParts(text.slice(to))}
          </>
        ) : (
          visibleParts(text)
        )}
      </td>
    </>
  );
}
