import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { SkillId } from "../../core/skill.ts";
import type { Acting, Registry, Statement } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { skills } from "./schema.ts";

/** Unapproved versions kept of one skill; the ones seen last stay. */
export const MAX_UNAPPROVED_VERSIONS = 20;

/** One version of one skill that a probe has seen. */
export interface SkillVersion extends SkillId {
  readonly toolSha256: string;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly approvedAt: number | null;
  readonly approvedBy: string | null;
}

/** Position in the list of skill versions. */
export type SkillKey = readonly [scope: string, name: string, toolSha256: string];

export interface SeenSkill extends SkillId {
  readonly toolSha256: string;
}

/**
 * Statements: these versions were seen at `probedAt`; of each skill's unapproved versions the ones seen longest ago are
 * forgotten past the bound.
 */
export function seeSkills(
  registry: Registry,
  originId: string,
  probedAt: number,
  seen: readonly SeenSkill[],
): readonly Statement[] {
  // One parameter for any number of rows: D1 allows 100 a statement. "WHERE true" tells the parser that ON is no join.
  const versions = JSON.stringify(seen.map(({ scope, name, toolSha256 }) => [scope ?? "", name, toolSha256]));
  return [
    registry
      .insert(skills)
      .select(
        sql`SELECT ${originId}, value ->> 0, value ->> 1, value ->> 2, ${probedAt}, ${probedAt},
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM json_each(${versions}) WHERE true`,
      )
      .onConflictDoUpdate({
        target: [skills.originId, skills.scope, skills.name, skills.toolSha256],
        set: { lastSeenAt: probedAt },
      }),
    registry.delete(skills).where(
      sql`rowid IN (
        SELECT rowid FROM (
          SELECT rowid, row_number() OVER (
            PARTITION BY scope, name ORDER BY last_seen_at DESC, first_seen_at DESC, tool_sha256
          ) AS position
          FROM skills WHERE origin_id = ${originId} AND approved_at IS NULL
        ) WHERE position > ${MAX_UNAPPROVED_VERSIONS})`,
    ),
  ];
}

/** The versions that the probe recorded at `probedAt` saw, in order of scope and name. */
export async function probedSkills(
  registry: Registry,
  originId: string,
  probedAt: number,
): Promise<readonly SkillVersion[]> {
  const rows = await registry
    .select()
    .from(skills)
    .where(and(eq(skills.originId, originId), eq(skills.lastSeenAt, probedAt)))
    .orderBy(asc(skills.scope), asc(skills.name), asc(skills.toolSha256));
  return rows.map(toVersion);
}

/** Every version seen, in order of scope, name and hash. */
export async function listSkills(
  registry: Registry,
  originId: string,
  request: PageRequest<SkillKey>,
): Promise<Page<SkillVersion>> {
  const after = request.after;
  const rows = await registry
    .select()
    .from(skills)
    .where(
      and(
        eq(skills.originId, originId),
        after === null
          ? undefined
          : sql`(${skills.scope}, ${skills.name}, ${skills.toolSha256}) > (${after[0]}, ${after[1]}, ${after[2]})`,
      ),
    )
    .orderBy(asc(skills.scope), asc(skills.name), asc(skills.toolSha256))
    .limit(request.limit + 1);
  const page = toPage(rows, request.limit, (row): SkillKey => [row.scope, row.name, row.toolSha256]);
  return { items: page.items.map(toVersion), nextCursor: page.nextCursor };
}

/** Statement: approves the versions that the probe at `probedAt` saw. A version approved before keeps its first approval. */
export function approveSkills(registry: Registry, acting: Acting, originId: string, probedAt: number) {
  return registry
    .update(skills)
    .set({ approvedAt: acting.now, approvedBy: acting.actor })
    .where(and(eq(skills.originId, originId), eq(skills.lastSeenAt, probedAt), isNull(skills.approvedAt)));
}

function toVersion(row: typeof skills.$inferSelect): SkillVersion {
  const { scope, name, toolSha256, firstSeenAt, lastSeenAt, approvedAt, approvedBy } = row;
  return { scope: scope === "" ? null : scope, name, toolSha256, firstSeenAt, lastSeenAt, approvedAt, approvedBy };
}
