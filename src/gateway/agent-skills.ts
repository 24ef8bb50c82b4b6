import type { Context } from "hono";
import type { AgentSkills } from "../core/agent-skills/skills-provider.ts";
import type { Catalog } from "../core/catalog.ts";
import type { Release } from "../core/discovery/release.ts";
import type { CanonicalOrigin } from "../core/origin.ts";
import type { OriginPolicy } from "./auth/policy.ts";
import { inBackground } from "./background.ts";
import type { Env, Settings } from "./env.ts";
import { GatewayError } from "./errors.ts";
import { type Hold, heldBytes } from "./publishing/held-bytes.ts";
import { reportMismatch } from "./publishing/mismatch.ts";
import { readSite } from "./publishing/read-site.ts";
import { siteOfOrigin } from "./publishing/site-fetch.ts";
import { type HoldBytes, siteSkills } from "./publishing/site-skills.ts";
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
  /** Makes room for what is read of a site's files. */
  readonly hold: HoldBytes;
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
    hold: (bytes) => holdBytes(c, bytes),
    waitUntil: (work) => inBackground(c, work),
  });
}

/** What no room is asked for, bytes. */
const SMALL_BYTES = 64 * 1024;

/** Until the answer has left; an answer that holds bytes is handed over as its reader takes it. */
async function holdBytes(c: Context<GatewayContext>, bytes: number): Promise<Hold | null> {
  if (bytes <= SMALL_BYTES) return null;
  const hold = await heldBytes.take(bytes, c.get("client").clientId);
  if (hold === null) {
    const message = "Too many large files of skills are being read at this moment.";
    throw new GatewayError("skill_unavailable", { message, retryAfter: 2 });
  }
  c.set("held", [...(c.get("held") ?? []), hold]);
  return hold;
}

/**
 * The Agent Skills of an origin, as a client may see them: those of the site that this gateway hosts there, as it is at this moment, or those
 * of the publisher's index, where an operator wants them; null where there can be none.
 *
 * @throws {GatewayError} `policy_unavailable`.
 */
export async function skillsOf(
  env: Env,
  { settings, origin, originPolicy, release, catalog, requestId, hold, waitUntil }: SkillsQuestion,
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
    hold,
    onMismatch: (mismatch) => waitUntil(reportMismatch(env, mismatch, now)),
  });
}
