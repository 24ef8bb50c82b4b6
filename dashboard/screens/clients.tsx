import type { Client } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action } from "../ui/action.tsx";
import { numberOf, Select, TextField, textOf } from "../ui/form.tsx";
import { Moment, State } from "../ui/parts.tsx";
import type { Column } from "../ui/table.tsx";
import { count, limit } from "../ui/words.ts";
import { ListScreen } from "./list-screen.tsx";

const COLUMNS: readonly Column<Client>[] = [
  {
    head: "Client",
    kind: "main",
    cell: ({ id, name }) => (
      <Link href={`/clients/${id}`}>
        <Visible text={name} />
      </Link>
    ),
  },
  { head: "Status", cell: ({ status }) => <State of={status} /> },
  { head: "Origins", cell: ({ grants }) => (grants === "all" ? "all active ones" : count(grants.length, "origin")) },
  { head: "Calls a minute", kind: "end", cell: ({ rpm }) => limit(rpm) },
  { head: "Calls a day", kind: "end", cell: ({ dailyQuota }) => limit(dailyQuota) },
  { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

/** Every tenant of the gateway. */
export function ClientsScreen() {
  return (
    <ListScreen<Client>
      title="Clients"
      lead="Who may call: each client has tokens, limits, and the origins and tools that it may use."
      list="/clients"
      statuses={["active", "suspended"]}
      sought="Name contains"
      columns={COLUMNS}
      create={<CreateClient />}
      nothing="There is no client yet."
    />
  );
}

function CreateClient() {
  return (
    <Action<Client>
      label="Create a client"
      title="Create a client"
      submit="Create"
      tone="primary"
      disabled={!useMay("admin")}
      request={(form) => ({
        method: "POST",
        path: "/clients",
        creates: true,
        body: {
          name: textOf(form, "name"),
          rpm: numberOf(form, "rpm"),
          dailyQuota: numberOf(form, "dailyQuota"),
          grants: textOf(form, "grants") === "all" ? "all" : [],
        },
      })}
      onDone={({ id }) => go(`/clients/${id}`)}
    >
      <TextField label="Name" name="name" required maxLength={100} placeholder="Support desk" />
      <TextField
        label="Calls a minute"
        name="rpm"
        inputMode="numeric"
        defaultValue="60"
        hint="Empty: unlimited. 0 blocks."
      />
      <TextField label="Calls a day" name="dailyQuota" inputMode="numeric" hint="Empty: unlimited. 0 blocks." />
      <Select
        label="Origins"
        name="grants"
        options={[
          ["some", "None yet: choose them on the next page"],
          ["all", "All active origins, present and future"],
        ]}
      />
    </Action>
  );
}
