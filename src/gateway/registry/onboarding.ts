import { eq } from "drizzle-orm";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { getOrigin, ORIGIN_STEPS, type OriginRow, requireStep, setStatus } from "./origins.ts";
import { origins } from "./schema.ts";
import { approveSkills, probedSkills, type SeenSkill, seeSkills } from "./skills.ts";

/**
 * Records that a successful probe saw these skill versions now, and forgets the oldest unapproved versions past the bound.
 * @returns the origin with its new `probedAt`.
 * @throws RegistryError `not_found`, `bad_state` (a revoked origin is not probed).
 */
export function recordProbe(
  registry: Registry,
  acting: Acting,
  originId: string,
  seen: readonly SeenSkill[],
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

/** @throws RegistryError `bad_state` for a revoked origin: Skillgate never contacts it again. */
export function requireProbeable(row: OriginRow): void {
  if (row.status !== "revoked") return;
  throw new RegistryError("bad_state", "The origin is revoked, which is final; it is not probed any more.", row.id);
}

/**
 * Makes an origin active and approves exactly the skill versions of the probe recorded at `probedAt`; earlier approvals
 * stand as they are.
 * @throws RegistryError `not_found`, `bad_state`, `probe_changed` (another probe was recorded since), `no_skills`.
 */
export function activateOrigin(registry: Registry, acting: Acting, id: string, probedAt: number): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const row = await getOrigin(registry, id);
    requireStep(row, "activate");
    if (row.probedAt !== probedAt) {
      throw new RegistryError("probe_changed", "Another probe was recorded since; review it before you activate.", id);
    }
    const approved = await probedSkills(registry, id, probedAt);
    if (approved.length === 0) {
      throw new RegistryError("no_skills", "The latest probe found no skill that could be approved.", id);
    }
    const next: OriginRow = { ...row, status: ORIGIN_STEPS.activate.to, updatedAt: acting.now };
    return {
      result: next,
      writes: [setStatus(registry, next), approveSkills(registry, acting, id, probedAt)],
      audit: {
        action: ORIGIN_STEPS.activate.action,
        subject: id,
        detail: {
          origin: row.origin,
          from: row.status,
          probedAt,
          approved: approved.map(({ scope, name, toolSha256 }) => ({ scope, name, toolSha256 })),
        },
      },
    };
  });
}
