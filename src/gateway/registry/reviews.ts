import { and, desc, eq, isNotNull, ne, sql } from "drizzle-orm";
import type { SQLiteUpdateSetSource } from "drizzle-orm/sqlite-core";
import type { JsonObject } from "../../core/json.ts";
import type { SkillId } from "../../core/skill.ts";
import { removeUnreferenced } from "./artifacts.ts";
import { type AuditAction, mutate } from "./audit.ts";
import { type Acting, type Registry, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { getOrigin, NEXT_POLICY_VERSION, type OriginRow } from "./origins.ts";
import { requireNoRevokedHash } from "./revocations.ts";
import { origins, skills } from "./schema.ts";
import { AS_LAST_SEEN, recipesOf } from "./seen-skills.ts";
import { isOfSkill, nextApproval } from "./skills.ts";

/** One version of one skill, as an operator names it. */
export interface VersionName extends SkillId {
  readonly toolSha256: string;
}

interface Decision {
  readonly note: string | null;
  /** `probedAt` of the probe that was reviewed, or `null`. */
  readonly reviewed: number | null;
  readonly action: AuditAction;
}

type Version = typeof skills.$inferSelect;

/**
 * Approves versions as the latest probe that saw them did: each becomes the last approved one of its skill, whatever was decided of it
 * before. The origin's status stays.
 *
 * @param wanted one version a skill at most.
 * @param reviewed `probedAt` of the probe that was reviewed: with the hashes of `wanted` it names every byte that is approved, recipes,
 * descriptions and definitions included.
 * @throws RegistryError `not_found`, `bad_state` (the origin is revoked), `probe_changed`, `unknown_version`, `not_stored`, `hash_revoked`.
 */
export function approveVersions(
  registry: Registry,
  acting: Acting,
  originId: string,
  wanted: readonly VersionName[],
  note: string | null,
  reviewed: number,
): Promise<void> {
  return decide(registry, acting, originId, wanted, { note, reviewed, action: "skill.approve" }, async (versions) => {
    const lost = versions.find(({ bytes }) => bytes === null);
    if (lost !== undefined) {
      throw new RegistryError(
        "not_stored",
        `The source of ${shown(lost)} is not kept; probe the origin again.`,
        originId,
      );
    }
    await requireNoRevokedHash(registry, versions);
    const approvedAt = await nextApproval(registry, originId, acting.now);
    return { ...AS_LAST_SEEN, approvedAt, approvedBy: acting.actor, rejectedAt: null, rejectedBy: null, note };
  });
}

/**
 * Rejects versions: an approval they had is withdrawn, and no activation approves them until somebody approves them by name.
 *
 * @throws RegistryError `not_found`, `bad_state` (the origin is revoked), `probe_changed`, `unknown_version`.
 */
export function rejectVersions(
  registry: Registry,
  acting: Acting,
  originId: string,
  wanted: readonly VersionName[],
  note: string | null,
  reviewed: number | null = null,
): Promise<void> {
  return decide(registry, acting, originId, wanted, { note, reviewed, action: "skill.reject" }, async () => ({
    approvedAt: null,
    approvedBy: null,
    rejectedAt: acting.now,
    rejectedBy: acting.actor,
    note,
    changed: null,
    changedRecipeSha256: null,
  }));
}

/** The recipe that an approval replaces, or a rejection drops, is removed where nothing else needs it. */
async function decide(
  registry: Registry,
  acting: Acting,
  originId: string,
  wanted: readonly VersionName[],
  { note, reviewed, action }: Decision,
  change: (versions: readonly Version[]) => Promise<SQLiteUpdateSetSource<typeof skills>>,
): Promise<void> {
  const decided = await mutate(registry, acting, async () => {
    const row = await getOrigin(registry, originId);
    requireNotRevoked(row);
    if (reviewed !== null && reviewed !== row.probedAt) {
      throw new RegistryError(
        "probe_changed",
        "Another probe was recorded since; review what it saw.",
        originId,
        "probedAt",
      );
    }
    const keys = wanted.map(({ scope, name, toolSha256 }) => JSON.stringify([scope ?? "", name, toolSha256]));
    const isWanted = sql`${skills.originId} = ${originId}
      AND json_array(${skills.scope}, ${skills.name}, ${skills.toolSha256}) IN ${valuesOf(keys)}`;
    const versions = await registry.select().from(skills).where(isWanted);
    const known = new Set(versions.map(({ scope, name, toolSha256 }) => JSON.stringify([scope, name, toolSha256])));
    const unknown = keys.findIndex((key) => !known.has(key));
    if (unknown >= 0) {
      const field = `skills.${unknown}`;
      const sentence = `${field}: no probe of this origin saw this version, or it is forgotten.`;
      throw new RegistryError("unknown_version", sentence, originId, field);
    }
    const set = await change(versions);
    const named: JsonObject[] = wanted.map(({ scope, name, toolSha256 }) => ({ scope, name, toolSha256 }));
    return {
      result: versions,
      writes: [
        registry.update(skills).set(set).where(isWanted),
        registry.update(origins).set({ policyVersion: NEXT_POLICY_VERSION }).where(eq(origins.id, originId)),
      ],
      audit: { action, subject: originId, detail: { origin: row.origin, skills: named, note } },
    };
  });
  await removeUnreferenced(registry, decided.flatMap(recipesOf));
}

function requireNotRevoked(row: OriginRow): void {
  if (row.status !== "revoked") return;
  throw new RegistryError(
    "bad_state",
    "The origin is revoked, which is final; nothing of it is reviewed any more.",
    row.id,
  );
}

function shown({ scope, name }: Version): string {
  return scope === "" ? name : `${scope}/${name}`;
}

/** The version of this skill that was approved last, other than `except`; `null` where there is none. */
export async function lastApproved(
  registry: Registry,
  originId: string,
  skill: SkillId,
  except: string,
): Promise<Version | null> {
  const [row] = await registry
    .select()
    .from(skills)
    .where(and(isOfSkill(originId, skill), isNotNull(skills.approvedAt), ne(skills.toolSha256, except)))
    .orderBy(desc(skills.approvedAt))
    .limit(1);
  return row ?? null;
}
