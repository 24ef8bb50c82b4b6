import type { CanonicalOrigin } from "../../core/origin.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { inBackground } from "../background.ts";
import { withDeadline } from "../deadline.ts";
import { describeFailure } from "../log.ts";
import { tellNotifier } from "../notifications/tell-notifier.ts";
import { getOrigin } from "../registry/origins.ts";
import { HUB_WAIT_MS, reconsiderHub } from "../releases/hub-client.ts";
import type { AdminContext } from "./environment.ts";

/**
 * Has the origin's hub take up what was just decided, and clients that listen told of it. The decision stands whether these hear of it or not:
 * the hub's next discovery asks anyway, and so does the notifier.
 */
export async function tellHub(c: AdminContext, id: string): Promise<void> {
  forgetPolicy();
  try {
    const { origin } = await getOrigin(c.get("registry"), id);
    await withDeadline(reconsiderHub(c.env, origin as CanonicalOrigin), HUB_WAIT_MS);
    inBackground(c, tellNotifier(c.env, origin as CanonicalOrigin, false));
  } catch (error) {
    console.warn(JSON.stringify({ event: "hub_not_told", origin: id, error: describeFailure(error) }));
  }
}
