import { and, asc, count, desc, eq, gt, inArray, isNotNull, lt, ne, sql } from "drizzle-orm";
import type { PublicationWarning } from "../../core/agent-skills/check-artifact.ts";
import type { SiteContent } from "../../core/agent-skills/publication.ts";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, type Statement, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, holds, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { siteHosts, sites, siteVersions } from "./schema.ts";

/** Versions of a site that are kept, the current one included. */
const KEPT_VERSIONS = 20;
/** … and those that were replaced less than the grace period ago, up to so many. */
const KEPT_IN_GRACE = 100;
/** Hosts of all sites together: every isolate knows them all. */
export const MAX_SITE_HOSTS = 10_000;
/** Characters of a version's JSON: D1 caps a row at 2 MB. */
export const MAX_CONTENT_CHARS = 1_500_000;

export type SiteRow = typeof sites.$inferSelect;
type VersionRow = typeof siteVersions.$inferSelect;

/** A site with its hosts, in their own order. */
export interface Site extends SiteRow {
  readonly hosts: readonly string[];
}

export interface SiteSettings extends Pick<SiteRow, "authenticatedMeans" | "entriesAlias" | "artifactUrls" | "graceS"> {
  readonly hosts: readonly string[];
}

export type SiteChange = { readonly [K in keyof SiteSettings]: SiteSettings[K] | undefined } & {
  readonly status: SiteRow["status"] | undefined;
};

export type SiteVersion = Omit<VersionRow, "content">;

/** @throws RegistryError `already_exists` (the name, or one of the hosts, is a site's; `id` names it). */
export function createSite(registry: Registry, acting: Acting, name: string, settings: SiteSettings): Promise<Site> {
  return mutate(registry, acting, async () => {
    const [taken] = await registry.select().from(sites).where(eq(sites.name, name));
    if (taken !== undefined) throw new RegistryError("already_exists", "Another site has this name.", taken.id, "name");
    const { hosts, ...columns } = settings;
    const row: SiteRow = {
      id: newId("sit"),
      name,
      status: "active",
      ...columns,
      currentVersion: null,
      switchedAt: null,
      createdAt: acting.now,
      updatedAt: acting.now,
    };
    await requireFreeHosts(registry, hosts, row.id);
    return {
      result: { ...row, hosts: hosts.toSorted() },
      writes: [registry.insert(sites).values(row), ...hostWrites(registry, row.id, hosts)],
      audit: { action: "site.create", subject: row.id, detail: { name, ...columns, hosts: [...hosts] } },
    };
  });
}

/** @throws RegistryError `not_found`, `already_exists` (one of the hosts is another site's). */
export function updateSite(registry: Registry, acting: Acting, id: string, change: SiteChange): Promise<Site> {
  return mutate(registry, acting, async () => {
    const before = await getSite(registry, id);
    const detail: Record<string, JsonObject[string]> = {};
    const columns: Record<string, unknown> = {};
    for (const key of ["status", "authenticatedMeans", "entriesAlias", "artifactUrls", "graceS"] as const) {
      const value = change[key];
      if (value === undefined || value === before[key]) continue;
      detail[key] = value;
      columns[key] = value;
    }
    const hosts = change.hosts?.toSorted() ?? before.hosts;
    const movesHosts = hosts.join() !== before.hosts.join();
    if (movesHosts) detail.hosts = [...hosts];
    if (Object.keys(detail).length === 0) return { result: before };
    if (movesHosts) await requireFreeHosts(registry, hosts, id);
    const updatedAt = acting.now;
    return {
      result: { ...before, ...columns, hosts, updatedAt } as Site,
      writes: [
        registry
          .update(sites)
          .set({ ...columns, updatedAt })
          .where(eq(sites.id, id)),
        ...(movesHosts
          ? [registry.delete(siteHosts).where(eq(siteHosts.siteId, id)), ...hostWrites(registry, id, hosts)]
          : []),
      ],
      audit: { action: "site.update", subject: id, detail },
    };
  });
}

/**
 * Deletes a site with its versions; its name and its hosts are free at once. A row under its id stays until its bytes are removed
 * ({@link deletedSites}).
 *
 * @throws RegistryError `not_found`.
 */
export function deleteSite(registry: Registry, acting: Acting, id: string): Promise<void> {
  return mutate(registry, acting, async () => {
    const { name, hosts, currentVersion } = await getSite(registry, id);
    return {
      result: undefined,
      writes: [
        registry.delete(siteHosts).where(eq(siteHosts.siteId, id)),
        registry.delete(siteVersions).where(eq(siteVersions.siteId, id)),
        registry
          .update(sites)
          .set({ name: id, status: "suspended", currentVersion: null, updatedAt: acting.now })
          .where(eq(sites.id, id)),
      ],
      audit: { action: "site.delete", subject: id, detail: { name, hosts: [...hosts], version: currentVersion } },
    };
  });
}

/** Some sites that were deleted and have bytes yet. */
export async function deletedSites(registry: Registry, limit: number): Promise<readonly string[]> {
  // No name that somebody gave has an underscore, so that these lie side by side in the index of names.
  const rows = await registry
    .select({ id: sites.id })
    .from(sites)
    .where(and(gt(sites.name, "sit_"), lt(sites.name, "sit`")))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** @throws RegistryError `not_found`. */
export async function getSite(registry: Registry, id: string): Promise<Site> {
  const [row] = await registry
    .select()
    .from(sites)
    .where(and(eq(sites.id, id), ne(sites.name, id)));
  if (row === undefined) throw new RegistryError("not_found", "There is no site with this id.");
  return { ...row, hosts: await hostsOf(registry, [id]).then((hosts) => hosts.get(id) ?? []) };
}

export interface SiteFilter {
  readonly name?: string | undefined;
  readonly status?: SiteRow["status"] | undefined;
  /** Part of the name. */
  readonly q?: string | undefined;
}

/** Oldest first. @param filter all of what is given must hold. */
export async function listSites(
  registry: Registry,
  { name, status, q }: SiteFilter,
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<Site>> {
  const rows = await registry
    .select()
    .from(sites)
    .where(
      and(
        name === undefined ? undefined : eq(sites.name, name),
        ne(sites.name, sites.id),
        status === undefined ? undefined : eq(sites.status, status),
        holds(sites.name, q),
        isAfter(sites.createdAt, sites.id, after),
      ),
    )
    .orderBy(asc(sites.createdAt), asc(sites.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, (row): CreatedKey => [row.createdAt, row.id]);
  const hosts = await hostsOf(
    registry,
    page.items.map(({ id }) => id),
  );
  return { ...page, items: page.items.map((row) => ({ ...row, hosts: hosts.get(row.id) ?? [] })) };
}

export interface NewVersion {
  readonly content: SiteContent;
  /** What the checks of its bytes found odd: handed on to whoever publishes. */
  readonly warnings: readonly PublicationWarning[];
  readonly note: string | null;
  /** The version that the publisher knows to be the current one; `undefined`: whichever is. */
  readonly base: number | null | undefined;
}

export interface PublishedVersion extends SiteVersion {
  readonly warnings: readonly PublicationWarning[];
}

/**
 * Publishes: writes a version and makes it the current one in one batch, so that every request sees the one before or this one whole.
 * Older ones beyond {@link KEPT_VERSIONS} are forgotten when their grace period is over.
 *
 * @throws RegistryError `not_found`, `version_changed`.
 */
export function publishVersion(
  registry: Registry,
  acting: Acting,
  id: string,
  wanted: NewVersion,
): Promise<PublishedVersion> {
  return mutate(registry, acting, async () => {
    const site = await getSite(registry, id);
    if (wanted.base !== undefined && wanted.base !== site.currentVersion) {
      throw new RegistryError(
        "version_changed",
        `The current version is ${site.currentVersion ?? "none"}.`,
        site.id,
        "base",
      );
    }
    const [last] = await registry
      .select({ version: siteVersions.version })
      .from(siteVersions)
      .where(eq(siteVersions.siteId, id))
      .orderBy(desc(siteVersions.version))
      .limit(1);
    const row: SiteVersion = {
      siteId: id,
      version: (last?.version ?? 0) + 1,
      publishedAt: acting.now,
      publishedBy: acting.actor,
      note: wanted.note,
      retiredAt: null,
    };
    return {
      result: { ...row, warnings: wanted.warnings },
      writes: [
        registry.insert(siteVersions).values({ ...row, content: JSON.stringify(wanted.content) }),
        ...switchVersion(registry, site, row.version, acting.now),
        registry
          .delete(siteVersions)
          .where(
            and(
              eq(siteVersions.siteId, id),
              isNotNull(siteVersions.retiredAt),
              sql`${siteVersions.version} <= ${row.version - KEPT_VERSIONS}`,
              sql`(${siteVersions.retiredAt} <= ${acting.now - site.graceS * 1_000} OR ${siteVersions.version} <= ${row.version - KEPT_IN_GRACE})`,
            ),
          ),
      ],
      audit: { action: "site.publish", subject: id, detail: { version: row.version, before: site.currentVersion } },
    };
  });
}

/** Makes a kept version the current one again. @throws RegistryError `not_found`, `no_version`, `bad_state` (it is the current one). */
export function rollBack(registry: Registry, acting: Acting, id: string, version: number): Promise<Site> {
  return mutate(registry, acting, async () => {
    const site = await getSite(registry, id);
    await getVersion(registry, id, version).catch((error) => {
      throw error instanceof RegistryError
        ? new RegistryError("no_version", `The site has no version ${version}, or it is kept no more.`, null, "version")
        : error;
    });
    if (site.currentVersion === version)
      throw new RegistryError("bad_state", `Version ${version} is the current one.`, id);
    const switchedAt = switchTime(site, acting.now);
    return {
      result: { ...site, currentVersion: version, switchedAt, updatedAt: acting.now },
      writes: switchVersion(registry, site, version, acting.now),
      audit: { action: "site.rollback", subject: id, detail: { version, before: site.currentVersion } },
    };
  });
}

/** Latest first. */
export async function listVersions(
  registry: Registry,
  id: string,
  { limit, after }: PageRequest<number>,
): Promise<Page<SiteVersion>> {
  await getSite(registry, id);
  const { content: _, ...columns } = VERSION_COLUMNS;
  const rows = await registry
    .select(columns)
    .from(siteVersions)
    .where(and(eq(siteVersions.siteId, id), after === null ? undefined : sql`${siteVersions.version} < ${after}`))
    .orderBy(desc(siteVersions.version))
    .limit(limit + 1);
  return toPage(rows, limit, (row) => row.version);
}

/** @throws RegistryError `not_found`. */
export async function getVersion(
  registry: Registry,
  id: string,
  version: number,
): Promise<SiteVersion & { readonly content: SiteContent }> {
  const [row] = await registry
    .select()
    .from(siteVersions)
    .where(and(eq(siteVersions.siteId, id), eq(siteVersions.version, version)));
  if (row === undefined) throw new RegistryError("not_found", "The site has no such version, or it is kept no more.");
  return { ...row, content: JSON.parse(row.content) as SiteContent };
}

const VERSION_COLUMNS = {
  siteId: siteVersions.siteId,
  version: siteVersions.version,
  content: siteVersions.content,
  publishedAt: siteVersions.publishedAt,
  publishedBy: siteVersions.publishedBy,
  note: siteVersions.note,
  retiredAt: siteVersions.retiredAt,
};

/** The moment of a switch, in a second of its own, so that `If-Modified-Since` tells any two versions apart. */
function switchTime({ switchedAt }: SiteRow, now: number): number {
  return switchedAt === null ? now : Math.max(now, switchedAt + 1_000);
}

function switchVersion(registry: Registry, site: SiteRow, version: number, now: number): Statement[] {
  return [
    registry
      .update(sites)
      .set({ currentVersion: version, switchedAt: switchTime(site, now), updatedAt: now })
      .where(eq(sites.id, site.id)),
    registry
      .update(siteVersions)
      .set({ retiredAt: sql`CASE WHEN ${siteVersions.version} = ${version} THEN NULL ELSE ${now} END` })
      .where(
        and(
          eq(siteVersions.siteId, site.id),
          sql`(${siteVersions.version} = ${version} OR ${siteVersions.retiredAt} IS NULL)`,
        ),
      ),
  ];
}

async function hostsOf(registry: Registry, ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  if (ids.length === 0) return new Map();
  const rows = await registry
    .select()
    .from(siteHosts)
    .where(inArray(siteHosts.siteId, valuesOf(ids)))
    .orderBy(asc(siteHosts.host));
  return new Map([...Map.groupBy(rows, ({ siteId }) => siteId)].map(([id, own]) => [id, own.map(({ host }) => host)]));
}

async function requireFreeHosts(registry: Registry, hosts: readonly string[], id: string): Promise<void> {
  if (hosts.length === 0) return;
  const [taken] = await registry
    .select()
    .from(siteHosts)
    .where(and(inArray(siteHosts.host, valuesOf(hosts)), ne(siteHosts.siteId, id)))
    .limit(1);
  const [all] = await registry.select({ hosts: count() }).from(siteHosts).where(ne(siteHosts.siteId, id));
  if ((all?.hosts ?? 0) + hosts.length > MAX_SITE_HOSTS) {
    throw new RegistryError("too_many_hosts", `Sites have at most ${MAX_SITE_HOSTS} hosts together.`, null, "hosts");
  }
  if (taken === undefined) return;
  throw new RegistryError("already_exists", `Another site has the host ${taken.host}.`, taken.siteId, "hosts");
}

function hostWrites(registry: Registry, siteId: string, hosts: readonly string[]): Statement[] {
  return hosts.length === 0 ? [] : [registry.insert(siteHosts).values(hosts.map((host) => ({ host, siteId })))];
}
