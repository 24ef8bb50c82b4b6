import { and, asc, eq, isNotNull, isNull, max, or, type SQL, sql } from "drizzle-orm";
import type { SkillId } from "../../core/skill.ts";
import type { Registry } from "./database.ts";
import { holds, type Page, type PageRequest, toPage } from "./page.ts";
import { skills } from "./schema.ts";
import { AS_LAST_SEEN } from "./seen-skills.ts";

const IN_ORDER = [asc(skills.scope), asc(skills.name), asc(skills.toolSha256)];

/** One version of one skill that a probe has seen. */
export interface SkillVersion extends SkillId {
  readonly toolSha256: string;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly approvedAt: number | null;
  readonly approvedBy: string | null;
  readonly rejectedAt: number | null;
  readonly rejectedBy: string | null;
  /** What the operator wrote with the last approval or rejection. */
  readonly note: string | null;
  /** Of the `llms.txt` line; null where the version was seen before the store kept it, as is `bytes`. */
  readonly description: string | null;
  readonly version: string | null;
  readonly recipeSha256: string | null;
  /** Bytes of source and recipe. Null: they are not stored, so that the version cannot be read, approved or served from the store. */
  readonly bytes: number | null;
  /** The latest probe saw an approved version with another description, definition or recipe than it was approved with. */
  readonly changedSinceApproval: boolean;
}

/** What an operator decided about a version. */
export type VersionState = "approved" | "rejected" | "waiting";

export function stateOf(version: Pick<SkillVersion, "approvedAt" | "rejectedAt">): VersionState {
  if (version.approvedAt !== null) return "approved";
  return version.rejectedAt === null ? "waiting" : "rejected";
}

/** Position in the list of skill versions. */
export type SkillKey = readonly [scope: string, name: string, toolSha256: string];

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
    .orderBy(...IN_ORDER);
  return rows.map(toVersion);
}

/**
 * What the probe recorded at `probedAt` saw: of each version a text that differs where anything does that an approval takes, also what its
 * hash does not cover.
 */
export async function probedTexts(
  registry: Registry,
  originId: string,
  probedAt: number,
): Promise<ReadonlySet<string>> {
  const { description, version, definition, recipeSha256 } = AS_LAST_SEEN;
  const rows = await registry
    .select({
      text: sql<string>`json_array(${skills.scope}, ${skills.name}, ${skills.toolSha256},
        ${description}, ${version}, ${definition}, ${recipeSha256})`,
    })
    .from(skills)
    .where(and(eq(skills.originId, originId), eq(skills.lastSeenAt, probedAt)));
  return new Set(rows.map(({ text }) => text));
}

/** All of what is given must hold. */
export interface SkillFilter {
  /** As {@link isOfState} means it. */
  readonly state?: VersionState | undefined;
  /** Only what the latest probe saw, which is what activation would take of. */
  readonly isCurrent?: boolean;
  /** Part of the name. */
  readonly q?: string | undefined;
}

/** SQL: what waits is also the new recipe or description of a version whose code is approved. */
export function isOfState(state: VersionState | undefined): SQL | undefined {
  switch (state) {
    case undefined:
      return undefined;
    case "approved":
      return isNotNull(skills.approvedAt);
    case "rejected":
      return and(isNull(skills.approvedAt), isNotNull(skills.rejectedAt));
    case "waiting":
      return or(isNotNull(skills.changed), and(isNull(skills.approvedAt), isNull(skills.rejectedAt)));
  }
}

/**
 * The versions seen of an origin, in order of scope, name and hash.
 *
 * @param probedAt of the origin's latest probe; `null`: it was never probed.
 */
export async function listSkills(
  registry: Registry,
  { id: originId, probedAt }: { readonly id: string; readonly probedAt: number | null },
  { state, isCurrent = false, q }: SkillFilter,
  request: PageRequest<SkillKey>,
): Promise<Page<SkillVersion>> {
  const after = request.after;
  const rows = await registry
    .select()
    .from(skills)
    .where(
      and(
        eq(skills.originId, originId),
        isCurrent ? eq(skills.lastSeenAt, probedAt ?? NEVER) : undefined,
        isOfState(state),
        holds(skills.name, q),
        after === null
          ? undefined
          : sql`(${skills.scope}, ${skills.name}, ${skills.toolSha256}) > (${after[0]}, ${after[1]}, ${after[2]})`,
      ),
    )
    .orderBy(...IN_ORDER)
    .limit(request.limit + 1);
  const page = toPage(rows, request.limit, (row): SkillKey => [row.scope, row.name, row.toolSha256]);
  return { items: page.items.map(toVersion), nextCursor: page.nextCursor };
}

/** No probe is recorded at it. */
const NEVER = -1;

/** A condition on {@link skills}: activation may approve this version. The same bytes under another name stay rejected. */
function isApprovable(originId: string) {
  return sql`${skills.rejectedAt} IS NULL AND (${skills.approvedAt} IS NOT NULL OR ${skills.toolSha256} NOT IN (
    SELECT other.tool_sha256 FROM skills AS other WHERE other.origin_id = ${originId} AND other.rejected_at IS NOT NULL))`;
}

/** Of the versions that the probe at `probedAt` saw, those that {@link approveProbed} would approve. */
export async function approvableProbed(
  registry: Registry,
  originId: string,
  probedAt: number,
): Promise<readonly (typeof skills.$inferSelect)[]> {
  return registry
    .select()
    .from(skills)
    .where(isProbedAndApprovable(originId, probedAt))
    .orderBy(...IN_ORDER);
}

/**
 * Statement: makes the versions that the probe at `probedAt` saw the last approved ones of their skills as it saw them, those approved
 * before too. What an operator rejected stays rejected.
 *
 * @param approvedAt of {@link nextApproval}.
 */
export function approveProbed(
  registry: Registry,
  actor: string,
  originId: string,
  probedAt: number,
  approvedAt: number,
) {
  return registry
    .update(skills)
    .set({ ...AS_LAST_SEEN, approvedAt, approvedBy: actor })
    .where(isProbedAndApprovable(originId, probedAt));
}

function isProbedAndApprovable(originId: string, probedAt: number) {
  return and(eq(skills.originId, originId), eq(skills.lastSeenAt, probedAt), isApprovable(originId));
}

/** A moment strictly later than every approval of the origin before, since the newest one of a skill is what is held. */
export async function nextApproval(registry: Registry, originId: string, now: number): Promise<number> {
  const [newest] = await registry
    .select({ at: max(skills.approvedAt) })
    .from(skills)
    .where(eq(skills.originId, originId));
  return Math.max(now, (newest?.at ?? 0) + 1);
}

/** Condition: rows of this skill of this origin, all its versions. */
export function isOfSkill(originId: string, { scope, name }: SkillId) {
  return and(eq(skills.originId, originId), eq(skills.scope, scope ?? ""), eq(skills.name, name));
}

/** The version, or `null` where it was never seen or is forgotten. */
export async function findVersion(
  registry: Registry,
  originId: string,
  skill: SkillId & { readonly toolSha256: string },
): Promise<typeof skills.$inferSelect | null> {
  const [row] = await registry
    .select()
    .from(skills)
    .where(and(isOfSkill(originId, skill), eq(skills.toolSha256, skill.toolSha256)));
  return row ?? null;
}

export function toVersion(row: typeof skills.$inferSelect): SkillVersion {
  const { originId: _, definition: __, changed, changedRecipeSha256: ___, scope, ...version } = row;
  return { scope: scope === "" ? null : scope, ...version, changedSinceApproval: changed !== null };
}
