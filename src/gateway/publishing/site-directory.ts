import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { siteHosts, sites } from "../registry/schema.ts";
import { MAX_SITE_HOSTS } from "../registry/sites.ts";

/** Whoever answers for a host must know of a new one soon; whoever fetches from one may be late, since that host leads here anyway. */
export const SERVING_MAX_AGE_MS = 5_000;
export const FETCHING_MAX_AGE_MS = 60_000;
const MAX_NAMES = 10_000;
const READ_TIMEOUT_MS = 2_000;
/** Where something is known already, nobody waits long to know better. */
const REFRESH_TIMEOUT_MS = 500;
/** After a failed read nobody asks again for this long. */
const OUTAGE_PAUSE_MS = 1_000;

/** Which hosts and names belong to sites. */
export interface SiteDirectory {
  readonly hosts: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  /** There are more names than these. */
  readonly isCut: boolean;
}

interface Entry {
  readonly directory: SiteDirectory | null;
  readonly readAt: number;
  /** Epoch milliseconds. */
  readonly failedAt: number;
}

/** One for each database that this isolate serves, which is one in production. */
let entries = new WeakMap<D1Database, Entry>();

/** To be called after every change of hosts and names: the change is then in force at once in this isolate. */
export function forgetSiteDirectory(): void {
  entries = new WeakMap();
}

/**
 * The hosts and names of sites, at most so old: what is not among them costs the database nothing. While it fails they are as they were last
 * known; null where they never were.
 */
export async function siteDirectoryOf({ DB }: Env, maxAgeMs: number, now: number): Promise<SiteDirectory | null> {
  const known = entries.get(DB);
  const isYoung = known !== undefined && known.readAt <= now && now - known.readAt <= maxAgeMs;
  if (known !== undefined && (isYoung || Math.abs(now - known.failedAt) < OUTAGE_PAUSE_MS)) return known.directory;
  try {
    const directory = await withDeadline(
      readDirectory(DB),
      known?.directory == null ? READ_TIMEOUT_MS : REFRESH_TIMEOUT_MS,
    );
    entries.set(DB, { directory, readAt: now, failedAt: 0 });
    return directory;
  } catch (error) {
    console.warn(JSON.stringify({ event: "site_directory_not_read", error: describeFailure(error) }));
    const directory = known?.directory ?? null;
    entries.set(DB, { directory, readAt: known?.readAt ?? 0, failedAt: now });
    return directory;
  }
}

async function readDirectory(database: D1Database): Promise<SiteDirectory> {
  const registry = openRegistry(database);
  const [hosts, names] = await registry.batch([
    registry.select({ host: siteHosts.host }).from(siteHosts).limit(MAX_SITE_HOSTS),
    registry.select({ name: sites.name }).from(sites).limit(MAX_NAMES),
  ]);
  return {
    hosts: new Set(hosts.map(({ host }) => host)),
    names: new Set(names.map(({ name }) => name)),
    isCut: names.length === MAX_NAMES,
  };
}
