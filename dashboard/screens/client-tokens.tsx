import { useState } from "preact/hooks";
import { DAY_MS } from "../../src/core/durations.ts";
import { usePages, useQuery } from "../api/query.ts";
import type { Client, ClientToken, Setting } from "../api/types.ts";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf, Dialog } from "../ui/action.tsx";
import { Select, TextField, textOf } from "../ui/form.tsx";
import { Badge, Copy, Empty, Moment, Note, Section, State } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { configurations, publicAddress } from "./client-configuration.ts";
import { OriginPicker } from "./pickers.tsx";

interface IssuedToken extends ClientToken {
  readonly token: string;
}

/** The tokens of one client: issued, overlapping while they are rotated, revoked. */
export function ClientTokens({ client }: { readonly client: Client }) {
  const path = `/clients/${client.id}/tokens`;
  const query = usePages<ClientToken>(path);
  const isAdmin = useMay("admin");
  const [issued, setIssued] = useState<IssuedToken | null>(null);
  return (
    <Section
      title="Tokens"
      hint="Several at once, so that a new one can take over before the old one ends: issue, hand over, and revoke the old one once nobody uses it."
      actions={
        <>
          <CurlOf path={path} />
          <Issue client={client} label="Issue a token" isAdmin={isAdmin} onDone={setIssued} />
        </>
      }
    >
      <PagedTable
        query={query}
        caption="Tokens"
        columns={columns(client, isAdmin, setIssued)}
        keyOf={({ id }) => id}
        empty={<Empty title="It has no token yet, so nobody can call as this client." />}
      />
      {issued !== null && <ShownOnce client={client} issued={issued} onClose={() => setIssued(null)} />}
    </Section>
  );
}

function columns(
  client: Client,
  isAdmin: boolean,
  onIssued: (issued: IssuedToken) => void,
): readonly Column<ClientToken>[] {
  return [
    {
      head: "Token",
      kind: "main",
      cell: ({ id, label, imported, kind }) => (
        <>
          {label ? <Visible text={label} most={100} /> : <span class="quiet">no label</span>}
          {kind === "inspection" && (
            <>
              {" "}
              <Badge tone="info">inspection</Badge>
            </>
          )}
          {imported && (
            <>
              {" "}
              <Badge tone="warn">imported</Badge>
            </>
          )}
          <span class="under">
            <code>{id}</code>
          </span>
        </>
      ),
    },
    { head: "Status", cell: ({ status }) => <State of={status} /> },
    { head: "Issued", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
    { head: "Ends", cell: ({ expiresAt, revokedAt }) => <Moment at={revokedAt ?? expiresAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: (token) =>
        token.status !== "active" ? null : (
          <>
            {token.kind !== "inspection" && (
              <Issue client={client} label="Rotate" isAdmin={isAdmin} onDone={onIssued} replaces={token} />
            )}
            <Action
              label="Revoke"
              title="Revoke this token?"
              submit="Revoke"
              tone="danger"
              small
              disabled={!isAdmin}
              request={() => ({ method: "DELETE", path: `/clients/${client.id}/tokens/${token.id}` })}
            >
              <p>
                Whoever calls with it is refused within 5 seconds. It was last used <Moment at={token.lastUsedAt} />.
              </p>
            </Action>
          </>
        ),
    },
  ];
}

function Issue({
  client,
  label,
  isAdmin,
  onDone,
  replaces,
}: {
  readonly client: Client;
  readonly label: string;
  readonly isAdmin: boolean;
  readonly onDone: (issued: IssuedToken) => void;
  readonly replaces?: ClientToken;
}) {
  return (
    <Action<IssuedToken>
      label={label}
      title={replaces === undefined ? `Issue a token for ${client.name}` : "Issue the token that takes over"}
      submit="Issue"
      tone={replaces === undefined ? "primary" : "plain"}
      small={replaces !== undefined}
      disabled={!isAdmin}
      request={(form) => {
        const days = textOf(form, "days");
        const name = textOf(form, "label");
        return {
          method: "POST",
          path: `/clients/${client.id}/tokens`,
          creates: true,
          body: {
            expiresAt: days === "" ? null : Date.now() + Number(days) * DAY_MS,
            ...(name === "" ? {} : { label: name }),
          },
        };
      }}
      onDone={onDone}
    >
      {replaces !== undefined && (
        <Note tone="info">
          The old token keeps working until you revoke it: do so when its last use stays where it is.
        </Note>
      )}
      <TextField
        label="Label"
        name="label"
        maxLength={100}
        defaultValue={replaces?.label ?? ""}
        hint="Where it is used, for other operators. May be left out."
      />
      <Select
        label="Ends"
        name="days"
        value="90"
        options={[
          ["30", "in 30 days"],
          ["90", "in 90 days"],
          ["365", "in a year"],
          ["", "never"],
        ]}
      />
    </Action>
  );
}

/** A new token, which nobody can be shown again, with what an MCP client needs to use it. */
function ShownOnce({
  client,
  issued,
  onClose,
}: {
  readonly client: Client;
  readonly issued: IssuedToken;
  readonly onClose: () => void;
}) {
  const [origin, choose] = useState<string | null>(null);
  const [named, setNamed] = useState<string | null>(null);
  const policy = useQuery<{ readonly items: readonly Setting[] }>("/policy");
  const gateway = named ?? (policy.data === undefined ? null : publicAddress(policy.data.items, location)) ?? "";
  const granted = client.grants === "all" ? null : new Set(client.grants);
  return (
    <Dialog title="The new token" onClose={onClose} isShownOnce>
      <div class="section">
        <Note tone="warn">Copy it now: it is shown this once, and the gateway keeps only its hash.</Note>
        <div class="curl">
          <pre tabIndex={0}>{issued.token}</pre>
          <Copy text={issued.token} label="Copy token" />
        </div>
        <div class="inline">
          <OriginPicker
            label="Configuration for"
            name="origin"
            status="active"
            by="origin"
            hint="An active origin that the client is granted."
            hindrance={({ id }) => (granted === null || granted.has(id) ? null : "not granted")}
            onChoose={(address) => choose(address === "" ? null : address)}
          />
          <TextField
            label="Gateway"
            name="gateway"
            value={gateway}
            placeholder="https://gateway.example"
            hint="The address at which clients reach it."
            onInput={(event) => setNamed(event.currentTarget.value.trim())}
          />
        </div>
        {origin !== null &&
          gateway !== "" &&
          configurations(gateway, origin, issued.token).map(({ title, text }) => (
            <details key={title}>
              <summary>{title}</summary>
              <div class="curl">
                <pre tabIndex={0}>{text}</pre>
                <Copy text={text} label="Copy" />
              </div>
            </details>
          ))}
        <div class="dialog-actions">
          <span class="spring" />
          <button type="button" class="button primary" onClick={onClose}>
            I have copied it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
