import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PagedQuery } from "../api/query.ts";
import { Empty, Loading, ProblemNote } from "./parts.tsx";
import { number } from "./words.ts";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `main`: what names the row; `end`: numbers; `wide`: sentences, which break anywhere. */
  readonly kind?: "main" | "end" | "wide" | "actions";
}

/** A table; on a phone each row is a card. Roles are said, since the cards' layout would take them away. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  /** What the table lists, for those who do not see it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
}) {
  return (
    <div class="table-frame">
      <table role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, kind }) => (
              <th key={head} role="columnheader" scope="col" class={kind}>
                {kind === "actions" ? <span class="unseen">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row">
              {columns.map(({ head, kind, cell }) => (
                <td key={head} role="cell" class={kind} data-head={kind === "main" || kind === "actions" ? "" : head}>
                  {kind === "main" || kind === "actions" ? cell(row) : <div class="cell">{cell(row)}</div>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const SHOWN_ROWS = 100;

/** A table of rows that are all here already: so many of them until somebody asks for more. */
export function LongTable<Row>({ rows, ...table }: Parameters<typeof Table<Row>>[0]) {
  const [shown, show] = useState(SHOWN_ROWS);
  const left = rows.length - shown;
  return (
    <>
      <Table {...table} rows={rows.slice(0, shown)} />
      {left > 0 && (
        <button type="button" class="button small" onClick={() => show(shown + 10 * SHOWN_ROWS)}>
          Show more: {number(left)} rows are left
        </button>
      )}
    </>
  );
}

/** A page of a list with what leads to the others. */
export function PagedTable<Row>({
  query,
  empty,
  caption,
  columns,
  keyOf,
}: {
  readonly query: PagedQuery<Row>;
  readonly empty: ComponentChildren;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string | number;
}) {
  const { data, problem, reload, isLoading, page, next, previous } = query;
  if (data === undefined) return problem === undefined ? <Loading /> : <ProblemNote problem={problem} retry={reload} />;
  return (
    <div aria-busy={isLoading}>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {data.items.length === 0 ? (
        typeof empty === "string" ? (
          <Empty title={empty} />
        ) : (
          empty
        )
      ) : (
        <Table caption={caption} columns={columns} rows={data.items} keyOf={keyOf} />
      )}
      {(next !== null || previous !== null) && (
        <nav class="pager" aria-label={`Pages of ${caption.toLowerCase()}`}>
          <button type="button" class="button small" disabled={previous === null} onClick={previous ?? undefined}>
            ← Previous
          </button>
          <span aria-live="polite">Page {page}</span>
          <button type="button" class="button small" disabled={next === null} onClick={next ?? undefined}>
            Next →
          </button>
        </nav>
      )}
    </div>
  );
}
