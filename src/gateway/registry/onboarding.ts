import { eq } from "drizzle-orm";
import type { ReleaseSkill } from "../../core/discovery/release.ts";
import type { JsonObject } from "../../core/json.ts";
import { removeUnreferenced, writeArtifacts } from "./artifacts.ts";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { type Forgotten, forgetSurplus, namedArtifacts } from "./kept-versions.ts";
import { getOrigin, ORIGIN_STEPS, type OriginRow, requireStep, setStatus } from "./origins.ts";
import { requireNoRevokedHash } from "./revocations.ts";
import { origins } from "./schema.ts";
import { recipesOf, seeSkills } from "./seen-skills.ts";
import { approvableProbed, approveProbed, nextApproval } from "./skills.ts";

/**
 * Records that a successful probe saw these skill versions now, with their sources and recipes, and forgets what the origin has too much
 * of.
 * @returns the origin with its new `probedAt`.
 * @throws RegistryError `not_found`, `bad_state` (a revoked origin is not probed).
 */
export async function recordProbe(
  registry: Registry,
  acting: Acting,
  originId: string,
  seen: readonly ReleaseSkill[],
  facts: JsonObject,
): Promise<OriginRow> {
  const bytes = artifactsOf(seen);
  const before = new Set([...(await namedArtifacts(registry, originId)), ...bytes.keys()]);
  await writeArtifacts(registry, bytes);
  try {
    return await recordSeen(registry, acting, originId, seen, facts);
  } finally {
    const forgotten = await forgetSurplus(registry, originId, before);
    if (forgotten.approvedBytes + forgotten.rejections > 0)
      await recordForgotten(registry, acting, originId, forgotten);
  }
}

function recordForgotten(registry: Registry, acting: Acting, originId: string, forgotten: Forgotten): Promise<void> {
  return mutate(registry, acting, async () => ({
    result: undefined,
    writes: [],
    audit: { action: "skill.forget", subject: originId, detail: { ...forgotten } },
  }));
}

function artifactsOf(seen: readonly ReleaseSkill[]): ReadonlyMap<string, Uint8Array> {
  const bytes = new Map<string, Uint8Array>();
  for (const { toolSha256, source, recipe } of seen) {
    bytes.set(toolSha256, source);
    if (recipe?.verified) bytes.set(recipe.sha256, new TextEncoder().encode(recipe.text));
  }
  return bytes;
}

function recordSeen(
  registry: Registry,
  acting: Acting,
  originId: string,
  seen: readonly ReleaseSkill[],
  facts: JsonObject,
): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const row = await getOrigin(registry, originId);
    requireProbeable(row);
    // Strictly later than any probe before it, since this moment names the set of skills that the probe saw.
    const probedAt = Math.max(acting.now, (row.probedAt ?? 0) + 1);
    return {
      result: { ...row, probedAt },
      writes: [
        registry.update(origins).set({ probedAt }).where(eq(origins.id, originId)),
        ...seeSkills(registry, originId, probedAt, seen),
      ],
      audit: { action: "origin.probe", subject: originId, detail: { origin: row.origin, probedAt, ...facts } },
    };
  });
}

/** Records a probe that failed: an audit row, and nothing else. */
export function recordFailedProbe(
  registry: Registry,
  acting: Acting,
  originId: string,
  code: string,
): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const row = await getOrigin(registry, originId);
    requireProbeable(row);
    return {
      result: row,
      writes: [],
      audit: { action: "origin.probe", subject: originId, detail: { origin: row.origin, error: code } },
    };
  });
}

/** @throws RegistryError `bad_state` for a revoked origin: nobody asks it for anything again. */
export function requireProbeable(row: OriginRow): void {
  if (row.status !== "revoked") return;
  throw new RegistryError("bad_state", "The origin is revoked, which is final; it is not probed any more.", row.id);
}

/**
 * Makes an origin active and approves exactly the skill versions of the probe recorded at `probedAt`, but for those that an operator
 * rejected: each becomes the last approved version of its skill.
 *
 * @param mayLackTools whether it may have none to approve, since it has Agent Skills.
 * @throws RegistryError `not_found`, `bad_state`, `probe_changed` (another probe was recorded since), `no_skills`, `hash_revoked`.
 */
export async function activateOrigin(
  registry: Registry,
  acting: Acting,
  id: string,
  probedAt: number,
  mayLackTools = false,
): Promise<OriginRow> {
  const { row, approved } = await mutate(registry, acting, async () => {
    const row = await getOrigin(registry, id);
    requireStep(row, "activate");
    if (row.probedAt !== probedAt) {
      throw new RegistryError(
        "probe_changed",
        "Another probe was recorded since; review it before you activate.",
        id,
        "probedAt",
      );
    }
    const approved = await approvableProbed(registry, id, probedAt);
    if (approved.length === 0 && !mayLackTools) {
      throw new RegistryError("no_skills", "The latest probe found no skill that could be approved.", id);
    }
    await requireNoRevokedHash(registry, approved);
    const approvedAt = await nextApproval(registry, id, acting.now);
    const next: OriginRow = { ...row, status: ORIGIN_STEPS.activate.to, updatedAt: acting.now };
    return {
      result: { row: next, approved },
      writes: [setStatus(registry, next), approveProbed(registry, acting.actor, id, probedAt, approvedAt)],
      audit: {
        action: ORIGIN_STEPS.activate.action,
        subject: id,
        detail: {
          origin: row.origin,
          from: row.status,
          probedAt,
          approved: approved.map(({ scope, name, toolSha256 }) => ({
            scope: scope === "" ? null : scope,
            name,
            toolSha256,
          })),
        },
      },
    };
  });
  await removeUnreferenced(registry, approved.flatMap(recipesOf));
  return row;
}
