import { useQuery } from "../api/query.ts";
import type { ReadSiteVersion, Site, SiteMismatch } from "../api/types.ts";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Badge, Empty, Hash, Loaded, Note, Section } from "../ui/parts.tsx";
import { LongTable } from "../ui/table.tsx";
import { bytes, count } from "../ui/words.ts";
import { publishedOf } from "./site-changes.ts";

/** So often other bytes are found before the skill leaves the manifests. */
const QUARANTINE_MISMATCHES = 3;

/** Bytes of a site that were found to be others than published. */
export function SiteIntegrity({ site }: { readonly site: Site }) {
  const path = `/sites/${site.id}/mismatches`;
  const query = useQuery<{ readonly items: readonly SiteMismatch[] }>(path);
  const current = useQuery<ReadSiteVersion>(
    site.currentVersion === null ? null : `/sites/${site.id}/versions/${site.currentVersion}`,
  );
  const namesOf = (sha256: string) =>
    current.data === undefined
      ? []
      : publishedOf(current.data.content)
          .filter((thing) => thing.sha256 === sha256)
          .map(({ kind, name }) => `${kind} ${name}`);
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
                    cell: ({ sha256 }) =>
                      namesOf(sha256).length === 0 ? (
                        <span class="quiet">nothing of it</span>
                      ) : (
                        <Visible text={namesOf(sha256).join(", ")} most={300} />
                      ),
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
