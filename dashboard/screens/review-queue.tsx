import { usePages } from "../api/query.ts";
import type { SkillVersion } from "../api/types.ts";
import { Link } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { CurlOf } from "../ui/action.tsx";
import { Empty, Hash, Moment, Screen, VersionState } from "../ui/parts.tsx";
import { type Column, PagedTable } from "../ui/table.tsx";
import { publicName } from "../ui/words.ts";
import { reviewPath } from "./origin.tsx";

export interface QueuedVersion extends SkillVersion {
  readonly originId: string;
  readonly origin: string;
}

/** In a list across origins: the skill, on the way to its review, and whose it is. */
export function VersionOfOrigin({ of }: { readonly of: QueuedVersion }) {
  return (
    <>
      <Link href={reviewPath(of.originId, of)}>
        <Visible text={publicName(of)} />
      </Link>
      <span class="under">
        <Visible text={of.origin} most={160} />
      </span>
    </>
  );
}

const PATH = "/skills?state=waiting&current=true";

const COLUMNS: readonly Column<QueuedVersion>[] = [
  {
    head: "Skill",
    kind: "main",
    cell: (version) => <VersionOfOrigin of={version} />,
  },
  { head: "State", cell: (version) => <VersionState of={version} /> },
  { head: "Hash", cell: ({ toolSha256 }) => <Hash value={toolSha256} /> },
  { head: "First seen", cell: ({ firstSeenAt }) => <Moment at={firstSeenAt} /> },
];

/** What waits for somebody to read it, of all origins. */
export function ReviewQueueScreen() {
  const query = usePages<QueuedVersion>(PATH);
  return (
    <Screen
      title="Review"
      lead="Versions of skills that a probe saw and nobody has decided about, and approved ones whose texts changed since. Read, then approve, reject or sign."
      actions={<CurlOf path={PATH} />}
    >
      <PagedTable
        query={query}
        caption="Versions that wait"
        columns={COLUMNS}
        keyOf={({ originId, scope, name, toolSha256 }) => JSON.stringify([originId, scope, name, toolSha256])}
        empty={
          <Empty title="Nothing waits for a review.">
            <p>
              New versions appear when an origin is probed. See <Link href="/origins">all origins</Link>.
            </p>
          </Empty>
        }
      />
    </Screen>
  );
}
