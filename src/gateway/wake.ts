import type { CanonicalOrigin } from "../core/origin.ts";
import { type Env, readSettings } from "./env.ts";
import { describeFailure } from "./log.ts";
import { wakeHub } from "./releases/hub-client.ts";
import { recentlyCalled } from "./releases/last-called.ts";
import { sandboxFor } from "./sandbox.ts";

/** Origins woken by one run of the cron; an invocation may make only so many subrequests. */
const WAKE_LIMIT = 200;
/** Hubs woken at once. */
const BATCH = 10;

/** What the cron does every minute: wakes the hubs of the origins called lately and warms the sandbox. */
export async function wakeRecent(env: Env, now: number): Promise<{ readonly woken: number; readonly failed: number }> {
  const result = readSettings(env);
  if (!result.ok) return { woken: 0, failed: 0 };
  try {
    await sandboxFor(result.settings).warm();
  } catch (error) {
    // The hubs are woken all the same: a release is worth having where another isolate can run it.
    console.error(JSON.stringify({ event: "sandbox_not_warm", error: describeFailure(error) }));
  }
  const origins = await recentlyCalled(env.DB, now, WAKE_LIMIT);
  let failed = 0;
  for (let start = 0; start < origins.length; start += BATCH) {
    const batch = origins.slice(start, start + BATCH).map((origin: CanonicalOrigin) => wakeHub(env, origin));
    failed += (await Promise.allSettled(batch)).filter(({ status }) => status === "rejected").length;
  }
  return { woken: origins.length, failed };
}
