import { useState } from "preact/hooks";
import { type ApiProblem, toProblem } from "../api/problem.ts";
import type { Reviewer } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { createKey, forgetKey, listKeys, type SigningKey } from "../signing-keys.ts";
import { Visible } from "../text/visible.tsx";
import { Action, Dialog } from "../ui/action.tsx";
import { Select, TextArea, TextField, textOf } from "../ui/form.tsx";
import { Copy, Moment, Note, ProblemNote, Section, State } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { ListScreen } from "./list-screen.tsx";
import { useSigningKeys } from "./sign-panel.tsx";

/** Whose signatures count, and the keys with which this browser signs. */
export function ReviewersScreen() {
  const isAdmin = useMay("admin");
  return (
    <ListScreen<Reviewer>
      title="Reviewers"
      lead="People and identities whose attestations count at this gateway."
      list="/reviewers"
      statuses={["active", "retired", "revoked"]}
      columns={reviewerColumns(isAdmin)}
      create={<Register isAdmin={isAdmin} />}
      nothing="Nobody is registered yet."
      advice="Until somebody is, no attestation counts."
    >
      <BrowserKeys isAdmin={isAdmin} />
    </ListScreen>
  );
}

function reviewerColumns(isAdmin: boolean): readonly Column<Reviewer>[] {
  return [
    {
      head: "Reviewer",
      kind: "main",
      cell: ({ attester, note, reason }) => (
        <>
          <Visible text={attester} most={200} />
          {note !== null && (
            <span class="under">
              <Visible text={note} most={200} />
            </span>
          )}
          {reason !== null && (
            <span class="under">
              Ended: <Visible text={reason} most={200} />
            </span>
          )}
        </>
      ),
    },
    { head: "Status", cell: ({ status }) => <State of={status} /> },
    {
      head: "Key",
      cell: ({ key }) =>
        key.kind === "ed25519" ? (
          <span class="hash">
            <code title={key.publicKey}>{key.publicKey.slice(0, 12)}…</code>
            <Copy text={key.publicKey} label="Copy public key" quiet />
          </span>
        ) : (
          <>
            Sigstore, <Visible text={key.issuer} most={80} />
          </>
        ),
    },
    { head: "Registered", cell: ({ registeredAt }) => <Moment at={registeredAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: (reviewer) =>
        reviewer.status === "revoked" ? null : (
          <>
            <End reviewer={reviewer} step="retire" isAdmin={isAdmin} />
            <End reviewer={reviewer} step="revoke" isAdmin={isAdmin} />
          </>
        ),
    },
  ];
}

function End({
  reviewer,
  step,
  isAdmin,
}: {
  readonly reviewer: Reviewer;
  readonly step: "retire" | "revoke";
  readonly isAdmin: boolean;
}) {
  const isRevoke = step === "revoke";
  return (
    <Action<Reviewer, Reviewer>
      label={isRevoke ? "Revoke" : "Retire"}
      title={`${isRevoke ? "Revoke" : "Retire"} ${reviewer.attester}?`}
      submit={isRevoke ? "Revoke" : "Retire"}
      tone={isRevoke ? "danger" : "plain"}
      small
      disabled={!isAdmin || (!isRevoke && reviewer.status !== "active")}
      {...(isRevoke ? { typed: reviewer.attester } : {})}
      reads={`/reviewers/${reviewer.id}`}
      request={(form, unchanged) => ({
        method: "POST",
        path: `/reviewers/${reviewer.id}/${step}`,
        unchanged,
        body: { reason: textOf(form, "reason") },
      })}
    >
      <Note tone={isRevoke ? "bad" : "warn"}>
        {isRevoke
          ? "For a stolen key: nothing that it ever signed counts any more. Skills of origins in the mode enforcing stop being served."
          : "For somebody who leaves: what the gateway had stored before counts on, nothing new does."}
      </Note>
      <TextArea label="Reason" name="reason" required hint="For other operators, in the audit log." />
    </Action>
  );
}

function Register({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <Action<Reviewer>
      label="Register a reviewer"
      title="Register a reviewer"
      submit="Register"
      tone="primary"
      disabled={!isAdmin}
      request={(form) => ({
        method: "POST",
        path: "/reviewers",
        creates: true,
        body: {
          attester: textOf(form, "attester"),
          key:
            textOf(form, "kind") === "ed25519"
              ? { kind: "ed25519", publicKey: textOf(form, "key") }
              : { kind: "sigstore", issuer: textOf(form, "issuer"), identity: textOf(form, "identity") },
          ...(textOf(form, "note") === "" ? {} : { note: textOf(form, "note") }),
        },
      })}
    >
      <ReviewerFields />
    </Action>
  );
}

function ReviewerFields() {
  const [kind, setKind] = useState("ed25519");
  return (
    <>
      <Select
        label="Kind of key"
        name="kind"
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value)}
        options={[
          ["ed25519", "Ed25519 key"],
          ["sigstore", "Sigstore identity"],
        ]}
      />
      <TextField
        label="Name"
        name="attester"
        required
        placeholder={kind === "ed25519" ? "human:ada" : "sigstore:ada@example.org"}
        hint={
          kind === "ed25519" ? (
            "A type and a name, as it stands in the attestations."
          ) : (
            <>
              <code>sigstore:</code> and the identity.
            </>
          )
        }
      />
      {kind === "ed25519" ? (
        <TextField
          label="Public key"
          name="key"
          required
          hint={
            <>
              32 bytes in base64: what <code>skillgate attest keygen</code> prints after the equals sign, or a key of a
              browser.
            </>
          }
        />
      ) : (
        <>
          <TextField label="Issuer" name="issuer" required placeholder="https://accounts.example.org" />
          <TextField label="Identity" name="identity" required placeholder="ada@example.org" />
        </>
      )}
      <TextArea label="Note" name="note" rows={2} hint="May be left out." />
      <Note tone="info">What somebody signed on an earlier day than today does not count.</Note>
    </>
  );
}

function BrowserKeys({ isAdmin }: { readonly isAdmin: boolean }) {
  const { keys: first, problem: unread } = useSigningKeys();
  const [later, setLater] = useState<readonly SigningKey[] | null>(null);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [leaving, setLeaving] = useState<SigningKey | null>(null);
  const keys = later ?? first ?? [];
  const renew = async (act: () => Promise<unknown>) => {
    setProblem(null);
    try {
      await act();
      setLater(await listKeys());
    } catch (error) {
      setProblem(toProblem(error));
    }
  };
  const make = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const attester = textOf(new FormData(form), "newAttester");
    void renew(async () => {
      await createKey(attester);
      form.reset();
    });
  };
  return (
    <Section
      title="Keys of this browser"
      hint="A key made here signs in this browser alone: neither the gateway nor you can take it out. Clear the browser's data and it is gone; retire its registration then."
    >
      <form class="inline" onSubmit={make}>
        <TextField
          label="Your name as a reviewer"
          name="newAttester"
          required
          placeholder="human:ada"
          pattern="[a-z][a-z0-9\-]*:[!-~]{1,100}"
          title="A lower-case type, a colon and a name"
        />
        <button type="submit" class="button">
          Make a key
        </button>
      </form>
      {unread !== null && later === null && <ProblemNote problem={unread} />}
      {problem !== null && <ProblemNote problem={problem} />}
      {keys.length > 0 && (
        <Table
          caption="Keys of this browser"
          rows={keys}
          keyOf={({ publicKey }) => publicKey}
          columns={[
            { head: "Name", kind: "main", cell: ({ attester }) => <Visible text={attester} /> },
            {
              head: "Public key",
              cell: ({ publicKey }) => (
                <span class="hash">
                  <code>{publicKey.slice(0, 12)}…</code>
                  <Copy text={publicKey} label="Copy public key" quiet />
                </span>
              ),
            },
            { head: "Made", cell: ({ createdAt }) => <Moment at={createdAt} /> },
            {
              head: "Actions",
              kind: "actions",
              cell: (key) => (
                <>
                  <Action
                    label="Register"
                    title={`Register ${key.attester} with this key?`}
                    submit="Register"
                    small
                    disabled={!isAdmin}
                    request={() => ({
                      method: "POST",
                      path: "/reviewers",
                      creates: true,
                      body: { attester: key.attester, key: { kind: "ed25519", publicKey: key.publicKey } },
                    })}
                  >
                    <p>From now on what this key signs counts at this gateway.</p>
                  </Action>
                  <button type="button" class="button danger small" onClick={() => setLeaving(key)}>
                    Forget
                  </button>
                </>
              ),
            },
          ]}
        />
      )}
      {leaving !== null && (
        <Dialog title={`Forget the key of ${leaving.attester}?`} onClose={() => setLeaving(null)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const { publicKey } = leaving;
              setLeaving(null);
              void renew(() => forgetKey(publicKey));
            }}
          >
            <p>What it signed counts on. Nothing more can be signed with it, and nobody can bring it back.</p>
            <div class="dialog-actions">
              <span class="spring" />
              <button type="button" class="button" onClick={() => setLeaving(null)}>
                Cancel
              </button>
              <button type="submit" class="button danger">
                Forget it
              </button>
            </div>
          </form>
        </Dialog>
      )}
    </Section>
  );
}
