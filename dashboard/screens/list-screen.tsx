import type { ComponentChildren } from "preact";
import { usePages } from "../api/query.ts";
import { CurlOf } from "../ui/action.tsx";
import { SearchField, Select } from "../ui/form.tsx";
import { Empty, Screen } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { useFilter } from "./filters.ts";

const FILTER = { status: "text", q: "text" } as const;

/** A screen that lists rows of one kind by page, filtered by their status and, where the API seeks in them, by a text. */
export function ListScreen<Row extends { readonly id: string }>({
  title,
  lead,
  list,
  statuses,
  sought,
  columns,
  create,
  nothing,
  advice,
  children,
}: {
  readonly title: string;
  readonly lead: string;
  /** The list's path. */
  readonly list: string;
  readonly statuses: readonly string[];
  /** The label of the field for what is sought; left out: the API does not seek in these rows. */
  readonly sought?: string;
  readonly columns: readonly Column<Row>[];
  /** The button that makes a row. */
  readonly create: ComponentChildren;
  /** What is said, and advised, where there is no row at all. */
  readonly nothing: string;
  readonly advice?: string;
  readonly children?: ComponentChildren;
}) {
  const { fields, set, asked } = useFilter(FILTER);
  const path = list + asked;
  const query = usePages<Row>(path);
  const isFiltered = asked !== "";
  return (
    <Screen
      title={title}
      lead={lead}
      actions={
        <>
          <CurlOf path={path} />
          {create}
        </>
      }
    >
      <div class="filters">
        <Select
          label="Status"
          name="status"
          value={fields.status}
          onChange={(event) => set("status", event.currentTarget.value)}
          options={[["", "Any"], ...statuses.map((one) => [one, one.charAt(0).toUpperCase() + one.slice(1)] as const)]}
        />
        {sought !== undefined && <SearchField label={sought} value={fields.q} onSearch={(text) => set("q", text)} />}
      </div>
      <PagedTable
        query={query}
        caption={title}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? "Nothing fits the filter." : nothing}>
            {!isFiltered && advice !== undefined && <p>{advice}</p>}
          </Empty>
        }
      />
      {children}
    </Screen>
  );
}
