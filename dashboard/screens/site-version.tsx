import { useState } from "preact/hooks";
import { useAll, useQuery } from "../api/query.ts";
import type { ReadSiteVersion, Site, SiteVersion } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Select } from "../ui/form.tsx";
import { Facts, Loaded, Moment, Screen, Section } from "../ui/parts.tsx";
import { OperatorName } from "./operator-name.tsx";
import { SiteContents } from "./site-contents.tsx";
import { ChangesOf, RollBack } from "./site-versions.tsx";

/** More than the gateway ever keeps of one site. */
const MOST_VERSIONS = 200;

/** One version of a site: what it changed of another, and all that it publishes. */
export function SiteVersionScreen({ id, version }: { readonly id: string; readonly version: string }) {
  const path = `/sites/${id}/versions/${version}`;
  const site = useQuery<Site>(`/sites/${id}`);
  const read = useQuery<ReadSiteVersion>(path);
  const current = site.data?.currentVersion;
  return (
    <Screen
      title={`${site.data?.name ?? "Site"}, version ${version}`}
      back={{ href: `/sites/${id}/versions`, label: "Versions" }}
      actions={
        <>
          <CurlOf path={path} />
          {site.data !== undefined && read.data !== undefined && read.data.version !== current && (
            <RollBack site={site.data} version={read.data.version} />
          )}
        </>
      }
    >
      <Loaded query={read}>
        {({ content, ...about }) => (
          <>
            <div class="card">
              <Facts
                items={[
                  ["Published", <Moment at={about.publishedAt} />],
                  ["By", <OperatorName id={about.publishedBy} />],
                  ["Replaced", <Moment at={about.retiredAt} none="it is the current one" />],
                  ...(about.note === null ? [] : [["Note", <Visible text={about.note} most={300} />] as const]),
                ]}
              />
            </div>
            <Compared id={id} version={about.version} />
            <Section title="What it publishes">
              <SiteContents content={content} />
            </Section>
          </>
        )}
      </Loaded>
    </Screen>
  );
}

/** What a version changed of another one that is kept: of the one before it, unless another is chosen. */
function Compared({ id, version }: { readonly id: string; readonly version: number }) {
  const kept = useAll<SiteVersion>(`/sites/${id}/versions`, MOST_VERSIONS);
  const [chosen, choose] = useState<string | null>(null);
  return (
    <Section title="What it changed">
      <Loaded query={kept}>
        {(versions) => {
          const others = versions.map((other) => other.version).filter((other) => other !== version);
          const before = others.find((other) => other < version);
          const compared = chosen ?? (before === undefined ? "" : String(before));
          return (
            <>
              {others.length > 0 && (
                <div class="filters">
                  <Select
                    label="Compared with"
                    name="compared"
                    value={compared}
                    onChange={(event) => choose(event.currentTarget.value)}
                    options={[
                      ...others.map((other) => [String(other), `Version ${other}`] as const),
                      ["", "Nothing"] as const,
                    ]}
                  />
                </div>
              )}
              <ChangesOf site={{ id }} from={compared === "" ? null : Number(compared)} to={version} />
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}
