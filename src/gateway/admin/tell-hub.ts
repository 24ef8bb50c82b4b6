import type { CanonicalOrigin } from "../../core/origin.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { describeFailure } from "../log.ts";
import { getOrigin } from "../registry/origins.ts";
import { HUB_WAIT_MS, reconsiderHub } from "../releases/hub-client.ts";
import type { AdminContext } from "./environment.ts";

/** Has the origin's hub take up what was just decided. The decision stands whether the hub hears of it or not: its next discovery asks anyway. */
export async function tellHub(c: AdminContext, id: string): Promise<void> {
  forgetPolicy();
  try {
    const { origin } = await getOrigin(c.get("registry"), id);
    await withDeadline(reconsiderHub(c.env, origin as CanonicalOrigin), HUB_WAIT_MS);
  } catch (error) {
    console.warn(JSON.stringify({ event: "hub_not_told", origin: id, error: describeFailure(error) }));
  }
}
