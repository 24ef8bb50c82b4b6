import { useState } from "preact/hooks";
import { DAY_MS } from "../../src/core/durations.ts";
import { usePages, useQuery } from "../api/query.ts";
import type { Operator, OperatorToken } from "../api/types.ts";
import { useMay, useSession } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf, Dialog } from "../ui/action.tsx";
import { SearchField, Select, TextField, textOf } from "../ui/form.tsx";
import { Copy, Empty, Moment, Note, Screen, Section, State } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { useFilter } from "./filters.ts";

const FILTER = { q: "text" } as const;

const ROLES: readonly (readonly [string, string])[] = [
  ["viewer", "viewer: sees everything, changes nothing"],
  ["reviewer", "reviewer: also proposes, reviews, attests, suspends"],
  ["admin", "admin: everything"],
];

type IssuedToken = OperatorToken & { readonly token: string };

/** Who may use this console, and the admin API. */
export function OperatorsScreen() {
  const [chosen, choose] = useState<Operator | null>(null);
  const isAdmin = useMay("admin");
  const { fields, set, asked } = useFilter(FILTER);
  const path = `/operators${asked}`;
  const query = usePages<Operator>(path);
  return (
    <Screen
      title="Operators"
      lead="People and scripts that run this gateway, each with a role."
      actions={
        <>
          <CurlOf path={path} />
          <Action
            label="Add an operator"
            title="Add an operator"
            submit="Add"
            tone="primary"
            disabled={!isAdmin}
            request={(form) => ({ method: "POST", path: "/operators", creates: true, body: fieldsOf(form) })}
          >
            <OperatorFields />
          </Action>
        </>
      }
    >
      <div class="filters">
        <SearchField label="Name contains" value={fields.q} onSearch={(text) => set("q", text)} />
      </div>
      <PagedTable
        query={query}
        caption="Operators"
        columns={operatorColumns(isAdmin, choose)}
        keyOf={({ id }) => id}
        empty={
          asked !== "" ? (
            "No operator fits the filter."
          ) : (
            <Empty title="There is no operator but the holder of ADMIN_TOKEN.">
              <p>Add one with the role admin, give it a token, sign in with that, and retire ADMIN_TOKEN.</p>
            </Empty>
          )
        }
      />
      {chosen !== null && <Tokens operator={chosen} isAdmin={isAdmin} onClose={() => choose(null)} />}
      <Retirement />
    </Screen>
  );
}

function fieldsOf(form: FormData) {
  return {
    name: textOf(form, "name"),
    role: textOf(form, "role"),
    accessEmail: textOf(form, "accessEmail") === "" ? null : textOf(form, "accessEmail").toLowerCase(),
  };
}

function OperatorFields({ operator }: { readonly operator?: Operator }) {
  return (
    <>
      <TextField label="Name" name="name" required maxLength={100} defaultValue={operator?.name ?? ""} />
      <Select label="Role" name="role" value={operator?.role ?? "viewer"} options={ROLES} />
      <TextField
        label="E-mail at Cloudflare Access"
        name="accessEmail"
        type="text"
        inputMode="email"
        defaultValue={operator?.accessEmail ?? ""}
        hint="Signs this person in without a token, where the gateway is behind Access. May be left out."
      />
    </>
  );
}

function operatorColumns(isAdmin: boolean, choose: (operator: Operator) => void): readonly Column<Operator>[] {
  return [
    {
      head: "Operator",
      kind: "main",
      cell: ({ name, accessEmail }) => (
        <>
          <Visible text={name} />
          {accessEmail !== null && (
            <span class="under">
              <Visible text={accessEmail} />
            </span>
          )}
        </>
      ),
    },
    { head: "Role", cell: ({ role }) => role },
    { head: "Status", cell: ({ status }) => <State of={status} /> },
    { head: "Added", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: (operator) => (
        <>
          <button type="button" class="button small" onClick={() => choose(operator)}>
            Tokens
          </button>
          <Action<Operator, Operator>
            label="Change"
            title={`Change ${operator.name}`}
            submit="Save"
            small
            disabled={!isAdmin}
            reads={`/operators/${operator.id}`}
            request={(form, unchanged) => ({
              method: "PATCH",
              path: `/operators/${operator.id}`,
              unchanged,
              body: fieldsOf(form),
            })}
          >
            {(read: Operator) => <OperatorFields operator={read} />}
          </Action>
          <Suspend operator={operator} isAdmin={isAdmin} />
        </>
      ),
    },
  ];
}

function Suspend({ operator, isAdmin }: { readonly operator: Operator; readonly isAdmin: boolean }) {
  const isActive = operator.status === "active";
  return (
    <Action<Operator, Operator>
      label={isActive ? "Suspend" : "Resume"}
      title={`${isActive ? "Suspend" : "Resume"} ${operator.name}?`}
      submit={isActive ? "Suspend" : "Resume"}
      tone={isActive ? "danger" : "plain"}
      small
      disabled={!isAdmin}
      reads={`/operators/${operator.id}`}
      request={(_form, unchanged) => ({
        method: "PATCH",
        path: `/operators/${operator.id}`,
        unchanged,
        body: { status: isActive ? "suspended" : "active" },
      })}
    >
      <p>
        {isActive
          ? "Its tokens and sessions are refused at once."
          : "Its tokens that are neither expired nor revoked work again."}
      </p>
    </Action>
  );
}

function Tokens({
  operator,
  isAdmin,
  onClose,
}: {
  readonly operator: Operator;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
}) {
  const path = `/operators/${operator.id}/tokens`;
  const query = usePages<OperatorToken>(path, 20);
  const [issued, setIssued] = useState<IssuedToken | null>(null);
  const columns: readonly Column<OperatorToken>[] = [
    { head: "Token", kind: "main", cell: ({ id }) => <code>{id}</code> },
    { head: "Status", cell: ({ status }) => <State of={status} /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
    { head: "Ends", cell: ({ expiresAt, revokedAt }) => <Moment at={revokedAt ?? expiresAt} /> },
    {
      head: "Actions",
      kind: "actions",
      cell: ({ id, status }) =>
        status !== "active" ? null : (
          <Action
            label="Revoke"
            title="Revoke this operator's token?"
            submit="Revoke"
            tone="danger"
            small
            disabled={!isAdmin}
            request={() => ({ method: "DELETE", path: `${path}/${id}` })}
          >
            <p>The sessions that came from it end with it.</p>
          </Action>
        ),
    },
  ];
  return (
    <Dialog title={`Tokens of ${operator.name}`} onClose={onClose} isShownOnce={issued !== null}>
      <div class="section">
        {issued !== null && (
          <Note tone="warn">
            <p>Copy it now: it is shown this once.</p>
            <div class="curl">
              <pre tabIndex={0}>{issued.token}</pre>
              <Copy text={issued.token} label="Copy token" />
            </div>
          </Note>
        )}
        <PagedTable query={query} caption="Tokens" columns={columns} keyOf={({ id }) => id} empty="It has no token." />
        <div class="dialog-actions">
          <CurlOf path={path} />
          <span class="spring" />
          <Action<IssuedToken>
            label="Issue a token"
            title={`Issue a token for ${operator.name}`}
            submit="Issue"
            disabled={!isAdmin}
            request={(form) => ({
              method: "POST",
              path,
              creates: true,
              body: { expiresAt: Date.now() + Number(textOf(form, "days")) * DAY_MS },
            })}
            onDone={setIssued}
          >
            <Select
              label="Ends"
              name="days"
              value="90"
              options={[
                ["7", "in 7 days"],
                ["30", "in 30 days"],
                ["90", "in 90 days"],
                ["364", "in a year"],
              ]}
            />
          </Action>
          <button type="button" class="button" onClick={onClose}>
            {issued === null ? "Close" : "I have copied it"}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Retirement() {
  const isAdmin = useMay("admin");
  const { session } = useSession();
  const isBootstrap = session.operator.id === null;
  const state = useQuery<{ readonly retiredAt: number | null }>("/bootstrap");
  const retiredAt = state.data?.retiredAt ?? null;
  return (
    <Section
      title="ADMIN_TOKEN"
      hint="The gateway's first key. Once an operator with the role admin can sign in, retire it: a secret that everybody shares tells the audit nothing."
    >
      <div class="actions">
        <Action
          label="Retire ADMIN_TOKEN"
          title="Retire ADMIN_TOKEN?"
          submit="Retire it"
          tone="danger"
          typed="ADMIN_TOKEN"
          disabled={!isAdmin || isBootstrap || state.data === undefined || retiredAt !== null}
          request={() => ({ method: "POST", path: "/bootstrap/retire" })}
        >
          <Note tone="warn">
            Nobody can sign in with it any more, and scripts that use it are refused. Undoing it takes access to the
            database.
          </Note>
        </Action>
        {isBootstrap && <span class="quiet">Sign in as an operator to retire it.</span>}
        {retiredAt !== null && (
          <span class="quiet">
            Retired <Moment at={retiredAt} />.
          </span>
        )}
      </div>
    </Section>
  );
}
