import { useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import { queryOf, usePages, useQuery } from "../api/query.ts";
import { API, get } from "../api/request.ts";
import type { AuditEntry, AuditVerification } from "../api/types.ts";
import { Link } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { TextField } from "../ui/form.tsx";
import { Empty, Facts, Hash, Loaded, Moment, Note, ProblemNote, Screen } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { exactMoment, number } from "../ui/words.ts";
import { listAddress, useFilter } from "./filters.ts";

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    head: "Change",
    kind: "main",
    cell: ({ seq, action, subject }) => (
      <>
        <Link href={`/audit/${seq}`}>{action}</Link>
        <span class="under">
          <Visible text={subject} most={160} />
        </span>
      </>
    ),
  },
  { head: "By", cell: (entry) => <Actor of={entry} /> },
  { head: "When", cell: ({ at }) => <Moment at={at} /> },
  { head: "Row", kind: "end", cell: ({ seq }) => number(seq) },
];

const FILTER = { actor: "text", action: "text", subject: "text", from: "moment", to: "moment" } as const;

/** Every change, who made it, and the proof that none of them was altered. */
export function AuditScreen() {
  const { fields, set, asked } = useFilter(FILTER);
  const into = (name: keyof typeof FILTER) => (event: { readonly currentTarget: HTMLInputElement }) =>
    set(name, event.currentTarget.value.trim());
  const query = usePages<AuditEntry>(`/audit${asked}`);
  return (
    <Screen
      title="Audit"
      lead="Every change of this gateway, newest first. Rows are only ever added, each bound to the one before."
      actions={
        <>
          <CurlOf path={`/audit${asked}`} />
          <a class="button small" href={`${API}/audit.ndjson${asked}`} download="audit.ndjson">
            Export as NDJSON
          </a>
        </>
      }
    >
      <Chain />
      <div class="filters">
        <TextField label="By" name="actor" value={fields.actor} onInput={into("actor")} placeholder="opr_…" />
        <TextField
          label="Action"
          name="action"
          value={fields.action}
          onInput={into("action")}
          placeholder="origin.activate"
        />
        <TextField label="About" name="subject" value={fields.subject} onInput={into("subject")} placeholder="org_…" />
        <TextField label="From" name="from" type="datetime-local" value={fields.from} onInput={into("from")} />
        <TextField label="To" name="to" type="datetime-local" value={fields.to} onInput={into("to")} />
      </div>
      <PagedTable
        query={query}
        caption="Changes"
        columns={COLUMNS}
        keyOf={({ seq }) => seq}
        empty={<Empty title={asked === "" ? "Nothing was changed yet." : "No change fits the filter."} />}
      />
    </Screen>
  );
}

interface Proof {
  readonly status: AuditVerification["status"];
  readonly verifiedTo: number;
  readonly broken: AuditVerification["broken"];
  readonly unnoted: readonly number[];
  readonly isDone: boolean;
}

const SHOWN_ROWS = 20;

/** Proves the chain page by page: each row against its hash, the row before, and what the witness noted. */
function Chain() {
  const [proof, setProof] = useState<Proof | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setProblem(null);
    setProof(null);
    let cursor: string | null = null;
    const unnoted: number[] = [];
    try {
      do {
        const page: AuditVerification = await get<AuditVerification>(`/audit/verify${queryOf({ cursor })}`);
        unnoted.push(...page.unnoted);
        cursor = page.broken === null ? page.nextCursor : null;
        const status = page.broken !== null ? "broken" : unnoted.length > 0 ? "unwitnessed" : "intact";
        setProof({
          status,
          verifiedTo: page.verifiedTo,
          broken: page.broken,
          unnoted: [...unnoted],
          isDone: cursor === null,
        });
      } while (cursor !== null);
    } catch (error) {
      setProblem(toProblem(error));
    }
    setBusy(false);
  };
  return (
    <div class="card">
      <div class="section-head">
        <h2>The chain</h2>
        <div class="actions">
          <CurlOf path="/audit/verify" />
          <button type="button" class="button" onClick={verify} disabled={isBusy}>
            {isBusy ? "Verifying…" : "Verify"}
          </button>
        </div>
      </div>
      <div role="status">
        {proof === null ? (
          <p class="hint">
            Compares every row with its own hash, with the row before, and with what a witness outside of the database
            noted.
          </p>
        ) : (
          <Verified proof={proof} />
        )}
      </div>
      {problem !== null && <ProblemNote problem={problem} retry={verify} />}
    </div>
  );
}

function Verified({ proof: { status, verifiedTo, broken, unnoted, isDone } }: { readonly proof: Proof }) {
  if (broken !== null) {
    return (
      <Note tone="bad">
        <p>
          <strong>Broken at row {number(broken.seq)}</strong>: {broken.reason.replaceAll("_", " ")}. Rows up to{" "}
          {number(verifiedTo)} are as they were written.
        </p>
      </Note>
    );
  }
  return (
    <Note tone={!isDone ? "info" : status === "intact" ? "ok" : "warn"}>
      <p>
        <strong>
          {isDone ? (status === "intact" ? "Intact" : "Fits, but not all of it is witnessed") : "So far so good"}
        </strong>
        : rows up to {number(verifiedTo)}.
      </p>
      {unnoted.length > 0 && (
        <p>
          The witness did not note{" "}
          {unnoted.slice(0, SHOWN_ROWS).map((seq, index) => (
            <>
              {index > 0 && ", "}
              <Link href={`/audit/${seq}`}>{seq}</Link>
            </>
          ))}
          {unnoted.length > SHOWN_ROWS && ` and ${unnoted.length - SHOWN_ROWS} more`}.
        </p>
      )}
    </Note>
  );
}

/** One change, at an address of its own. */
export function AuditEntryScreen({ seq }: { readonly seq: string }) {
  const path = `/audit/${encodeURIComponent(seq)}`;
  const query = useQuery<AuditEntry>(path);
  return (
    <Screen
      title={`Change ${seq}`}
      back={{ href: listAddress("/audit"), label: "Audit" }}
      actions={<CurlOf path={path} />}
    >
      <Loaded query={query}>
        {(entry) => (
          <>
            <div class="card">
              <Facts
                items={[
                  ["Action", <code>{entry.action}</code>],
                  ["By", <Actor of={entry} />],
                  ["About", <Subject subject={entry.subject} />],
                  ["When", exactMoment(entry.at)],
                  ["Request", <code>{entry.requestId}</code>],
                  ["Hash", <Hash value={entry.hash} />],
                  ["Hash of the row before", <Hash value={entry.prevHash} />],
                ]}
              />
            </div>
            <pre class="box" tabIndex={0} aria-label="Detail" role="region">
              <Visible text={JSON.stringify(entry.detail, null, 2)} most={20_000} />
            </pre>
          </>
        )}
      </Loaded>
    </Screen>
  );
}

/** Who did it, by the name that they have today, and by the id that the chain covers. */
function Actor({ of: { actor, actorName } }: { readonly of: Pick<AuditEntry, "actor" | "actorName"> }) {
  if (actorName === null || actorName === undefined) return <Visible text={actor} most={120} />;
  return (
    <>
      <Visible text={actorName} most={120} />
      <span class="under">
        <code>
          <Visible text={actor} most={120} />
        </code>
      </span>
    </>
  );
}

function Subject({ subject }: { readonly subject: string }) {
  if (/^org_[0-9a-f]{24}$/.test(subject)) return <Link href={`/origins/${subject}`}>{subject}</Link>;
  if (/^cli_[0-9a-f]{24}$/.test(subject)) return <Link href={`/clients/${subject}`}>{subject}</Link>;
  return <Visible text={subject} most={300} />;
}
