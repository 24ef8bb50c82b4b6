import { useQuery } from "../api/query.ts";
import type { ReadSiteVersion, Site, SiteMismatch } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Badge, Empty, Hash, Loaded, Note, Section } from "../ui/parts.tsx";
import { LongTable } from "../ui/table.tsx";
import { bytes, count, number } from "../ui/words.ts";
import { publishedOf } from "./site-changes.ts";

/** So often other bytes are found before the skill leaves the manifests. */
const QUARANTINE_MISMATCHES = 3;

const mismatchesPath = (siteId: string) => `/sites/${siteId}/mismatches`;

/** How many of a site's bytes are not as published, where any are. */
export function MismatchCount({ siteId }: { readonly siteId: string }) {
  const { data } = useQuery<{ readonly items: readonly SiteMismatch[] }>(mismatchesPath(siteId));
  return data === undefined || data.items.length === 0 ? null : <Badge tone="bad">{number(data.items.length)}</Badge>;
}

/** Bytes of a site that were found to be others than published. */
export function SiteIntegrity({ site }: { readonly site: Site }) {
  const path = mismatchesPath(site.id);
  const query = useQuery<{ readonly items: readonly SiteMismatch[] }>(path);
  const current = useQuery<ReadSiteVersion>(
    site.currentVersion === null ? null : `/sites/${site.id}/versions/${site.currentVersion}`,
  );
  const things = current.data === undefined ? [] : publishedOf(current.data.content);
  const byDigest = Map.groupBy(things, ({ sha256 }) => sha256);
  return (
    <Section
      title="Bytes that are not as published"
      hint="Every artifact is hashed anew whenever it is asked for. Where the digest is another one, the answer is 503; after the third time the skill leaves the manifests."
      actions={<CurlOf path={path} />}
    >
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="All that was asked for was as it was published." />
          ) : (
            <>
              <Note tone="bad">
                Publish the folder again: what is listed here is then uploaded anew, and served once its digest is
                right. Find out who wrote to the bucket.
              </Note>
              <LongTable
                caption="Bytes that are not as published"
                rows={items}
                keyOf={({ sha256 }) => sha256}
                columns={[
                  {
                    head: "In the current version",
                    kind: "main",
                    cell: ({ sha256 }) => {
                      const names = byDigest.get(sha256)?.map(({ kind, name }) => `${kind} ${name}`);
                      return names === undefined ? (
                        <span class="quiet">nothing of it</span>
                      ) : (
                        <Visible text={names.join(", ")} most={300} />
                      );
                    },
                  },
                  {
                    head: "State",
                    cell: ({ mismatches }) =>
                      mismatches >= QUARANTINE_MISMATCHES ? (
                        <Badge tone="bad">in quarantine</Badge>
                      ) : (
                        <Badge tone="warn">not served</Badge>
                      ),
                  },
                  { head: "Found", cell: ({ mismatches }) => count(mismatches, "time") },
                  { head: "Bytes", kind: "end", cell: (blob) => bytes(blob.bytes) },
                  { head: "Published digest", cell: ({ sha256 }) => <Hash value={sha256} /> },
                ]}
              />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}
