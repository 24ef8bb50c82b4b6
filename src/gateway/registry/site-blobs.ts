import { and, eq, gte, inArray, lt, ne, sql } from "drizzle-orm";
import { DAY_MS } from "../../core/durations.ts";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, valuesOf } from "./database.ts";
import { siteBlobs, sites, siteVersions } from "./schema.ts";

/** So many mismatches are quarantine: the skill leaves the manifests, its address answers 503 until the bytes are uploaded again. */
export const QUARANTINE_MISMATCHES = 3;
/** Bytes that no version names are kept this long, so that a publication may take its time. */
const UNNAMED_KEPT_MS = 7 * DAY_MS;

/** Of bytes that may not be in the bucket yet. */
const ON_THEIR_WAY = -1;

/**
 * Notes bytes before they are written to the bucket, so that none lies there of which nothing is known. They cannot be published until they
 * are noted as stored ({@link noteBlob}); of those that never are nothing is left a week later.
 */
export async function expectBlob(
  registry: Registry,
  siteId: string,
  sha256: string,
  bytes: number,
  now: number,
): Promise<void> {
  await registry
    .insert(siteBlobs)
    .values({ siteId, sha256, bytes, storedAt: now, mismatches: ON_THEIR_WAY })
    .onConflictDoNothing();
}

/**
 * Notes bytes that lie in the bucket now. Those that were found to be others are thereby repaired, and out of quarantine: that alone is a row
 * of the audit log.
 *
 * @returns whether they were repaired.
 */
export async function noteBlob(
  registry: Registry,
  acting: Acting,
  siteId: string,
  sha256: string,
  bytes: number,
): Promise<boolean> {
  const stored = { storedAt: acting.now, mismatches: 0 };
  const repaired = await mutate(registry, acting, async () => {
    const [blob] = await registry
      .select({ mismatches: siteBlobs.mismatches })
      .from(siteBlobs)
      .where(and(eq(siteBlobs.siteId, siteId), eq(siteBlobs.sha256, sha256)));
    if (blob === undefined || blob.mismatches <= 0) return { result: false };
    const { mismatches } = blob;
    return {
      result: true,
      writes: [
        registry
          .update(siteBlobs)
          .set(stored)
          .where(and(eq(siteBlobs.siteId, siteId), eq(siteBlobs.sha256, sha256))),
      ],
      audit: { action: "agent_skill.repair", subject: siteId, detail: { sha256, mismatches } },
    };
  });
  if (repaired) return true;
  await registry
    .insert(siteBlobs)
    .values({ siteId, sha256, bytes, storedAt: acting.now })
    .onConflictDoUpdate({ target: [siteBlobs.siteId, siteBlobs.sha256], set: stored });
  return false;
}

/**
 * Which of these are stored and sound, with their lengths. They are kept for a week from now on, so that who asks may publish them.
 */
export async function claimBlobs(
  registry: Registry,
  siteId: string,
  hashes: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await registry
    .update(siteBlobs)
    .set({ storedAt: now })
    .where(and(eq(siteBlobs.siteId, siteId), inArray(siteBlobs.sha256, valuesOf(hashes)), eq(siteBlobs.mismatches, 0)))
    .returning({ sha256: siteBlobs.sha256, bytes: siteBlobs.bytes });
  return new Map(rows.map(({ sha256, bytes }) => [sha256, bytes]));
}

/** Bytes of a site together, but for those of one digest, which are to be uploaded and may be there already. */
export async function storedSiteBytes(registry: Registry, siteId: string, uploaded: string): Promise<number> {
  const [row] = await registry
    .select({ bytes: sql<number>`COALESCE(SUM(${siteBlobs.bytes}), 0)` })
    .from(siteBlobs)
    .where(and(eq(siteBlobs.siteId, siteId), ne(siteBlobs.sha256, uploaded)));
  return row?.bytes ?? 0;
}

/** What was found wrong with bytes of a site. */
export interface MismatchedBlob {
  readonly sha256: string;
  readonly bytes: number;
  readonly mismatches: number;
}

export async function listMismatches(registry: Registry, siteId: string): Promise<readonly MismatchedBlob[]> {
  return registry
    .select({ sha256: siteBlobs.sha256, bytes: siteBlobs.bytes, mismatches: siteBlobs.mismatches })
    .from(siteBlobs)
    .where(and(eq(siteBlobs.siteId, siteId), sql`${siteBlobs.mismatches} > 0`))
    .orderBy(siteBlobs.sha256)
    .limit(1_000);
}

/**
 * Counts bytes that were found to be others than published, with a row of the audit log for each until they are in quarantine: from then on
 * nothing is written, whoever asks how often.
 */
export async function countMismatch(
  registry: Registry,
  acting: Acting,
  siteId: string,
  sha256: string,
  detail: JsonObject,
): Promise<void> {
  await mutate(registry, acting, async () => {
    const [blob] = await registry
      .select({ mismatches: siteBlobs.mismatches })
      .from(siteBlobs)
      .where(and(eq(siteBlobs.siteId, siteId), eq(siteBlobs.sha256, sha256)));
    if (blob === undefined || blob.mismatches >= QUARANTINE_MISMATCHES) return { result: undefined };
    const mismatches = blob.mismatches + 1;
    return {
      result: undefined,
      writes: [
        registry
          .update(siteBlobs)
          .set({ mismatches })
          .where(and(eq(siteBlobs.siteId, siteId), eq(siteBlobs.sha256, sha256))),
      ],
      audit: {
        action: mismatches >= QUARANTINE_MISMATCHES ? "agent_skill.quarantine" : "agent_skill.digest_mismatch",
        subject: siteId,
        detail: { ...detail, mismatches },
      },
    };
  });
}

/** Forgets bytes that no kept version names, and names them for the bucket. At most `limit` a call. */
export async function forgetUnnamedBlobs(
  registry: Registry,
  now: number,
  limit: number,
): Promise<readonly { readonly siteId: string; readonly sha256: string }[]> {
  const isUnnamed = sql`NOT EXISTS (SELECT 1 FROM ${siteVersions}
    WHERE ${siteVersions.siteId} = ${siteBlobs.siteId} AND instr(${siteVersions.content}, ${siteBlobs.sha256}) > 0)`;
  const old = await registry
    .select({ siteId: siteBlobs.siteId, sha256: siteBlobs.sha256 })
    .from(siteBlobs)
    .where(and(lt(siteBlobs.storedAt, now - UNNAMED_KEPT_MS), isUnnamed))
    .limit(limit);
  const forgotten: { siteId: string; sha256: string }[] = [];
  for (const { siteId, sha256 } of old) {
    // Somebody may have claimed it since.
    const rows = await registry
      .delete(siteBlobs)
      .where(
        and(
          eq(siteBlobs.siteId, siteId),
          eq(siteBlobs.sha256, sha256),
          lt(siteBlobs.storedAt, now - UNNAMED_KEPT_MS),
          isUnnamed,
        ),
      )
      .returning({ siteId: siteBlobs.siteId, sha256: siteBlobs.sha256 });
    forgotten.push(...rows);
  }
  return forgotten;
}

/** Some of the bytes of a site, for one that was deleted. */
export async function someBlobs(registry: Registry, siteId: string, limit: number): Promise<readonly string[]> {
  const rows = await registry
    .select({ sha256: siteBlobs.sha256 })
    .from(siteBlobs)
    .where(eq(siteBlobs.siteId, siteId))
    .limit(limit);
  return rows.map(({ sha256 }) => sha256);
}

/** Forgets bytes of a deleted site that the bucket has no more, and the site itself with the last of them. */
export async function forgetBlobs(registry: Registry, siteId: string, hashes: readonly string[]): Promise<void> {
  await registry.batch([
    registry.delete(siteBlobs).where(and(eq(siteBlobs.siteId, siteId), inArray(siteBlobs.sha256, valuesOf(hashes)))),
    registry
      .delete(sites)
      .where(
        and(
          eq(sites.id, siteId),
          eq(sites.name, siteId),
          sql`NOT EXISTS (SELECT 1 FROM ${siteBlobs} WHERE ${siteBlobs.siteId} = ${siteId})`,
        ),
      ),
  ]);
}

/** SQL: the digests of a site that are in quarantine, as a JSON array. */
export function quarantinedOf(siteId: ReturnType<typeof sql>) {
  return sql<string>`(SELECT json_group_array(${siteBlobs.sha256}) FROM ${siteBlobs}
    WHERE ${siteBlobs.siteId} = ${siteId} AND ${gte(siteBlobs.mismatches, QUARANTINE_MISMATCHES)} AND ${siteBlobs.mismatches} > 0)`;
}
