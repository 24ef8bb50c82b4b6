import { and, eq, sql } from "drizzle-orm";
import { type HostedArtifact, isVisibilityMixed, layOut } from "../../core/agent-skills/layout.ts";
import type { SiteContent } from "../../core/agent-skills/publication.ts";
import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { LruCache } from "../lru.ts";
import { openRegistry } from "../registry/database.ts";
import { siteHosts, sites, siteVersions } from "../registry/schema.ts";
import { quarantinedOf } from "../registry/site-blobs.ts";
import type { SiteRow } from "../registry/sites.ts";

export const READ_TIMEOUT_MS = 2_000;
/** What was read last is served this long while the database fails, as policy is. */
const STALE_MS = 60_000;

/** How a request names a site. */
export type SiteName = { readonly host: string } | { readonly name: string };

/** One version of a site, parsed. It never changes. */
export interface LoadedVersion {
  readonly content: SiteContent;
  readonly layout: ReadonlyMap<string, HostedArtifact>;
  readonly isMixed: boolean;
}

/** A site as it is at this moment: manifests and bytes of one answer come from one of these. */
export interface ServedSite extends LoadedVersion {
  readonly site: SiteRow;
  readonly version: number;
  /** When this version became the current one, epoch milliseconds. */
  readonly switchedAt: number;
  readonly quarantined: ReadonlySet<string>;
}

/** Of several databases in tests; of one in production. */
const versions = new LruCache<string, LoadedVersion & { readonly weight: number }>(
  8 * 1_048_576,
  ({ weight }) => weight,
);
interface Pointer {
  readonly site: SiteRow;
  readonly quarantined: string;
}
const pointers = new LruCache<string, { readonly pointer: Pointer; readonly readAt: number }>(1_000);

/** For tests, whose databases come and go. */
export function forgetSites(): void {
  versions.clear();
  pointers.clear();
}

/**
 * The site of a request. Which version is the current one is read for every request, so that a publish is in force everywhere at once; the
 * version itself never changes and stays in memory.
 *
 * @returns null for one that does not exist, is suspended or has published nothing.
 * @throws {GatewayError} `policy_unavailable` where the database fails and what is in memory is too old.
 */
export async function readSite(env: Env, name: SiteName, now: number): Promise<ServedSite | null> {
  const pointer = await readPointer(env, name, now);
  if (pointer === null) return null;
  const { site, quarantined } = pointer;
  if (site.status !== "active" || site.currentVersion === null) return null;
  const loaded = await loadVersion(env, site.id, site.currentVersion);
  if (loaded === null) return null;
  return {
    ...loaded,
    site,
    version: site.currentVersion,
    switchedAt: site.switchedAt ?? 0,
    quarantined: new Set(JSON.parse(quarantined) as string[]),
  };
}

async function readPointer({ DB }: Env, name: SiteName, now: number): Promise<Pointer | null> {
  const key = JSON.stringify(name);
  const registry = openRegistry(DB);
  const columns = { site: sites, quarantined: quarantinedOf(sql`${sites.id}`) };
  const query =
    "host" in name
      ? registry
          .select(columns)
          .from(siteHosts)
          .innerJoin(sites, eq(sites.id, siteHosts.siteId))
          .where(eq(siteHosts.host, name.host))
      : registry.select(columns).from(sites).where(eq(sites.name, name.name));
  try {
    const [pointer] = await withDeadline(query.limit(1), READ_TIMEOUT_MS);
    if (pointer === undefined) pointers.delete(key);
    else pointers.set(key, { pointer, readAt: now });
    return pointer ?? null;
  } catch (cause) {
    const known = pointers.get(key);
    if (known !== undefined && known.readAt <= now && now - known.readAt <= STALE_MS) return known.pointer;
    throw new GatewayError("policy_unavailable", { cause });
  }
}

/** @throws {GatewayError} `policy_unavailable`. */
export async function loadVersion({ DB }: Env, siteId: string, version: number): Promise<LoadedVersion | null> {
  const key = `${siteId}/${version}`;
  const known = versions.get(key);
  if (known !== undefined) return known;
  const query = openRegistry(DB)
    .select({ content: siteVersions.content })
    .from(siteVersions)
    .where(and(eq(siteVersions.siteId, siteId), eq(siteVersions.version, version)));
  const [row] = await withDeadline(query, READ_TIMEOUT_MS).catch((cause) => {
    throw new GatewayError("policy_unavailable", { cause });
  });
  if (row === undefined) return null;
  const content = JSON.parse(row.content) as SiteContent;
  const loaded = {
    content,
    layout: layOut(content),
    isMixed: isVisibilityMixed(content),
    weight: 4 * row.content.length,
  };
  versions.set(key, loaded);
  return loaded;
}
