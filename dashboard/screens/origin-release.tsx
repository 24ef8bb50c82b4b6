import { usePages, useQuery } from "../api/query.ts";
import type { Discovery, Origin, Release, ReleaseSkill } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Facts, Hash, Loaded, Moment, Note, Section, State } from "../ui/parts.tsx";
import { type Column, PagedTable, Table } from "../ui/table.tsx";
import { number } from "../ui/words.ts";
import { REJECTION_COLUMNS } from "./probe-result.tsx";

const SKILLS: readonly Column<ReleaseSkill>[] = [
  {
    head: "Skill",
    kind: "main",
    cell: ({ publicName, description }) => (
      <>
        <Visible text={publicName} />
        <span class="under">
          <Visible text={description} most={160} />
        </span>
      </>
    ),
  },
  {
    head: "Service",
    cell: ({ pinState, message }) => (
      <>
        <State of={pinState} />
        {message !== null && (
          <p class="hint">
            <Visible text={message} most={300} />
          </p>
        )}
      </>
    ),
  },
  { head: "Verdict", cell: ({ verdict }) => <State of={verdict} /> },
  {
    head: "Fetches",
    kind: "wide",
    cell: ({ fetches: { paths, complete } }) =>
      paths.length === 0 && complete ? (
        <span class="quiet">nothing that it names</span>
      ) : (
        <Visible text={[...paths, ...(complete ? [] : ["others, which the code makes up"])].join(", ")} most={300} />
      ),
  },
  { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
];

const DISCOVERIES: readonly Column<Discovery>[] = [
  {
    head: "Outcome",
    kind: "main",
    cell: ({ outcome, message }) => (
      <>
        <State of={outcome === "release" ? "ok" : "failing"} />
        {message !== null && (
          <span class="under">
            <Visible text={message} most={300} />
          </span>
        )}
      </>
    ),
  },
  { head: "Last", cell: ({ at }) => <Moment at={at} /> },
  { head: "First", cell: ({ firstAt }) => <Moment at={firstAt} /> },
  { head: "Times", kind: "end", cell: ({ times }) => number(times) },
  { head: "Skills", kind: "end", cell: ({ skills }) => skills ?? "" },
  { head: "Held", kind: "end", cell: ({ held }) => held ?? "" },
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
          {({ fetchedAt, state, failure, skills, rejected }) => (
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
              {failure !== null && (
                <Note tone="bad">
                  <p>
                    The last discovery failed <Moment at={failure.at} />: <Visible text={failure.message} most={600} />{" "}
                    <code>{failure.code}</code>
                  </p>
                </Note>
              )}
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
                    columns={REJECTION_COLUMNS}
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
          keyOf={({ firstAt, at }) => `${firstAt} ${at}`}
          empty="The hub has run none yet."
        />
      </Section>
    </>
  );
}
