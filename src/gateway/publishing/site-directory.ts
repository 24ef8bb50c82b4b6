import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { siteHosts } from "../registry/schema.ts";

/** Whoever answers for a host must know of a new one soon; whoever fetches from one may be late, since that host leads here anyway. */
export const SERVING_MAX_AGE_MS = 5_000;
export const FETCHING_MAX_AGE_MS = 60_000;
const MAX_HOSTS = 10_000;
const READ_TIMEOUT_MS = 2_000;
/** After a failed read nobody asks again for this long. */
const OUTAGE_PAUSE_MS = 1_000;

interface Directory {
  readonly hosts: ReadonlySet<string>;
  readonly readAt: number;
  /** Epoch milliseconds. */
  failedAt: number;
}

/** One for each database that this isolate serves, which is one in production. */
let directories = new WeakMap<D1Database, Directory>();

/** To be called after every change of hosts: the change is then in force at once in this isolate. */
export function forgetSiteHosts(): void {
  directories = new WeakMap();
}

/**
 * The hosts that belong to sites, at most so old. While the database fails they are as they were last known: a host is then one of a site
 * for longer than it should be, or not yet.
 */
export async function siteHostsOf({ DB }: Env, maxAgeMs: number, now: number): Promise<ReadonlySet<string>> {
  const known = directories.get(DB);
  const isYoung = known !== undefined && known.readAt <= now && now - known.readAt <= maxAgeMs;
  if (known !== undefined && (isYoung || Math.abs(now - known.failedAt) < OUTAGE_PAUSE_MS)) return known.hosts;
  try {
    const query = openRegistry(DB).select({ host: siteHosts.host }).from(siteHosts).limit(MAX_HOSTS);
    const hosts = new Set((await withDeadline(query, READ_TIMEOUT_MS)).map(({ host }) => host));
    directories.set(DB, { hosts, readAt: now, failedAt: 0 });
    return hosts;
  } catch (error) {
    console.warn(JSON.stringify({ event: "site_hosts_not_read", error: describeFailure(error) }));
    const kept = known ?? { hosts: new Set<string>(), readAt: 0, failedAt: 0 };
    directories.set(DB, { ...kept, failedAt: now });
    return kept.hosts;
  }
}
