import type { Release, ReleaseSkill } from "./discovery/release.ts";
import type { CanonicalOrigin } from "./origin.ts";

/** What the operator decided about one origin and one client. Plain data. */
export interface Policy {
  readonly status: "pending" | "active" | "suspended" | "revoked";
  /** Whether the client may use the origin. */
  readonly granted: boolean;
}

/** What one client may list and call on one origin at one moment. Plain data. */
export interface Catalog {
  readonly origin: CanonicalOrigin;
  /** Of the release. */
  readonly fetchedAt: number;
  /** In document order. */
  readonly skills: readonly CatalogSkill[];
}

export interface CatalogSkill {
  readonly skill: ReleaseSkill;
}

/**
 * Decides what of a release a client may see. A pure function of facts, policy and the moment: a policy that changes
 * needs no cache flush, the next call sees it. Nothing is admitted unless the origin is active and granted.
 *
 * @param _now epoch milliseconds; verdicts and revocations depend on it.
 */
export function admit(release: Release, policy: Policy, _now: number): Catalog {
  if (policy.status !== "active" || !policy.granted) return catalogOf(release, []);
  let catalog = admitted.get(release);
  if (catalog === undefined) {
    catalog = catalogOf(release, release.skills);
    admitted.set(release, catalog);
  }
  return catalog;
}

/** Decisions made before: a release never changes, so calls of the same release share one catalog and what is made of it. */
const admitted = new WeakMap<Release, Catalog>();

function catalogOf({ origin, fetchedAt }: Release, skills: readonly ReleaseSkill[]): Catalog {
  return { origin, fetchedAt, skills: skills.map((skill) => ({ skill })) };
}
