import { useState } from "preact/hooks";
import { queryOf, useAll, usePages } from "../api/query.ts";
import type { Page, Usage } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Select } from "../ui/form.tsx";
import { Empty, Loaded, Section } from "../ui/parts.tsx";
import { Calls, Latency } from "../ui/plots.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { milliseconds, number, phrase } from "../ui/words.ts";
import { useOriginNames } from "./origin-names.ts";

const HOUR_MS = 3_600_000;

/** The span from so many hours ago, its begin on a full hour so that the address stays the same for an hour. */
export function sinceHours(hours: number, now = Date.now()): number {
  return Math.floor(now / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS;
}

export const errorsOf = ({ errors }: Usage) => Object.values(errors).reduce((sum, n) => sum + n, 0);

type By = "client" | "origin" | "tool";

/** What was called in a span, over time and by one of its dimensions. */
export function UsageOf({
  client,
  origin,
  by,
}: {
  readonly client?: string;
  readonly origin?: string;
  readonly by: By;
}) {
  const [hours, setHours] = useState("24");
  const filter = { from: sinceHours(Number(hours)), client, origin };
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
            label="Span"
            name="hours"
            value={hours}
            onChange={(event) => setHours(event.currentTarget.value)}
            options={[
              ["24", "Last 24 hours"],
              ["168", "Last 7 days"],
              ["720", "Last 30 days"],
            ]}
          />
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

export function usageColumns(by: By, nameOf: (id: string) => string): readonly Column<Usage>[] {
  const heads = { client: "Client", origin: "Origin", tool: "Tool" } as const;
  return [
    {
      head: heads[by],
      kind: "main",
      cell: ({ clientId, originId, tool }) => (
        <Visible text={(by === "tool" ? tool : nameOf((by === "client" ? clientId : originId) ?? "")) || "not known"} />
      ),
    },
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
