import { HOUR_MS } from "../../src/core/durations.ts";
import { queryOf, useAll, usePages } from "../api/query.ts";
import type { Page, Usage } from "../api/types.ts";
import { Link } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Select } from "../ui/form.tsx";
import { Empty, Loaded, Section } from "../ui/parts.tsx";
import { Calls, Latency } from "../ui/plots.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { milliseconds, number, phrase } from "../ui/words.ts";
import { useFilter } from "./filters.ts";
import { useOriginNames } from "./origin-names.ts";

/** The span from so many hours ago, its begin on a full hour so that the address stays the same for an hour. */
export function sinceHours(hours: number, now = Date.now()): number {
  return Math.floor(now / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS;
}

export const errorsOf = ({ errors }: Usage) => Object.values(errors).reduce((sum, n) => sum + n, 0);

export type UsageBy = "client" | "origin" | "tool";

/** Spans that usage is shown of, in hours. */
const SPANS = [
  ["24", "Last 24 hours"],
  ["168", "Last 7 days"],
  ["720", "Last 30 days"],
] as const;

/** The span that an address names, in hours; the shortest where it names none of them. */
export function spanOf(hours: string): number {
  return Number((SPANS.find(([span]) => span === hours) ?? SPANS[0])[0]);
}

export function SpanSelect({
  hours,
  onChoose,
}: {
  readonly hours: number;
  readonly onChoose: (hours: string) => void;
}) {
  return (
    <Select
      label="Span"
      name="hours"
      value={String(hours)}
      onChange={(event) => onChoose(event.currentTarget.value)}
      options={SPANS}
    />
  );
}

const FILTER = { hours: "text", by: "text" } as const;

/** What a client called, or what was called of an origin, in a span: over time, and by the chosen one of its dimensions. */
export function UsageOf({
  client,
  origin,
  by: offered,
}: {
  readonly client?: string;
  readonly origin?: string;
  readonly by: readonly [UsageBy, ...UsageBy[]];
}) {
  const { fields, set } = useFilter(FILTER);
  const hours = spanOf(fields.hours);
  const by = offered.find((one) => one === fields.by) ?? offered[0];
  const filter = { from: sinceHours(hours), client, origin };
  const overTime = useAll<Usage>(`/usage${queryOf({ ...filter, by: "hour" })}`, 800);
  const path = `/usage${queryOf({ ...filter, by })}`;
  const query = usePages<Usage>(path, 200);
  const { nameOf } = useOriginNames();
  return (
    <Section
      title="Usage"
      actions={
        <>
          <Select
            label="By"
            name="by"
            value={by}
            onChange={(event) => set("by", event.currentTarget.value)}
            options={offered.map((one) => [one, HEADS[one]])}
          />
          <SpanSelect hours={hours} onChoose={(span) => set("hours", span)} />
          <CurlOf path={path} />
        </>
      }
    >
      <Loaded query={overTime}>
        {(hourly) => (
          <div class="columns">
            <Calls hourly={hourly} from={filter.from} />
            <Latency hourly={hourly} from={filter.from} />
          </div>
        )}
      </Loaded>
      <PagedTable
        query={query}
        caption={`Usage by ${by}`}
        columns={usageColumns(by, nameOf)}
        keyOf={(row) => `${row.clientId ?? ""} ${row.originId ?? ""} ${row.tool ?? ""}`}
        empty={<Empty title="Nothing was called in this span." />}
      />
      <Rest page={query.data} />
    </Section>
  );
}

/** What a list of those with most calls leaves out. */
export function Rest({ page }: { readonly page: Page<Usage> | undefined }) {
  if (!page?.rest) return null;
  const { groups, calls } = page.rest;
  return <p class="quiet">{`And ${number(groups)} more, with ${number(calls)} calls together.`}</p>;
}

type NameOf = (id: string) => string;

const HEADS = { client: "Client", origin: "Origin", tool: "Tool" } as const;

export function usageColumns(by: UsageBy, nameOf: NameOf): readonly Column<Usage>[] {
  return [
    { head: HEADS[by], kind: "main", cell: (row) => <Called by={by} row={row} nameOf={nameOf} /> },
    { head: "Calls", kind: "end", cell: ({ calls }) => number(calls) },
    {
      head: "Errors",
      cell: ({ errors }) => {
        const kinds = Object.entries(errors);
        return kinds.length === 0 ? (
          <span class="quiet">none</span>
        ) : (
          kinds.map(([kind, n]) => `${phrase(kind)} ${number(n)}`).join(", ")
        );
      },
    },
    { head: "p50", kind: "end", cell: ({ p50Ms }) => milliseconds(p50Ms) },
    { head: "p95", kind: "end", cell: ({ p95Ms }) => milliseconds(p95Ms) },
  ];
}

/** Who called, or what was called; empty: it was refused before that was known. */
function Called({ by, row, nameOf }: { readonly by: UsageBy; readonly row: Usage; readonly nameOf: NameOf }) {
  const { clientId, originId, tool } = row;
  const originName = originId ? <Visible text={nameOf(originId)} most={200} /> : "not known";
  if (by === "client") return clientId ? <Link href={`/clients/${clientId}`}>{clientId}</Link> : <>not known</>;
  if (by === "origin") return originId ? <Link href={`/origins/${originId}`}>{originName}</Link> : <>not known</>;
  return (
    <>
      {tool ? <Visible text={tool} most={128} /> : "not known"}
      <span class="under">{originName}</span>
    </>
  );
}
