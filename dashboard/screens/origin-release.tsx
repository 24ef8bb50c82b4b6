import { usePages, useQuery } from "../api/query.ts";
import type { Discovery, Origin, Release, ReleaseRejection, ReleaseSkill } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Facts, Hash, Loaded, Moment, Section, State } from "../ui/parts.tsx";
import { type Column, PagedTable, Table } from "../ui/table.tsx";
import { publicName } from "../ui/words.ts";

const SKILLS: readonly Column<ReleaseSkill>[] = [
  {
    head: "Skill",
    kind: "main",
    cell: (skill) => (
      <>
        <Visible text={publicName(skill)} />
        {skill.description !== null && (
          <span class="under">
            <Visible text={skill.description} most={160} />
          </span>
        )}
      </>
    ),
  },
  { head: "Service", cell: ({ pinState }) => (pinState === undefined ? "" : <State of={pinState} />) },
  { head: "Verdict", cell: ({ verdict }) => <State of={verdict} /> },
  { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
];

const REJECTIONS: readonly Column<ReleaseRejection>[] = [
  { head: "Name", kind: "main", cell: (rejection) => <Visible text={publicName(rejection)} /> },
  { head: "Code", cell: ({ code }) => <code>{code}</code> },
  { head: "Why", kind: "wide", cell: ({ message }) => <Visible text={message} most={600} /> },
  {
    head: "Fetch",
    kind: "wide",
    cell: ({ fetch }) =>
      fetch === null || fetch === undefined ? (
        <span class="quiet">none</span>
      ) : (
        <>
          <code>
            <Visible text={fetch.url} most={200} />
          </code>
          {fetch.status !== null && <> · {fetch.status}</>}
        </>
      ),
  },
];

const DISCOVERIES: readonly Column<Discovery>[] = [
  { head: "When", kind: "main", cell: ({ at }) => <Moment at={at} /> },
  { head: "Outcome", cell: ({ outcome }) => <State of={outcome} /> },
  { head: "Code", cell: ({ code }) => (code === null ? <span class="quiet">none</span> : <code>{code}</code>) },
  { head: "Skills", kind: "end", cell: ({ skills }) => skills ?? "" },
  { head: "Rejected", kind: "end", cell: ({ rejected }) => rejected ?? "" },
];

/** What the origin's hub holds now, what it left out, and how its discoveries went. */
export function OriginRelease({ origin }: { readonly origin: Origin }) {
  const path = `/origins/${origin.id}/release`;
  const release = useQuery<Release>(path);
  const discoveries = usePages<Discovery>(`/origins/${origin.id}/releases`);
  return (
    <>
      <Section title="Current release" actions={<CurlOf path={path} />}>
        <Loaded query={release}>
          {({ fetchedAt, state, skills, rejected }) => (
            <>
              <div class="card">
                <Facts
                  items={[
                    ["State", <State of={state} />],
                    ["Confirmed with the origin", <Moment at={fetchedAt} />],
                    ["Skills", skills.length],
                    ["Rejected", rejected.length],
                  ]}
                />
              </div>
              {skills.length > 0 && (
                <Table
                  caption="Skills of the release"
                  columns={SKILLS}
                  rows={skills}
                  keyOf={({ scope, name, toolSha256 }) => JSON.stringify([scope, name, toolSha256])}
                />
              )}
              {rejected.length > 0 && (
                <>
                  <h3>Rejected</h3>
                  <Table
                    caption="What was rejected"
                    columns={REJECTIONS}
                    rows={rejected}
                    keyOf={(row) => JSON.stringify(row)}
                  />
                </>
              )}
            </>
          )}
        </Loaded>
      </Section>
      <Section title="Discoveries" hint="The last ones that the origin's hub ran.">
        <PagedTable
          query={discoveries}
          caption="Discoveries"
          columns={DISCOVERIES}
          keyOf={({ at }) => at}
          empty="The hub has run none yet."
        />
      </Section>
    </>
  );
}
