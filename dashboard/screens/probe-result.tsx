import type { Because, Origin, Probe, ProbedSkill, Rejection, StrayAttestation } from "../api/types.ts";
import { Link } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { Badge, Hash, Moment, Note, State, VersionState } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { count, phrase, publicName } from "../ui/words.ts";
import { reviewPath } from "./origin.tsx";

/** What a probe found, and what it left out. */
export function ProbeResult({ origin, probe }: { readonly origin: Origin; readonly probe: Probe }) {
  return (
    <>
      {probe.error !== null && (
        <Note tone="bad">
          <p>
            <Visible text={probe.error.message} />
          </p>
          <p class="quiet">
            <code>{probe.error.code}</code>
          </p>
        </Note>
      )}
      {probe.error === null && (
        <p>
          Read <Moment at={probe.fetchedAt} />: {count(probe.skills.length, "skill")},{" "}
          {count(probe.memories.length, "memory", "memories")}, {count(probe.attestations, "attestation")} of its own,{" "}
          {count(probe.rejected.length, "rejection")}.
        </p>
      )}
      {probe.index !== null && probe.index.code !== "read" && (
        <Note tone={probe.index.code === "absent" ? "quiet" : "warn"}>
          <p>
            index.json: <Visible text={probe.index.message} />
          </p>
        </Note>
      )}
      <StrayAttestations all={probe.strayAttestations} />
      {probe.skills.length > 0 && (
        <Table
          caption="Skills found"
          columns={skillColumns(origin)}
          rows={probe.skills}
          keyOf={({ scope, name, toolSha256 }) => JSON.stringify([scope, name, toolSha256])}
        />
      )}
      {probe.rejected.length > 0 && (
        <>
          <h3>Rejected</h3>
          <Table
            caption="What was rejected"
            columns={REJECTION_COLUMNS}
            rows={probe.rejected}
            keyOf={(row) => JSON.stringify(row)}
          />
        </>
      )}
    </>
  );
}

/** Shown of them, at most. */
const MOST_STRAYS = 5;

/** A reviewer who signed the wrong version is told nowhere else. */
function StrayAttestations({ all }: { readonly all: readonly StrayAttestation[] }) {
  if (all.length === 0) return null;
  return (
    <Note tone="quiet">
      <p>
        {count(all.length, "attestation")} of no version found: of an earlier one, or of another origin, name or hash.
      </p>
      <ul>
        {all.slice(0, MOST_STRAYS).map(({ attestationId, skill, origin, attester, validUntil }) => (
          <li key={attestationId}>
            <Visible text={skill} most={80} /> at <Visible text={origin} most={120} />, by{" "}
            <Visible text={attester} most={80} />, until {validUntil}
          </li>
        ))}
      </ul>
      {all.length > MOST_STRAYS && <p>… and {all.length - MOST_STRAYS} more.</p>}
    </Note>
  );
}

function skillColumns(origin: Origin): readonly Column<ProbedSkill>[] {
  return [
    {
      head: "Skill",
      kind: "main",
      cell: (skill) => (
        <>
          <Link href={reviewPath(origin.id, skill)}>
            <Visible text={skill.publicName} />
          </Link>
          <span class="under">
            <Visible text={skill.description} most={200} />
          </span>
        </>
      ),
    },
    { head: "State", cell: (skill) => <VersionState of={skill} /> },
    {
      head: "Verdict",
      cell: ({ verdict, because }) => (
        <div>
          <State of={verdict} />
          {because.slice(0, 3).map((reason) => (
            <p key={reason.attestationId} class="hint">
              <Reason because={reason} />
            </p>
          ))}
        </div>
      ),
    },
    {
      head: "Recipe",
      cell: ({ recipeVerified }) =>
        recipeVerified === null ? (
          <span class="quiet">none</span>
        ) : recipeVerified ? (
          "verified"
        ) : (
          <Badge tone="warn">not declared</Badge>
        ),
    },
    { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
  ];
}

function Reason({ because }: { readonly because: Because }) {
  return (
    <>
      <Visible text={because.attester} most={80} />, until {because.validUntil}
      {because.standing !== "attested" && <>: {phrase(because.standing)}</>}
    </>
  );
}

export const REJECTION_COLUMNS: readonly Column<Rejection>[] = [
  { head: "Name", kind: "main", cell: (rejection) => <Visible text={publicName(rejection)} /> },
  { head: "What", cell: ({ subject }) => subject },
  { head: "Code", cell: ({ code }) => <code>{code}</code> },
  { head: "Why", kind: "wide", cell: ({ message }) => <Visible text={message} most={600} /> },
  {
    head: "Fetch",
    kind: "wide",
    cell: ({ fetch }) =>
      fetch === null ? (
        <span class="quiet">none</span>
      ) : (
        <>
          <code>
            <Visible text={fetch.url} most={200} />
          </code>{" "}
          {fetch.status ?? "no answer"}
        </>
      ),
  },
];
