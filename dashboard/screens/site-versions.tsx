import { usePages, useQuery } from "../api/query.ts";
import type { ReadSiteVersion, Site, SiteVersion } from "../api/types.ts";
import { Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Badge, Loaded, Moment, Section } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { OperatorName } from "./operator-name.tsx";
import { changesBetween } from "./site-changes.ts";
import { SiteChanges } from "./site-contents.tsx";

/** The versions of a site that are kept: what each changed, and the way back to it. */
export function SiteVersions({ site }: { readonly site: Site }) {
  const path = `/sites/${site.id}/versions`;
  const query = usePages<SiteVersion>(path);
  const columns: readonly Column<SiteVersion>[] = [
    {
      head: "Version",
      kind: "main",
      cell: ({ version, note }) => (
        <>
          <Link href={`/sites/${site.id}/versions/${version}`}>Version {version}</Link>
          {version === site.currentVersion && (
            <>
              {" "}
              <Badge tone="ok">current</Badge>
            </>
          )}
          {note !== null && (
            <span class="under">
              <Visible text={note} most={160} />
            </span>
          )}
        </>
      ),
    },
    { head: "Published", cell: ({ publishedAt }) => <Moment at={publishedAt} /> },
    { head: "By", cell: ({ publishedBy }) => <OperatorName id={publishedBy} /> },
    { head: "Replaced", cell: ({ retiredAt }) => <Moment at={retiredAt} none="" /> },
    {
      head: "Actions",
      kind: "actions",
      cell: ({ version }) => version !== site.currentVersion && <RollBack site={site} version={version} />,
    },
  ];
  return (
    <Section
      title="Versions"
      hint="The last 20, and for the grace period those before. Choose one to see what it changed."
      actions={<CurlOf path={path} />}
    >
      <PagedTable
        query={query}
        caption="Versions"
        columns={columns}
        keyOf={({ version }) => version}
        empty="Nothing is published yet."
      />
    </Section>
  );
}

/** Makes a kept version the current one again, once it was seen what that changes. */
export function RollBack({ site, version }: { readonly site: Site; readonly version: number }) {
  return (
    <Action
      label="Roll back"
      title={`Roll ${site.name} back to version ${version}?`}
      submit="Roll back"
      tone="danger"
      small
      disabled={!useMay("admin")}
      request={() => ({
        method: "POST",
        path: `/sites/${site.id}/rollback`,
        unchanged: site,
        body: { version },
      })}
    >
      <p>
        It takes the place of version {site.currentVersion} at once, and nothing is deleted: you can go forward again.
        What changes:
      </p>
      <ChangesOf site={site} from={site.currentVersion} to={version} />
    </Action>
  );
}

/** What changes from one version to another. @param from null: from nothing. */
export function ChangesOf({
  site: { id },
  from,
  to,
}: {
  readonly site: Pick<Site, "id">;
  readonly from: number | null;
  readonly to: number;
}) {
  const before = useQuery<ReadSiteVersion>(from === null ? null : `/sites/${id}/versions/${from}`);
  const after = useQuery<ReadSiteVersion>(`/sites/${id}/versions/${to}`);
  return (
    <Loaded query={after}>
      {({ content }) =>
        from === null ? (
          <SiteChanges changes={changesBetween(null, content)} />
        ) : (
          <Loaded query={before}>{(old) => <SiteChanges changes={changesBetween(old.content, content)} />}</Loaded>
        )
      }
    </Loaded>
  );
}
