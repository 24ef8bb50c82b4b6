import { useState } from "preact/hooks";
import { queryOf, usePages, useSettled } from "../api/query.ts";
import type { Client } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { numberOf, Select, TextField, textOf } from "../ui/form.tsx";
import { Empty, Moment, Screen, State } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { count, limit } from "../ui/words.ts";

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
  const [status, setStatus] = useState("");
  const [q, setQ] = useState("");
  const path = `/clients${queryOf({ status, q: useSettled(q) })}`;
  const query = usePages<Client>(path);
  return (
    <Screen
      title="Clients"
      lead="Who may call: each client has tokens, limits, and the origins and tools that it may use."
      actions={
        <>
          <CurlOf path={path} />
          <CreateClient />
        </>
      }
    >
      <div class="filters">
        <Select
          label="Status"
          name="status"
          value={status}
          onChange={(event) => setStatus(event.currentTarget.value)}
          options={[
            ["", "Any"],
            ["active", "Active"],
            ["suspended", "Suspended"],
          ]}
        />
        <TextField
          label="Name contains"
          name="q"
          type="search"
          value={q}
          onInput={(event) => setQ(event.currentTarget.value)}
        />
      </div>
      <PagedTable
        query={query}
        caption="Clients"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={<Empty title={status === "" && q === "" ? "There is no client yet." : "No client fits the filter."} />}
      />
    </Screen>
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
