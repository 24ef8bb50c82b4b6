import { and, asc, eq, getTableColumns, max, sql } from "drizzle-orm";
import type { ReleaseSkill } from "../../core/discovery/release.ts";
import type { SkillId } from "../../core/skill.ts";
import { storedBytes } from "./artifacts.ts";
import type { Registry, Statement } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { skills } from "./schema.ts";

/** Text of one parameter; D1 caps it at 2 MB. A definition has at most 256 KiB (`MAX_DEFINITION_BYTES`), twice that when quoted. */
const PARAMETER_BYTES = 1_048_576;

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
}

/** What an operator decided about a version. */
export function stateOf(version: Pick<SkillVersion, "approvedAt" | "rejectedAt">): "approved" | "rejected" | "waiting" {
  if (version.approvedAt !== null) return "approved";
  return version.rejectedAt === null ? "waiting" : "rejected";
}

/** Position in the list of skill versions. */
export type SkillKey = readonly [scope: string, name: string, toolSha256: string];

export type SeenSkill = Pick<
  ReleaseSkill,
  "scope" | "name" | "toolSha256" | "description" | "version" | "definition" | "recipe"
>;

/**
 * Statements: these versions were seen at `probedAt`. What is known of a version follows the publisher until the version is approved and
 * stays as it was then: its recipe and description are not covered by its hash.
 */
export function seeSkills(
  registry: Registry,
  originId: string,
  probedAt: number,
  seen: readonly SeenSkill[],
): readonly Statement[] {
  // One parameter for many rows: D1 allows 100 a statement. "WHERE true" tells the parser that ON is no join.
  const keys = JSON.stringify(seen.map(({ scope, name, toolSha256 }) => [scope ?? "", name, toolSha256]));
  return [
    registry
      .insert(skills)
      .select(
        sql`SELECT ${originId}, value ->> 0, value ->> 1, value ->> 2, ${probedAt}, ${probedAt},
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
          FROM json_each(${keys}) WHERE true`,
      )
      .onConflictDoUpdate({
        target: [skills.originId, skills.scope, skills.name, skills.toolSha256],
        set: { lastSeenAt: probedAt },
      }),
    ...parameters(seen.map(detailsOf)).map((details) =>
      registry
        .update(skills)
        .set({
          description: sql`seen.value ->> 3`,
          version: sql`seen.value ->> 4`,
          definition: sql`seen.value ->> 5`,
          recipeSha256: sql`seen.value ->> 6`,
          bytes: sql`${storedBytes(sql`seen.value ->> 2`)}
            + CASE WHEN seen.value ->> 6 IS NULL THEN 0 ELSE ${storedBytes(sql`seen.value ->> 6`)} END`,
        })
        .from(sql`json_each(${details}) AS seen`)
        .where(
          sql`${skills.originId} = ${originId} AND ${skills.scope} = seen.value ->> 0 AND ${skills.name} = seen.value ->> 1
            AND ${skills.toolSha256} = seen.value ->> 2 AND (${skills.approvedAt} IS NULL OR ${skills.bytes} IS NULL)`,
        ),
    ),
  ];
}

/** Rows of approved versions that are stored and of which description, version, definition or recipe are not those of `seen`. */
export async function changedSinceApproval(
  registry: Registry,
  originId: string,
  seen: readonly SeenSkill[],
): Promise<readonly (typeof skills.$inferSelect)[]> {
  const rows: (typeof skills.$inferSelect)[] = [];
  for (const details of parameters(seen.map(detailsOf))) {
    const changed = await registry
      .select(getTableColumns(skills))
      .from(skills)
      .innerJoin(
        sql`json_each(${details}) AS seen`,
        sql`${skills.scope} = seen.value ->> 0 AND ${skills.name} = seen.value ->> 1 AND ${skills.toolSha256} = seen.value ->> 2`,
      )
      .where(
        sql`${skills.originId} = ${originId} AND ${skills.approvedAt} IS NOT NULL AND ${skills.bytes} IS NOT NULL
          AND NOT (${skills.description} IS seen.value ->> 3 AND ${skills.version} IS seen.value ->> 4
            AND ${skills.definition} IS seen.value ->> 5 AND ${skills.recipeSha256} IS seen.value ->> 6)`,
      );
    rows.push(...changed);
  }
  return rows;
}

function detailsOf({ scope, name, toolSha256, description, version, definition, recipe }: SeenSkill): string {
  const definitionText = JSON.stringify(definition);
  return JSON.stringify([
    scope ?? "",
    name,
    toolSha256,
    description,
    version,
    definitionText,
    recipe?.verified ? recipe.sha256 : null,
  ]);
}

/** Lists of JSON values as JSON texts, each small enough for one parameter. */
function parameters(values: readonly string[]): readonly string[] {
  const lists: string[][] = [];
  let bytes = 0;
  for (const value of values) {
    const size = new TextEncoder().encode(value).length + 1;
    if (lists.length === 0 || bytes + size > PARAMETER_BYTES) {
      lists.push([]);
      bytes = 0;
    }
    lists.at(-1)?.push(value);
    bytes += size;
  }
  return lists.map((list) => `[${list.join(",")}]`);
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
    .orderBy(...IN_ORDER);
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
    .orderBy(...IN_ORDER)
    .limit(request.limit + 1);
  const page = toPage(rows, request.limit, (row): SkillKey => [row.scope, row.name, row.toolSha256]);
  return { items: page.items.map(toVersion), nextCursor: page.nextCursor };
}

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
): Promise<readonly SkillVersion[]> {
  const rows = await registry
    .select()
    .from(skills)
    .where(isProbedAndApprovable(originId, probedAt))
    .orderBy(...IN_ORDER);
  return rows.map(toVersion);
}

/**
 * Statement: makes the versions that the probe at `probedAt` saw the last approved ones of their skills, those approved before too. What an
 * operator rejected stays rejected.
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
    .set({ approvedAt, approvedBy: actor })
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
  const { originId: _, definition: __, scope, ...version } = row;
  return { scope: scope === "" ? null : scope, ...version };
}
