import { and, desc, eq, gt, gte, ne, or, type SQL, sql } from "drizzle-orm";
import type { HostedArtifact } from "../../core/agent-skills/layout.ts";
import type { Visibility } from "../../core/agent-skills/publication.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { openRegistry } from "../registry/database.ts";
import { siteVersions } from "../registry/schema.ts";
import { loadVersion, READ_TIMEOUT_MS, type ServedSite } from "./read-site.ts";

interface ReplacedVersion {
  readonly version: number;
  /** Epoch milliseconds. */
  readonly retiredAt: number;
}

/**
 * What lay at a path under this digest in a version that was replaced less than the site's grace period ago. What became hidden since is
 * hidden, under its old digest too, wherever it lies now, and also where it was taken away after that.
 *
 * @throws {GatewayError} `policy_unavailable`.
 */
export async function findReplaced(
  env: Env,
  served: ServedSite,
  path: string,
  sha256: Sha256Hex,
  now: number,
): Promise<HostedArtifact | null> {
  const { site } = served;
  // Anybody may ask for any digest: no version is read that does not name it.
  const isInGrace = gt(siteVersions.retiredAt, now - site.graceS * 1_000);
  for (const replaced of await replacedVersions(env, site.id, and(isInGrace, names(sha256)))) {
    const artifact = (await loadVersion(env, site.id, replaced.version))?.layout.get(path);
    if (artifact?.sha256 !== sha256) continue;
    return { ...artifact, visibility: await visibilitySince(env, served, path, artifact, replaced) };
  }
  return null;
}

async function visibilitySince(
  env: Env,
  { site, layout }: ServedSite,
  path: string,
  artifact: HostedArtifact,
  { version, retiredAt }: ReplacedVersion,
): Promise<Visibility> {
  if (artifact.visibility === "authenticated") return "authenticated";
  const present = visibilityIn(layout, path, artifact);
  if (present !== null) return present;
  const isLater = and(gte(siteVersions.retiredAt, retiredAt), ne(siteVersions.version, version));
  const isNamed = or(names(artifact.sha256), names(JSON.stringify(artifact.skill ?? path)));
  for (const later of await replacedVersions(env, site.id, and(isLater, isNamed))) {
    const known = await loadVersion(env, site.id, later.version);
    const last = known === null ? null : visibilityIn(known.layout, path, artifact);
    if (last !== null) return last;
  }
  return artifact.visibility;
}

/** How visible a version makes what lies at the path, has these bytes, or is another state of their skill; null where it has none of them. */
function visibilityIn(
  layout: ServedSite["layout"],
  path: string,
  { sha256, skill, listing }: HostedArtifact,
): Visibility | null {
  const there = layout.get(path);
  if (there?.visibility === "authenticated") return "authenticated";
  const all = [...layout.values()];
  const isOfSkill = (one: HostedArtifact) => skill !== null && one.skill === skill;
  const same = all.filter((one) => one.sha256 === sha256 || (isOfSkill(one) && one.listing === listing));
  const found = same.length > 0 ? same : all.filter(isOfSkill);
  if (found.length === 0) return there?.visibility ?? null;
  return found.every(({ visibility }) => visibility === "authenticated") ? "authenticated" : "public";
}

function names(word: string): SQL {
  return sql`instr(${siteVersions.content}, ${word}) > 0`;
}

/** The one that was replaced last comes first. */
async function replacedVersions(
  { DB }: Env,
  siteId: string,
  where: SQL | undefined,
): Promise<readonly ReplacedVersion[]> {
  const { version, retiredAt } = siteVersions;
  const query = openRegistry(DB)
    .select({ version, retiredAt: sql<number>`${retiredAt}` })
    .from(siteVersions)
    .where(and(eq(siteVersions.siteId, siteId), where))
    .orderBy(desc(retiredAt), desc(version));
  return withDeadline(query, READ_TIMEOUT_MS).catch((cause) => {
    throw new GatewayError("policy_unavailable", { cause });
  });
}
