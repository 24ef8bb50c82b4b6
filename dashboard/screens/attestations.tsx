import { useState } from "preact/hooks";
import { queryOf, usePages, useQuery } from "../api/query.ts";
import { API } from "../api/request.ts";
import type { Attestation, AttestationResult, JudgedAttestation, Revocation } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { type SigningKey, signEntry, utcDay } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf, Dialog } from "../ui/action.tsx";
import { Select, TextArea, TextField, textOf } from "../ui/form.tsx";
import { Badge, Empty, Facts, Hash, Loaded, Moment, Note, ProblemNote, Screen, State, Tabs } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { phrase } from "../ui/words.ts";
import { OriginPicker } from "./pickers.tsx";
import { AttestationResults, claimOf, PasteAttestation, SigningFields, useSigningKeys } from "./sign-panel.tsx";

/** An attestation that ends within so many days is worth renewing. */
const SOON_DAYS = 30;

/** Who vouches for what, until when; and what is revoked. */
export function AttestationsScreen({ tab }: { readonly tab: string }) {
  return (
    <Screen
      title="Attestations"
      lead="Signatures by which reviewers vouch for exact versions of skills, stored at this gateway. Publishers may ship others beside them."
    >
      <Tabs
        label="Attestations and revocations"
        current={tab}
        tabs={[
          { id: "stored", href: "/attestations", label: "Stored" },
          { id: "revocations", href: "/attestations/revocations", label: "Revocations" },
        ]}
      />
      {tab === "revocations" ? <Revocations /> : <Stored />}
    </Screen>
  );
}

function Stored() {
  const [origin, setOrigin] = useState("");
  const [sort, setSort] = useState("expiry");
  const [state, setState] = useState("");
  const [expiring, setExpiring] = useState("");
  const [results, setResults] = useState<readonly AttestationResult[] | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const may = useMay("reviewer");
  const { keys = [], problem: unreadKeys } = useSigningKeys();
  const path = `/attestations${queryOf({
    origin,
    sort,
    state,
    ...(expiring === "" ? {} : { expiresFrom: utcDay(0), expiresBefore: utcDay(Number(expiring)) }),
  })}`;
  const query = usePages<Attestation>(path);
  const done = (answer: { readonly results: readonly AttestationResult[] }) => setResults(answer.results);
  return (
    <>
      <div class="filters">
        <OriginPicker label="Origin" name="origin" by="origin" takesOther onChoose={setOrigin} />
        <Select
          label="Order"
          name="sort"
          value={sort}
          onChange={(event) => setSort(event.currentTarget.value)}
          options={[
            ["expiry", "Ending first"],
            ["stored", "Stored first"],
          ]}
        />
        <Select
          label="State"
          name="state"
          value={state}
          onChange={(event) => setState(event.currentTarget.value)}
          options={[
            ["", "Any"],
            ["in_force", "In force"],
            ["expired", "Ended"],
            ["revoked", "Revoked"],
          ]}
        />
        <Select
          label="Ending"
          name="expiring"
          value={expiring}
          onChange={(event) => setExpiring(event.currentTarget.value)}
          options={[
            ["", "Any time"],
            ["14", "Within 14 days"],
            ["30", "Within 30 days"],
            ["90", "Within 90 days"],
          ]}
        />
      </div>
      <div class="actions">
        <PasteAttestation may={may} onDone={done} />
        <CurlOf path={path} />
        {origin !== "" && (
          <a
            class="button small"
            href={`${API}/attestations/export${queryOf({ origin })}`}
            download="attestations.json"
          >
            Export as attestations.json
          </a>
        )}
      </div>
      {unreadKeys !== null && <ProblemNote problem={unreadKeys} />}
      {results !== null && <AttestationResults results={results} />}
      <PagedTable
        query={query}
        caption="Attestations"
        columns={attestationColumns({ may, keys, done, show: setShown })}
        keyOf={({ id }) => id}
        empty={
          <Empty
            title={
              origin + state + expiring === "" ? "No attestation is stored here." : "No attestation fits the filter."
            }
          >
            <p>
              Sign a version under <Link href="/review">Review</Link>, or paste one.
            </p>
          </Empty>
        }
      />
      {shown !== null && <Verification id={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function attestationColumns({
  may,
  keys,
  done,
  show,
}: {
  readonly may: boolean;
  readonly keys: readonly SigningKey[];
  readonly done: (answer: { readonly results: readonly AttestationResult[] }) => void;
  readonly show: (id: string) => void;
}): readonly Column<Attestation>[] {
  return [
    {
      head: "Skill",
      kind: "main",
      cell: ({ skill, origin }) => (
        <>
          <Visible text={skill} most={120} />
          <span class="under">
            <Visible text={origin} most={200} />
          </span>
        </>
      ),
    },
    { head: "Reviewer", cell: ({ attester }) => <Visible text={attester} most={120} /> },
    { head: "Until", cell: ({ validUntil }) => <Until day={validUntil} /> },
    { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
    { head: "Stored", cell: ({ storedAt }) => <Moment at={storedAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: (attestation) => (
        <>
          <button type="button" class="button small" onClick={() => show(attestation.id)}>
            Verify
          </button>
          {attestation.revocationId === null ? (
            <>
              <Renew attestation={attestation} may={may} keys={keys} onDone={done} />
              <Revoke attestation={attestation} may={may} />
            </>
          ) : (
            <State of="revoked" />
          )}
        </>
      ),
    },
  ];
}

function Until({ day }: { readonly day: string }) {
  if (day < utcDay(0)) return <Badge tone="bad">ended {day}</Badge>;
  if (day <= utcDay(SOON_DAYS)) return <Badge tone="warn">{day}</Badge>;
  return <>{day}</>;
}

function Renew({
  attestation,
  may,
  keys,
  onDone,
}: {
  readonly attestation: Attestation;
  readonly may: boolean;
  readonly keys: readonly SigningKey[];
  readonly onDone: (answer: { readonly results: readonly AttestationResult[] }) => void;
}) {
  return (
    <Action<{ readonly results: readonly AttestationResult[] }>
      label="Renew"
      title={`Sign ${attestation.skill} anew`}
      submit="Sign and store"
      small
      disabled={!may || keys.length === 0}
      request={async (form) => {
        const key = keys.find(({ publicKey }) => publicKey === textOf(form, "key"));
        if (key === undefined) throw new Error("Choose a key.");
        const { origin, skill, toolSha256 } = attestation;
        const claim = claimOf(origin, skill, toolSha256, textOf(form, "validUntil"));
        return {
          method: "POST",
          path: "/attestations",
          creates: true,
          body: [await signEntry(claim, key, textOf(form, "note") || null)],
        };
      }}
      onDone={onDone}
    >
      <p>
        You vouch again, from today, for the version <code>{attestation.toolSha256.slice(0, 12)}…</code> at{" "}
        <Visible text={attestation.origin} most={200} />.
      </p>
      <SigningFields keys={keys} />
    </Action>
  );
}

function Revoke({ attestation, may }: { readonly attestation: Attestation; readonly may: boolean }) {
  return (
    <Action
      label="Revoke"
      title={`Revoke the attestation of ${attestation.skill}?`}
      submit="Revoke"
      tone="danger"
      small
      disabled={!may}
      request={(form) => ({
        method: "POST",
        path: `/attestations/${attestation.id}/revoke`,
        creates: true,
        body: { reason: textOf(form, "reason") },
      })}
    >
      <p>It counts for nothing from now on, wherever it comes from. An admin can lift the revocation.</p>
      <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
    </Action>
  );
}

function Verification({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery<JudgedAttestation>(`/attestations/${id}`);
  return (
    <Dialog title="How this attestation counts today" onClose={onClose}>
      <div class="section">
        <Loaded query={query}>
          {(judged) => (
            <>
              <Note tone={judged.standing === "attested" ? "ok" : "warn"}>
                <p>
                  It counts as <strong>{phrase(judged.standing)}</strong>.
                </p>
              </Note>
              <Facts
                items={[
                  ["Skill", <Visible text={judged.skill} />],
                  ["Reviewer", <Visible text={judged.attester} />],
                  ["Signed on", judged.signedOn],
                  ["Valid until", judged.validUntil],
                  ["Proof", judged.kind],
                  ["Stored by", <Visible text={judged.storedBy} />],
                ]}
              />
              <pre class="box" tabIndex={0}>
                <Visible text={JSON.stringify(judged.entry, null, 2)} most={20_000} />
              </pre>
            </>
          )}
        </Loaded>
        <div class="dialog-actions">
          <CurlOf path={`/attestations/${id}`} />
          <span class="spring" />
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Revocations() {
  const [inForce, setInForce] = useState("");
  const isAdmin = useMay("admin");
  const may = useMay("reviewer");
  const path = `/revocations${queryOf({ inForce })}`;
  const query = usePages<Revocation>(path);
  const columns: readonly Column<Revocation>[] = [
    {
      head: "Revoked",
      kind: "main",
      cell: ({ kind, subject, reason }) => (
        <>
          {kind === "hash" ? "Code everywhere" : "Attestation"} <Hash value={subject} />
          <span class="under">
            <Visible text={reason} most={300} />
          </span>
        </>
      ),
    },
    { head: "When", cell: ({ revokedAt }) => <Moment at={revokedAt} /> },
    { head: "By", cell: ({ revokedBy }) => <Visible text={revokedBy} /> },
    {
      head: "In force",
      cell: ({ liftedAt, liftReason }) =>
        liftedAt === null ? (
          <State of="revoked" />
        ) : (
          <>
            lifted <Moment at={liftedAt} />: <Visible text={liftReason ?? ""} most={200} />
          </>
        ),
    },
    {
      head: "Actions",
      kind: "actions",
      cell: ({ id, liftedAt }) =>
        liftedAt !== null ? null : (
          <Action<Revocation, Revocation>
            label="Lift"
            title="Lift this revocation?"
            submit="Lift"
            tone="danger"
            small
            disabled={!isAdmin}
            reads={`/revocations/${id}`}
            request={(form, unchanged) => ({
              method: "POST",
              path: `/revocations/${id}/lift`,
              unchanged,
              body: { reason: textOf(form, "reason") },
            })}
          >
            <p>What was revoked counts, and may run, again.</p>
            <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
          </Action>
        ),
    },
  ];
  return (
    <>
      <div class="filters">
        <Select
          label="Show"
          name="inForce"
          value={inForce}
          onChange={(event) => setInForce(event.currentTarget.value)}
          options={[
            ["", "All"],
            ["true", "In force"],
            ["false", "Lifted"],
          ]}
        />
      </div>
      <div class="actions">
        <Action
          label="Revoke code everywhere"
          title="Revoke a hash everywhere"
          submit="Revoke"
          tone="danger"
          disabled={!may}
          request={(form) => ({
            method: "POST",
            path: "/revocations",
            creates: true,
            body: { kind: textOf(form, "kind"), subject: textOf(form, "subject"), reason: textOf(form, "reason") },
          })}
        >
          <Select
            label="What"
            name="kind"
            options={[
              ["hash", "Code: a tool_sha256, on every origin"],
              ["attestation", "An attestation, by its id"],
            ]}
          />
          <TextField label="SHA-256" name="subject" required hint="64 lower-case hexadecimal digits." />
          <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
        </Action>
        <CurlOf path={path} />
      </div>
      <PagedTable
        query={query}
        caption="Revocations"
        columns={columns}
        keyOf={({ id }) => id}
        empty="Nothing is revoked."
      />
    </>
  );
}
