import { and, eq, inArray } from "drizzle-orm";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { inBackground } from "../background.ts";
import { describeFailure } from "../log.ts";
import { tellNotifier } from "../notifications/tell-notifier.ts";
import { SITES_PATH } from "../publishing/site-address.ts";
import { valuesOf } from "../registry/database.ts";
import { NEXT_POLICY_VERSION } from "../registry/origins.ts";
import { origins } from "../registry/schema.ts";
import type { Site } from "../registry/sites.ts";
import { refreshHub, withdrawAtHub } from "../releases/hub-client.ts";
import type { AdminContext } from "./environment.ts";

type SiteAddress = Pick<Site, "name" | "hosts">;

/**
 * Has the origins that a site is published under discovered anew, in the background; of one that is taken down nothing is served any more. What
 * is not told is found by their next discovery.
 */
export function tellSite(c: AdminContext, site: SiteAddress, isTakenDown = false): void {
  inBackground(c, tellOrigins(c, site, isTakenDown));
}

async function tellOrigins(c: AdminContext, { name, hosts }: SiteAddress, isTakenDown: boolean): Promise<void> {
  try {
    const { publicHosts } = c.get("settings");
    const addresses = [...hosts, ...publicHosts.map((host) => `${host}${SITES_PATH}${name}`)];
    const rows = await c
      .get("registry")
      .select({ origin: origins.origin })
      .from(origins)
      .where(
        and(
          eq(origins.status, "active"),
          inArray(
            origins.origin,
            valuesOf(addresses.flatMap((address) => [`https://${address}`, `http://${address}`])),
          ),
        ),
      );
    if (isTakenDown) await outdate(c, rows);
    const tellings = (rows as { origin: CanonicalOrigin }[]).map(({ origin }) => tellOrigin(c, origin, isTakenDown));
    for (const telling of await Promise.allSettled(tellings)) {
      if (telling.status === "rejected") noteFailure(name, telling.reason);
    }
  } catch (error) {
    noteFailure(name, error);
  }
}

async function tellOrigin(c: AdminContext, origin: CanonicalOrigin, isTakenDown: boolean): Promise<void> {
  try {
    await (isTakenDown ? withdrawAtHub : refreshHub)(c.env, origin);
  } finally {
    // Its skills change without a release of tools.
    await tellNotifier(c.env, origin, false);
  }
}

function noteFailure(site: string, error: unknown): void {
  console.warn(JSON.stringify({ event: "site_not_told", site, error: describeFailure(error) }));
}

/** Has every isolate ask the hubs anew, within the time that policy may be old. */
async function outdate(c: AdminContext, rows: readonly { readonly origin: string }[]): Promise<void> {
  await c
    .get("registry")
    .update(origins)
    .set({ policyVersion: NEXT_POLICY_VERSION })
    .where(inArray(origins.origin, valuesOf(rows.map(({ origin }) => origin))));
  forgetPolicy();
}
