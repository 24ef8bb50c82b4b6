import { queryOf, useAll, usePages, useQuery } from "../api/query.ts";
import type { Attestation, Health, Page, Usage } from "../api/types.ts";
import { Link } from "../router.tsx";
import { utcDay } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { Empty, Loaded, Moment, Screen, Section, State } from "../ui/parts.tsx";
import { Calls, Latency } from "../ui/plots.tsx";
import { PagedTable, Table } from "../ui/table.tsx";
import { count, number } from "../ui/words.ts";
import { useFilter } from "./filters.ts";
import { useOriginNames } from "./origin-names.ts";
import { type QueuedVersion, VersionOfOrigin } from "./review-queue.tsx";
import { errorsOf, Rest, SpanSelect, sinceHours, spanOf, usageColumns } from "./usage.tsx";

const EXPIRY_DAYS = 30;
const EXPIRING = `/attestations?state=in_force&expiring=${EXPIRY_DAYS}`;
const STATES = ["active", "pending", "suspended", "revoked"] as const;
const FILTER = { hours: "text" } as const;
const LIMITED = ["rate_limited", "quota_exhausted"];

/** How the gateway does, and what wants attention. */
export function OverviewScreen() {
  const { fields, set } = useFilter(FILTER);
  const hours = spanOf(fields.hours);
  const from = sinceHours(hours);
  const hourly = useAll<Usage>(`/usage${queryOf({ from, by: "hour" })}`, 800);
  const byOrigin = usePages<Usage>(`/usage${queryOf({ from, by: "origin" })}`);
  const health = useQuery<Health>("/health");
  const waiting = useQuery<Page<unknown>>("/skills?state=waiting&current=true&limit=100");
  const refused = useQuery<Page<QueuedVersion>>("/skills?state=rejected&current=true&limit=20");
  const expiring = useQuery<Page<Attestation>>(
    `/attestations${queryOf({ state: "in_force", sort: "expiry", expiresBefore: utcDay(EXPIRY_DAYS), limit: 20 })}`,
  );
  const { nameOf } = useOriginNames();
  const usage = hourly.data ?? [];
  const calls = usage.reduce((sum, row) => sum + row.calls, 0);
  const failed = usage.reduce((sum, row) => sum + errorsOf(row), 0);
  const limited = usage.reduce((sum, { errors }) => sum + LIMITED.reduce((n, kind) => n + (errors[kind] ?? 0), 0), 0);
  const states = health.data?.origins;
  const failing = health.data?.failing ?? [];
  const refusing = health.data?.refusing ?? [];
  const broken = refusing.reduce((sum, { rejected }) => sum + rejected, 0);
  return (
    <Screen title="Overview" actions={<SpanSelect hours={hours} onChoose={(span) => set("hours", span)} />}>
      <div class="figures">
        <Figure value={hourly.data && number(calls)} label="calls" />
        <Figure value={hourly.data && number(failed)} label="of them errors" />
        <Figure value={hourly.data && number(limited)} label="stopped by a limit" href="/clients" />
        <Figure value={states && number(states.active)} label="active origins" href="/origins" />
        <Figure value={waiting.data && more(waiting.data)} label="versions to review" href="/review" />
        <Figure value={health.data && number(broken)} label="skills refused" />
        <Figure
          value={expiring.data && more(expiring.data)}
          label={`attestations end in ${EXPIRY_DAYS} days`}
          href={EXPIRING}
        />
      </div>
      <Loaded query={hourly}>
        {(rows) => (
          <div class="columns">
            <Calls hourly={rows} from={from} />
            <Latency hourly={rows} from={from} />
          </div>
        )}
      </Loaded>
      <Section title="Origins by state">
        <Loaded query={health}>
          {() => (
            <>
              <ul class="states">
                {STATES.map((state) => (
                  <li key={state}>
                    <State of={state} /> {number(states?.[state] ?? 0)}
                  </li>
                ))}
              </ul>
              {failing.length === 0 ? (
                <p class="quiet">{readable(health.data)}</p>
              ) : (
                <Table
                  caption="Origins that cannot be read"
                  rows={failing}
                  keyOf={({ id }) => id}
                  columns={[
                    {
                      head: "Failing origin",
                      kind: "main",
                      cell: ({ id, origin }) => (
                        <Link href={`/origins/${id}/release`}>
                          <Visible text={origin} />
                        </Link>
                      ),
                    },
                    {
                      head: "Why",
                      kind: "wide",
                      cell: ({ failure }) =>
                        failure === null ? "Its hub does not answer." : <Visible text={failure.message} most={400} />,
                    },
                    {
                      head: "Served is what was read",
                      cell: ({ fetchedAt }) => <Moment at={fetchedAt} none="nothing" />,
                    },
                  ]}
                />
              )}
            </>
          )}
        </Loaded>
      </Section>
      <Section
        title="Refused skills"
        hint="What publishers offer and clients do not get: skills that break a rule, changed ones that are held back, and what an operator rejected."
      >
        <Loaded query={health}>
          {() =>
            refusing.length === 0 ? (
              <p class="quiet">No skill of the origins that were asked breaks a rule or is held back.</p>
            ) : (
              <Table
                caption="Origins with refused skills"
                rows={refusing}
                keyOf={({ id }) => id}
                columns={[
                  {
                    head: "Origin",
                    kind: "main",
                    cell: ({ id, origin }) => (
                      <Link href={`/origins/${id}/release`}>
                        <Visible text={origin} />
                      </Link>
                    ),
                  },
                  { head: "Refused", kind: "end", cell: ({ rejected }) => number(rejected) },
                  { head: "Held back", kind: "end", cell: ({ held }) => number(held) },
                ]}
              />
            )
          }
        </Loaded>
        <Loaded query={refused}>
          {({ items }) =>
            items.length === 0 ? null : (
              <Table
                caption="Versions that an operator rejected and that are still published"
                rows={items}
                keyOf={({ originId, scope, name, toolSha256 }) => JSON.stringify([originId, scope, name, toolSha256])}
                columns={[
                  {
                    head: "Rejected version",
                    kind: "main",
                    cell: (version) => <VersionOfOrigin of={version} />,
                  },
                  {
                    head: "Note",
                    kind: "wide",
                    cell: ({ note }) =>
                      note === null ? <span class="quiet">none</span> : <Visible text={note} most={300} />,
                  },
                  { head: "Rejected", cell: ({ rejectedAt }) => <Moment at={rejectedAt} /> },
                ]}
              />
            )
          }
        </Loaded>
      </Section>
      <Section title="Calls by origin">
        <PagedTable
          query={byOrigin}
          caption="Calls by origin"
          columns={usageColumns("origin", nameOf)}
          keyOf={({ originId }) => originId ?? ""}
          empty={<Empty title="Nothing was called in this span." />}
        />
        <Rest page={byOrigin.data} />
      </Section>
      <Section title={`Attestations that end within ${EXPIRY_DAYS} days`}>
        <Loaded query={expiring}>
          {({ items }) =>
            items.length === 0 ? (
              <p class="quiet">None.</p>
            ) : (
              <Table
                caption="Attestations that end soon"
                rows={items}
                keyOf={({ id }) => id}
                columns={[
                  {
                    head: "Skill",
                    kind: "main",
                    cell: ({ skill, origin }) => (
                      <>
                        <Link href={EXPIRING}>
                          <Visible text={skill} most={120} />
                        </Link>
                        <span class="under">
                          <Visible text={origin} most={160} />
                        </span>
                      </>
                    ),
                  },
                  { head: "Reviewer", cell: ({ attester }) => <Visible text={attester} most={100} /> },
                  { head: "Until", cell: ({ validUntil }) => validUntil },
                ]}
              />
            )
          }
        </Loaded>
      </Section>
    </Screen>
  );
}

/** What it means that none of the origins that were asked fails: others were not asked. */
function readable(health: Health | undefined): string {
  if (health === undefined) return "";
  const others = health.origins.active - health.asked;
  if (others <= 0) return "Every active origin could be read when it was last asked.";
  return `The ${count(health.asked, "active origin")} that were called last could be read when they were last asked; ${count(others, "other")} were not looked at here.`;
}

function more({ items, nextCursor }: Page<unknown>): string {
  return number(items.length) + (nextCursor === null ? "" : "+");
}

function Figure({
  value,
  label,
  href,
}: {
  readonly value: string | undefined;
  readonly label: string;
  readonly href?: string;
}) {
  const content = (
    <>
      <strong>{value ?? "–"}</strong>
      <span>{label}</span>
    </>
  );
  if (href === undefined) return <div class="figure">{content}</div>;
  return (
    <Link class="figure" href={href}>
      {content}
    </Link>
  );
}
