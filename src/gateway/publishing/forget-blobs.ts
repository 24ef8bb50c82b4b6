import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { forgetUnnamedBlobs } from "../registry/site-blobs.ts";
import { removeSiteBytes } from "./site-bucket.ts";

const BLOBS_A_RUN = 50;

/** What the cron does with bytes of sites that no version names any more. Never fails. @returns how many it removed. */
export async function forgetOldSiteBytes(env: Env, now: number): Promise<number> {
  try {
    const forgotten = await forgetUnnamedBlobs(openRegistry(env.DB), now, BLOBS_A_RUN);
    await removeSiteBytes(env, forgotten);
    return forgotten.length;
  } catch (error) {
    console.warn(JSON.stringify({ event: "site_bytes_not_forgotten", error: describeFailure(error) }));
    return 0;
  }
}
