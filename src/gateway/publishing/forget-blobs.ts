import type { Env } from "../env.ts";
import { describeFailure } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { forgetBlobs, forgetUnnamedBlobs, someBlobs } from "../registry/site-blobs.ts";
import { deletedSites } from "../registry/sites.ts";
import { removeSiteBytes } from "./site-bucket.ts";

const BLOBS_A_RUN = 50;

/** The bucket removes as many at once. */
const BLOBS_OF_A_DELETED_SITE = 1_000;
const DELETED_SITES_A_RUN = 3;

/** What the cron does with bytes of sites that no version names any more, and with those of deleted sites. Never fails. @returns how many it removed. */
export async function forgetOldSiteBytes(env: Env, now: number): Promise<number> {
  const registry = openRegistry(env.DB);
  try {
    const forgotten = await forgetUnnamedBlobs(registry, now, BLOBS_A_RUN);
    await removeSiteBytes(env, forgotten);
    let count = forgotten.length;
    for (const siteId of await deletedSites(registry, DELETED_SITES_A_RUN)) {
      const hashes = await someBlobs(registry, siteId, BLOBS_OF_A_DELETED_SITE);
      // From the bucket first: what the database still names is tried again.
      await removeSiteBytes(
        env,
        hashes.map((sha256) => ({ siteId, sha256 })),
      );
      await forgetBlobs(registry, siteId, hashes);
      count += hashes.length;
    }
    return count;
  } catch (error) {
    console.warn(JSON.stringify({ event: "site_bytes_not_forgotten", error: describeFailure(error) }));
    return 0;
  }
}
