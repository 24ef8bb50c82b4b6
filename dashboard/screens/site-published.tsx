import { queryOf, useQuery } from "../api/query.ts";
import type { Origin, Page, ReadSiteVersion, Setting, Site } from "../api/types.ts";
import { go, Link } from "../router.tsx";
import { useMay } from "../session.tsx";
import { Visible } from "../text/visible.tsx";
import { Action, CurlOf } from "../ui/action.tsx";
import { Copy, Empty, Loaded, Note, Section, State } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { publicAddress } from "./client-configuration.ts";
import { SiteContents } from "./site-contents.tsx";

const MANIFEST = "/.well-known/agent-skills/index.json";

/** What the current version of a site publishes, where it is read, and how the next one is published. */
export function SitePublished({ site }: { readonly site: Site }) {
  const version = site.currentVersion;
  const path = `/sites/${site.id}/versions/${version}`;
  const query = useQuery<ReadSiteVersion>(version === null ? null : path);
  return (
    <>
      {version === null ? (
        <Empty title="Nothing is published yet, so it answers 404." />
      ) : (
        <Section title={`Version ${version}`} actions={<CurlOf path={path} />}>
          <Loaded query={query}>{({ content }) => <SiteContents content={content} />}</Loaded>
        </Section>
      )}
      <Addresses site={site} />
      <PublishCommand site={site} />
    </>
  );
}

/** Where the world reads the site: under its name on the gateway, and at each of its own hosts. */
function Addresses({ site: { name, hosts } }: { readonly site: Site }) {
  const policy = useQuery<{ readonly items: readonly Setting[] }>("/policy");
  return (
    <Section
      title="Where it is read"
      hint="An address of the site can be registered as an origin: MCP clients are then served its tools and recipes under the rules that hold for every origin."
    >
      <Loaded query={policy}>
        {({ items }) => {
          const gateway = publicAddress(items, location);
          const own = hosts.map((host) => `${location.protocol}//${host}`);
          const addresses = gateway === null ? own : [`${gateway}/s/${name}`, ...own];
          return (
            <>
              {gateway === null && (
                <Note tone="info">
                  This host is the operators' own. Set PUBLIC_HOSTS to be told the site's address under /s/ on the
                  gateway's.
                </Note>
              )}
              {addresses.length > 0 && (
                <Table
                  caption="Addresses"
                  rows={addresses}
                  keyOf={(address) => address}
                  columns={[
                    { head: "Address", kind: "main", cell: (address) => <Visible text={address} /> },
                    { head: "Manifest", cell: (address) => <Address of={address + MANIFEST} label="index.json" /> },
                    { head: "llms.txt", cell: (address) => <Address of={`${address}/llms.txt`} label="llms.txt" /> },
                    { head: "As an origin", cell: (address) => <AsOrigin address={address} /> },
                  ]}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Address({ of, label }: { readonly of: string; readonly label: string }) {
  return (
    <span class="hash">
      <a href={of} target="_blank" rel="noopener noreferrer">
        {label}
      </a>
      <Copy text={of} label={`Copy the address of ${label}`} quiet />
    </span>
  );
}

/** The origin of this address where there is one, and else the way to it. */
function AsOrigin({ address }: { readonly address: string }) {
  const may = useMay("reviewer");
  const { data, problem } = useQuery<Page<Origin>>(`/origins${queryOf({ q: address, limit: 100 })}`);
  if (data === undefined) return problem === undefined ? null : <span class="quiet">not known now</span>;
  const origin = data.items.find((one) => one.origin === address);
  if (origin !== undefined) {
    return (
      <>
        <Link href={`/origins/${origin.id}`}>origin</Link> <State of={origin.status} />
      </>
    );
  }
  return (
    <Action<Origin>
      label="Propose"
      title={`Propose ${address} as an origin`}
      submit="Propose"
      small
      disabled={!may}
      request={() => ({ method: "POST", path: "/origins", creates: true, body: { origin: address } })}
      onDone={({ id }) => go(`/origins/${id}`)}
    >
      <p>It is pending then, and nobody is served its tools until it was probed, reviewed and activated.</p>
    </Action>
  );
}

function PublishCommand({ site: { name } }: { readonly site: Site }) {
  const command = `skillgate publish ./${name} --gateway ${location.origin} --site ${name}`;
  return (
    <Section
      title="Publish a version"
      hint="From a folder with an llms.txt, with the token of an operator with the role admin in SKILLGATE_ADMIN_TOKEN. What the gateway has already is not uploaded again, and the switch to the new version is one step."
    >
      <div class="curl">
        <pre tabIndex={0}>{command}</pre>
        <Copy text={command} label="Copy" />
      </div>
    </Section>
  );
}
