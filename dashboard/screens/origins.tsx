import type { Origin } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action } from "../ui/action.tsx";
import { Check, TextField, textOf } from "../ui/form.tsx";
import { Moment, State } from "../ui/parts.tsx";
import type { Column } from "../ui/table.tsx";
import { ListScreen } from "./list-screen.tsx";

const COLUMNS: readonly Column<Origin>[] = [
  {
    head: "Origin",
    kind: "main",
    cell: ({ id, origin }) => (
      <Link href={`/origins/${id}`}>
        <Visible text={origin} />
      </Link>
    ),
  },
  { head: "Status", cell: ({ status }) => <State of={status} /> },
  { head: "Attestations", cell: ({ attestationMode }) => attestationMode ?? <span class="quiet">gateway's mode</span> },
  { head: "Unapproved code", cell: ({ pin }) => pin },
  { head: "Probed", cell: ({ probedAt }) => <Moment at={probedAt} /> },
  { head: "Called", cell: ({ lastCalledAt }) => <Moment at={lastCalledAt} /> },
];

/** Every publisher that the gateway knows. */
export function OriginsScreen() {
  return (
    <ListScreen<Origin>
      title="Origins"
      lead="Publishers whose skills the gateway serves, or may come to serve. A new one is pending: nobody can call it until it is activated."
      list="/origins"
      statuses={["pending", "active", "suspended", "revoked"]}
      sought="Address contains"
      columns={COLUMNS}
      create={<Propose />}
      nothing="No origin is known yet."
      advice="Propose the address of a site that publishes skills in its llms.txt."
    />
  );
}

function Propose() {
  const may = useMay("reviewer");
  return (
    <Action<Origin>
      label="Propose an origin"
      title="Propose an origin"
      submit="Propose"
      tone="primary"
      disabled={!may}
      request={(form) => ({
        method: "POST",
        path: "/origins",
        creates: true,
        body: {
          origin: textOf(form, "origin"),
          ...(form.get("confirmServiceBinding") === "on" ? { confirmServiceBinding: true } : {}),
        },
      })}
      onDone={({ id }) => go(`/origins/${id}`)}
    >
      <TextField
        label="Address of the publisher"
        name="origin"
        type="text"
        inputMode="url"
        required
        placeholder="https://publisher.example"
        hint="https, the host, and a base path where the site has one. Nothing is called until you probe it."
      />
      <Check
        label="It may be reached through a service binding"
        name="confirmServiceBinding"
        hint="Only for a Worker of your own account: whatever guards its public address does not stand before it."
      />
    </Action>
  );
}
