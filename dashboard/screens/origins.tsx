import { useState } from "preact/hooks";
import { queryOf, usePages, useSettled } from "../api/query.ts";
import type { Origin } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Check, Select, TextField, textOf } from "../ui/form.tsx";
import { Empty, Moment, Screen, State } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";

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
  { head: "New code", cell: ({ pin }) => pin },
  { head: "Probed", cell: ({ probedAt }) => <Moment at={probedAt} /> },
  { head: "Called", cell: ({ lastCalledAt }) => <Moment at={lastCalledAt} /> },
];

/** Every publisher that the gateway knows. */
export function OriginsScreen() {
  const [status, setStatus] = useState("");
  const [q, setQ] = useState("");
  const path = `/origins${queryOf({ status, q: useSettled(q) })}`;
  const query = usePages<Origin>(path);
  return (
    <Screen
      title="Origins"
      lead="Publishers whose skills the gateway serves, or may come to serve. A new one is pending: nobody can call it until it is activated."
      actions={
        <>
          <CurlOf path={path} />
          <Propose />
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
            ["pending", "Pending"],
            ["active", "Active"],
            ["suspended", "Suspended"],
            ["revoked", "Revoked"],
          ]}
        />
        <TextField
          label="Address contains"
          name="q"
          type="search"
          value={q}
          onInput={(event) => setQ(event.currentTarget.value)}
        />
      </div>
      <PagedTable
        query={query}
        caption="Origins"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        empty={
          <Empty title={status === "" && q === "" ? "No origin is known yet." : "No origin fits the filter."}>
            {status === "" && q === "" && <p>Propose the address of a site that publishes skills in its llms.txt.</p>}
          </Empty>
        }
      />
    </Screen>
  );
}

export function Propose() {
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
