import type { Context } from "hono";
import type { AgentSkills } from "../core/agent-skills/skills-provider.ts";
import type { Catalog } from "../core/catalog.ts";
import type { Release } from "../core/discovery/release.ts";
import type { CanonicalOrigin } from "../core/origin.ts";
import type { OriginPolicy } from "./auth/policy.ts";
import { inBackground } from "./background.ts";
import type { Env, Settings } from "./env.ts";
import { reportMismatch } from "./publishing/mismatch.ts";
import { readSite } from "./publishing/read-site.ts";
import { siteOfOrigin } from "./publishing/site-fetch.ts";
import { siteSkills } from "./publishing/site-skills.ts";
import { releaseSkills } from "./releases/release-skills.ts";
import type { GatewayContext } from "./request-context.ts";

/** Whose skills of which origin are looked for, and for what. */
export interface SkillsQuestion {
  readonly settings: Settings;
  readonly origin: CanonicalOrigin;
  readonly originPolicy: OriginPolicy;
  readonly release: Release;
  /** What was admitted of the release. */
  readonly catalog: Catalog;
  readonly requestId: string;
  /** Keeps background work alive after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** The Agent Skills of the request's origin, see {@link skillsOf}. */
export function findSkills(c: Context<GatewayContext>): Promise<AgentSkills | null> {
  return skillsOf(c.env, {
    settings: c.get("settings"),
    origin: c.get("origin"),
    originPolicy: c.get("originPolicy"),
    release: c.get("release"),
    catalog: c.get("catalog"),
    requestId: c.get("requestId"),
    waitUntil: (work) => inBackground(c, work),
  });
}

/**
 * The Agent Skills of an origin, as a client may see them: those of the site that this gateway hosts there, as it is at this moment, or those
 * of the publisher's index, where an operator wants them; null where there can be none.
 *
 * @throws {GatewayError} `policy_unavailable`.
 */
export async function skillsOf(
  env: Env,
  { settings, origin, originPolicy, release, catalog, requestId, waitUntil }: SkillsQuestion,
): Promise<AgentSkills | null> {
  const now = Date.now();
  const name = await siteOfOrigin(env, settings, origin, now);
  const { decisions, rules } = originPolicy;
  if (name === null) {
    const { agentSkills, agentSkillsPointer } = decisions;
    return agentSkills
      ? releaseSkills(release, rules?.tools ?? null, settings.unverifiedRecipes, agentSkillsPointer)
      : null;
  }
  const served = await readSite(env, name, now);
  if (served === null) return null;
  return siteSkills(env, served, {
    catalog,
    rules: rules?.tools ?? null,
    pointer: decisions.agentSkillsPointer,
    requestId,
    onMismatch: (mismatch) => waitUntil(reportMismatch(env, mismatch, now)),
  });
}
