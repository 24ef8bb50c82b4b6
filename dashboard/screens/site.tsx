import { useQuery } from "../api/query.ts";
import type { Site } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Facts, Loaded, Moment, Note, Screen, Section, State, Tabs } from "../ui/parts.tsx";
import { count, duration } from "../ui/words.ts";
import { listAddress } from "./filters.ts";
import { addressesText, meansText, SiteFields, siteSettings } from "./site-fields.tsx";
import { MismatchCount, SiteIntegrity } from "./site-integrity.tsx";
import { SitePublished } from "./site-published.tsx";
import { SiteVersions } from "./site-versions.tsx";

/** One hosted site: where it is read, what it publishes, its versions, and how it is taken out of service. */
export function SiteScreen({ id, tab }: { readonly id: string; readonly tab: string }) {
  const query = useQuery<Site>(`/sites/${id}`);
  return (
    <Screen
      title={query.data?.name ?? "Site"}
      back={{ href: listAddress("/sites"), label: "Sites" }}
      actions={<CurlOf path={`/sites/${id}`} />}
    >
      <Loaded query={query}>
        {(site) => (
          <>
            <div class="card">
              <Facts
                items={[
                  ["Status", <State of={site.status} />],
                  ["Current version", <CurrentVersion site={site} />],
                  ["Switched", <Moment at={site.switchedAt} />],
                  ["Hosts of its own", count(site.hosts.length, "host")],
                  ["Created", <Moment at={site.createdAt} />],
                  ["Id", <code>{site.id}</code>],
                ]}
              />
            </div>
            {site.status === "suspended" && <Note tone="warn">It is suspended: all its addresses answer 404.</Note>}
            <Tabs
              label="About this site"
              current={tab}
              tabs={[
                { id: "published", href: `/sites/${id}`, label: "Published" },
                { id: "versions", href: `/sites/${id}/versions`, label: "Versions" },
                {
                  id: "integrity",
                  href: `/sites/${id}/integrity`,
                  label: (
                    <>
                      Integrity <MismatchCount siteId={id} />
                    </>
                  ),
                },
                { id: "settings", href: `/sites/${id}/settings`, label: "Settings" },
              ]}
            />
            <Tab site={site} tab={tab} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function Tab({ site, tab }: { readonly site: Site; readonly tab: string }) {
  if (tab === "versions") return <SiteVersions site={site} />;
  if (tab === "integrity") return <SiteIntegrity site={site} />;
  if (tab === "settings") return <Settings site={site} />;
  return <SitePublished site={site} />;
}

function CurrentVersion({ site: { id, currentVersion } }: { readonly site: Site }) {
  if (currentVersion === null) return <span class="quiet">nothing published</span>;
  return <Link href={`/sites/${id}/versions/${currentVersion}`}>{currentVersion}</Link>;
}

function Settings({ site }: { readonly site: Site }) {
  const isAdmin = useMay("admin");
  return (
    <>
      <Section
        title="How it is served"
        actions={
          <Action
            label="Change"
            title={`Change how ${site.name} is served`}
            submit="Save"
            disabled={!isAdmin}
            request={(form) => ({
              method: "PATCH",
              path: `/sites/${site.id}`,
              unchanged: site,
              body: siteSettings(form),
            })}
          >
            <SiteFields site={site} />
          </Action>
        }
      >
        <div class="card">
          <Facts
            items={[
              ["Hosts", site.hosts.length === 0 ? "none of its own" : <Visible text={site.hosts.join(", ")} />],
              ["Authenticated callers", meansText(site.authenticatedMeans)],
              ["Addresses in manifests", addressesText(site.artifactUrls)],
              ["Grace period", duration(site.graceS)],
              ["Skills repeated as entries", site.entriesAlias ? "yes" : "no"],
              ["Changed", <Moment at={site.updatedAt} />],
            ]}
          />
        </div>
      </Section>
      <Section title="Take it out of service">
        <div class="card">
          <p>
            A suspended site answers 404 to everything until it is resumed. A deleted one is gone with all its versions.
          </p>
          <div class="actions">
            <Switch site={site} isAdmin={isAdmin} />
            <Action
              label="Delete"
              title={`Delete ${site.name}?`}
              submit="Delete for good"
              tone="danger"
              typed={site.name}
              disabled={!isAdmin}
              request={() => ({ method: "DELETE", path: `/sites/${site.id}`, unchanged: site })}
              onDone={() => go("/sites")}
            >
              <Note tone="bad">
                This cannot be taken back: its versions and their bytes are removed, and its name and hosts are free for
                another site.
              </Note>
              <p>Origins that were registered at its addresses stay registered, and fail from then on.</p>
            </Action>
          </div>
        </div>
      </Section>
    </>
  );
}

function Switch({ site, isAdmin }: { readonly site: Site; readonly isAdmin: boolean }) {
  const isActive = site.status === "active";
  const step = isActive ? "Suspend" : "Resume";
  return (
    <Action
      label={step}
      title={`${step} ${site.name}?`}
      submit={step}
      tone={isActive ? "danger" : "primary"}
      disabled={!isAdmin}
      request={() => ({
        method: "PATCH",
        path: `/sites/${site.id}`,
        unchanged: site,
        body: { status: isActive ? "suspended" : "active" },
      })}
    >
      <p>
        {isActive
          ? "All its addresses answer 404 at once, those of its artifacts included. Nothing is deleted: it can be resumed."
          : "Its current version is served again at once."}
      </p>
    </Action>
  );
}
