import { and, desc, eq, gt } from "drizzle-orm";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { describeFailure } from "../log.ts";
import { LruCache } from "../lru.ts";
import { openRegistry } from "../registry/database.ts";
import { origins } from "../registry/schema.ts";

const WRITE_INTERVAL_MS = 60_000;
/** Origins called within this time are kept warm by the cron. */
const WARM_MS = 30 * 60_000;

const written = new LruCache<string, number>(10_000);

/** Notes in D1 that an origin was called, at most once a minute an isolate. Never fails: it is a hint for the cron. */
export async function noteCall(database: D1Database, originId: string, now: number): Promise<void> {
  if (now - (written.get(originId) ?? 0) < WRITE_INTERVAL_MS) return;
  written.set(originId, now);
  try {
    await openRegistry(database).update(origins).set({ lastCalledAt: now }).where(eq(origins.id, originId));
  } catch (error) {
    console.warn(JSON.stringify({ event: "last_called_not_written", originId, error: describeFailure(error) }));
  }
}

/** True when the next {@link noteCall} of this origin would write. */
export function isCallDue(originId: string, now: number): boolean {
  return now - (written.get(originId) ?? 0) >= WRITE_INTERVAL_MS;
}

/** Active origins called lately, the most recent first. */
export async function recentlyCalled(database: D1Database, now: number, limit: number): Promise<CanonicalOrigin[]> {
  const rows = await openRegistry(database)
    .select({ origin: origins.origin })
    .from(origins)
    .where(and(eq(origins.status, "active"), gt(origins.lastCalledAt, now - WARM_MS)))
    .orderBy(desc(origins.lastCalledAt))
    .limit(limit);
  return rows.map(({ origin }) => origin as CanonicalOrigin);
}
