import type { Site } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action } from "../ui/action.tsx";
import { TextField, textOf } from "../ui/form.tsx";
import { Moment, State } from "../ui/parts.tsx";
import type { Column } from "../ui/table.tsx";
import { count } from "../ui/words.ts";
import { ListScreen } from "./list-screen.tsx";
import { SiteFields, siteSettings } from "./site-fields.tsx";

const COLUMNS: readonly Column<Site>[] = [
  {
    head: "Site",
    kind: "main",
    cell: ({ id, name, hosts }) => (
      <>
        <Link href={`/sites/${id}`}>
          <Visible text={name} />
        </Link>
        {hosts.length > 0 && (
          <span class="under">
            <Visible text={hosts.slice(0, 2).join(", ")} most={160} />
            {hosts.length > 2 && ` and ${count(hosts.length - 2, "more host")}`}
          </span>
        )}
      </>
    ),
  },
  { head: "Status", cell: ({ status }) => <State of={status} /> },
  {
    head: "Current version",
    cell: ({ currentVersion }) => currentVersion ?? <span class="quiet">nothing yet</span>,
  },
  { head: "Switched", cell: ({ switchedAt }) => <Moment at={switchedAt} /> },
  { head: "Created", cell: ({ createdAt }) => <Moment at={createdAt} /> },
];

/** Every site whose files the gateway itself serves. */
export function SitesScreen() {
  return (
    <ListScreen<Site>
      title="Sites"
      lead="Sites that this gateway hosts: it publishes their skills (Agent Skills v0.2.0), llms.txt and files, and can serve them over MCP like any other origin."
      list="/sites"
      statuses={["active", "suspended"]}
      sought="Name contains"
      columns={COLUMNS}
      create={<CreateSite />}
      nothing="The gateway hosts no site yet."
      advice="Create one, and publish a folder with an llms.txt to it."
    />
  );
}

function CreateSite() {
  return (
    <Action<Site>
      label="Create a site"
      title="Create a site"
      submit="Create"
      tone="primary"
      disabled={!useMay("admin")}
      request={(form) => ({
        method: "POST",
        path: "/sites",
        creates: true,
        body: { name: textOf(form, "name"), ...siteSettings(form) },
      })}
      onDone={({ id }) => go(`/sites/${id}`)}
    >
      <TextField
        label="Name"
        name="name"
        required
        maxLength={64}
        placeholder="handbook"
        hint="Lower-case letters, digits and single hyphens. It stays: the site's address is /s/<name>/."
      />
      <SiteFields />
    </Action>
  );
}
