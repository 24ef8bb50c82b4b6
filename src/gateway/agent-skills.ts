import type { Context } from "hono";
import type { AgentSkills } from "../core/agent-skills/skills-provider.ts";
import { inBackground } from "./background.ts";
import { reportMismatch } from "./publishing/mismatch.ts";
import { readSite } from "./publishing/read-site.ts";
import { siteOfOrigin } from "./publishing/site-fetch.ts";
import { siteSkills } from "./publishing/site-skills.ts";
import type { GatewayContext } from "./request-context.ts";

/**
 * The Agent Skills of the request's origin, as its client may see them: those of the site that this gateway hosts there, as it is at this
 * moment; null where there are none.
 *
 * @throws {GatewayError} `policy_unavailable`.
 */
export async function findSkills(c: Context<GatewayContext>): Promise<AgentSkills | null> {
  const { env } = c;
  const now = Date.now();
  const name = await siteOfOrigin(env, c.get("settings"), c.get("origin"), now);
  const served = name === null ? null : await readSite(env, name, now);
  if (served === null) return null;
  const { decisions, rules } = c.get("originPolicy");
  return siteSkills(env, served, {
    catalog: c.get("catalog"),
    rules: rules?.tools ?? null,
    pointer: decisions.agentSkillsPointer,
    requestId: c.get("requestId"),
    onMismatch: (mismatch) => inBackground(c, reportMismatch(env, mismatch, now)),
  });
}
