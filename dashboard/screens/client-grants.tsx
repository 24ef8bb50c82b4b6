import { queryOf, usePages, useSettled } from "../api/query.ts";
import type { Client, Origin } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action } from "../ui/action.tsx";
import { SearchField, Select } from "../ui/form.tsx";
import { Note, Section, State } from "../ui/parts.tsx";
import { PagedTable } from "../ui/table.tsx";
import { number } from "../ui/words.ts";
import { useFilter } from "./filters.ts";

const FILTER = { q: "text", show: "text" } as const;

/** Which origins a client may call. */
export function ClientGrants({ client }: { readonly client: Client }) {
  const { fields, set } = useFilter(FILTER);
  const isAdmin = useMay("admin");
  const granted = client.grants === "all" ? null : new Set(client.grants);
  // Those that it has come first; the others are looked for when one is to be granted.
  const showsAll = granted === null || granted.size === 0 || fields.show === "all";
  const q = useSettled(fields.q);
  const query = usePages<Origin>(`/origins${queryOf({ q, grantedTo: showsAll ? null : client.id })}`);
  const patch = (grants: "all" | readonly string[]) => () => ({
    method: "PATCH" as const,
    path: `/clients/${client.id}`,
    unchanged: client,
    body: { grants },
  });
  return (
    <Section
      title="Origins it may call"
      hint="A suspended or revoked origin answers nobody, whoever is granted it."
      actions={
        granted === null ? (
          <Action
            label="Grant single origins instead"
            title="Take back the grant of all origins?"
            submit="Take it back"
            tone="danger"
            disabled={!isAdmin}
            request={patch([])}
          >
            <p>It can then call no origin until you grant it some.</p>
          </Action>
        ) : (
          <Action
            label="Grant all origins"
            title="Grant every active origin?"
            submit="Grant all"
            disabled={!isAdmin}
            request={patch("all")}
          >
            <p>Present and future ones: whatever is activated can be called by this client.</p>
          </Action>
        )
      }
    >
      {granted === null && <Note tone="info">It may call every active origin, present and future.</Note>}
      <div class="filters">
        {granted !== null && granted.size > 0 && (
          <Select
            label="Show"
            name="show"
            value={showsAll ? "all" : ""}
            onChange={(event) => set("show", event.currentTarget.value)}
            options={[
              ["", `Granted: ${number(granted.size)}`],
              ["all", "All origins"],
            ]}
          />
        )}
        <SearchField label="Address contains" value={fields.q} onSearch={(text) => set("q", text)} />
      </div>
      <PagedTable
        query={query}
        caption="Origins"
        keyOf={({ id }) => id}
        empty="No origin fits the filter."
        columns={[
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
          {
            head: "Granted",
            cell: ({ id }) => (granted === null || granted.has(id) ? "yes" : <span class="quiet">no</span>),
          },
          {
            head: "Actions",
            kind: "actions",
            cell: ({ id, origin }) =>
              granted === null ? null : granted.has(id) ? (
                <Action
                  label="Take back"
                  title={`Take back ${origin}?`}
                  submit="Take back"
                  tone="danger"
                  small
                  disabled={!isAdmin}
                  request={patch([...granted].filter((other) => other !== id))}
                >
                  <p>Calls of this client to it are refused within 5 seconds.</p>
                </Action>
              ) : (
                <Action
                  label="Grant"
                  title={`Grant ${origin}?`}
                  submit="Grant"
                  small
                  disabled={!isAdmin}
                  request={patch([...granted, id])}
                >
                  <p>This client may then call it as soon as it is active.</p>
                </Action>
              ),
          },
        ]}
      />
    </Section>
  );
}
