import { queryOf, useQuery } from "../api/query.ts";
import type { Origin, ReadSkillVersion, SkillVersion } from "../api/types.ts";
import { Link, usePlace } from "../router.tsx";
import { Visible } from "../text/visible.tsx";
import { Empty, Loaded, Screen, VersionState } from "../ui/parts.tsx";
import { publicName } from "../ui/words.ts";
import { useCurrentVersions } from "./current-versions.ts";
import { isToDecide, reviewPath } from "./origin.tsx";
import { Version } from "./review-version.tsx";

/** Reading one version of a skill, and deciding about it. */
export function ReviewScreen({ id }: { readonly id: string }) {
  const { query } = usePlace();
  const origin = useQuery<Origin>(`/origins/${id}`);
  const current = useCurrentVersions(id);
  const [name, sha, scope] = ["name", "sha", "scope"].map((key) => query.get(key));
  const isChosen = typeof name === "string" && /^[0-9a-f]{64}$/.test(sha ?? "");
  // Any version that a probe ever saw has an address, however many others there are.
  const chosen = useQuery<ReadSkillVersion>(
    isChosen ? `/origins/${id}/skills/${sha}${queryOf({ name, scope })}` : null,
  );
  return (
    <Screen
      title={`Review of ${origin.data?.origin ?? "an origin"}`}
      back={{ href: `/origins/${id}`, label: "Back to the origin" }}
    >
      <Loaded query={current}>
        {(versions) => {
          if (versions.length === 0 && !isChosen)
            return <Empty title="The latest probe saw no skill of this origin, or there was none yet." />;
          return (
            <div class="review">
              <VersionList originId={id} current={versions} chosen={chosen.data} />
              {!isChosen ? (
                <Empty title="Choose a version to read." />
              ) : (
                <Loaded query={chosen}>
                  {(version) =>
                    origin.data === undefined ? null : (
                      <Version
                        key={`${version.toolSha256} ${publicName(version)}`}
                        origin={origin.data}
                        version={version}
                      />
                    )
                  }
                </Loaded>
              )}
            </div>
          );
        }}
      </Loaded>
    </Screen>
  );
}

const ORDER = { waiting: 0, approved: 1, rejected: 2 } as const;

function VersionList({
  originId,
  current,
  chosen,
}: {
  readonly originId: string;
  readonly current: readonly SkillVersion[];
  readonly chosen: ReadSkillVersion | undefined;
}) {
  const rank = (version: SkillVersion) => (isToDecide(version) ? 0 : ORDER[version.state]);
  const sorted = current.toSorted((a, b) => rank(a) - rank(b));
  const shown: readonly SkillVersion[] = chosen === undefined || chosen.isCurrent ? sorted : [chosen, ...sorted];
  const nameOf = (version: SkillVersion) => version.toolSha256 + publicName(version);
  return (
    <nav class="review-list" aria-label="Versions">
      {shown.map((version) => (
        <Link
          key={nameOf(version)}
          href={reviewPath(originId, version)}
          aria-current={chosen !== undefined && nameOf(version) === nameOf(chosen) ? "true" : undefined}
        >
          <Visible text={publicName(version)} />
          <span>
            <VersionState of={version} /> <code class="quiet">{version.toolSha256.slice(0, 8)}</code>
          </span>
        </Link>
      ))}
      <Link href={`/origins/${originId}/skills`}>All that probes saw before</Link>
    </nav>
  );
}
