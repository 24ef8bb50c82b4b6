import { type SQLWrapper, sql } from "drizzle-orm";
import type { ReleaseSkill } from "../../core/discovery/release.ts";
import { storedBytes } from "./artifacts.ts";
import { type Registry, rowsOf, type Statement } from "./database.ts";
import { skills } from "./schema.ts";

/** Text of one parameter; D1 caps it at 2 MB. A definition has at most 256 KiB (`MAX_DEFINITION_BYTES`), twice that when quoted. */
const PARAMETER_BYTES = 1_048_576;

/** Of a version that nobody has decided about, and of which no more is written down yet. */
const UNDECIDED = {
  ...{ approvedAt: null, approvedBy: null, rejectedAt: null, rejectedBy: null, note: null },
  ...{ description: null, version: null, definition: null, recipeSha256: null, bytes: null },
  ...{ changed: null, changedRecipeSha256: null },
};

export type SeenSkill = Pick<
  ReleaseSkill,
  "scope" | "name" | "toolSha256" | "description" | "version" | "definition" | "recipe"
>;

/**
 * Statements: these versions were seen at `probedAt`. What is known of a version follows the publisher until the version is approved and
 * stays as it was then, whether its bytes are kept or not: its recipe and description are not covered by its hash. What differs from it is
 * kept beside it, to be approved.
 */
export function seeSkills(
  registry: Registry,
  originId: string,
  probedAt: number,
  seen: readonly SeenSkill[],
): readonly Statement[] {
  const rows = seen.map(({ scope, name, toolSha256 }) => ({
    ...{ originId, scope: scope ?? "", name, toolSha256, firstSeenAt: probedAt, lastSeenAt: probedAt },
    ...UNDECIDED,
  }));
  return [
    registry
      .insert(skills)
      .select(rowsOf(skills, rows))
      .onConflictDoUpdate({
        target: [skills.originId, skills.scope, skills.name, skills.toolSha256],
        set: { lastSeenAt: probedAt },
      }),
    ...parameters(seen.map(detailsOf)).flatMap((details) => [
      registry
        .update(skills)
        .set({
          changed: null,
          changedRecipeSha256: null,
          description: sql`seen.value ->> 3`,
          version: sql`seen.value ->> 4`,
          definition: sql`seen.value ->> 5`,
          recipeSha256: sql`seen.value ->> 6`,
          bytes: sql`${storedBytes(sql`seen.value ->> 2`)}
            + CASE WHEN seen.value ->> 6 IS NULL THEN 0 ELSE ${storedBytes(sql`seen.value ->> 6`)} END`,
        })
        .from(sql`json_each(${details}) AS seen`)
        .where(sql`${isSeenVersion(originId)} AND ${skills.approvedAt} IS NULL`),
      registry
        .update(skills)
        .set({
          changed: sql`CASE WHEN ${IS_AS_SEEN} THEN NULL
            ELSE json_array(seen.value ->> 3, seen.value ->> 4, seen.value ->> 5) END`,
          changedRecipeSha256: sql`CASE WHEN ${IS_AS_SEEN} THEN NULL ELSE seen.value ->> 6 END`,
          // Of a recipe that was approved and is lost nothing comes back.
          bytes: sql`CASE WHEN ${skills.bytes} IS NOT NULL THEN ${skills.bytes}
            ELSE ${storedBytes(sql`seen.value ->> 2`)} + coalesce(${storedBytes(sql`${skills.recipeSha256}`)}, 0) END`,
        })
        .from(sql`json_each(${details}) AS seen`)
        .where(sql`${isSeenVersion(originId)} AND ${skills.approvedAt} IS NOT NULL`),
    ]),
  ];
}

/** An approved version, and whether it is as it was seen. Where it is, the rest is left out. */
export type ComparedVersion = Pick<
  typeof skills.$inferSelect,
  "scope" | "name" | "toolSha256" | "description" | "version" | "definition" | "recipeSha256"
> & { readonly isAsSeen: boolean };

/** Of `seen` the versions that are approved and of which it is known how they were then. */
export async function comparedWithApproved(
  registry: Registry,
  originId: string,
  seen: readonly SeenSkill[],
): Promise<readonly ComparedVersion[]> {
  const rows: ComparedVersion[] = [];
  const ifChanged = (column: SQLWrapper) => sql<string | null>`CASE WHEN ${IS_AS_SEEN} THEN NULL ELSE ${column} END`;
  for (const details of parameters(seen.map(detailsOf))) {
    const compared = await registry
      .select({
        scope: skills.scope,
        name: skills.name,
        toolSha256: skills.toolSha256,
        description: ifChanged(skills.description),
        version: ifChanged(skills.version),
        definition: ifChanged(skills.definition),
        recipeSha256: ifChanged(skills.recipeSha256),
        isAsSeen: sql<number>`${IS_AS_SEEN}`,
      })
      .from(skills)
      .innerJoin(sql`json_each(${details}) AS seen`, isSeenVersion(originId))
      .where(sql`${skills.approvedAt} IS NOT NULL AND ${skills.definition} IS NOT NULL`);
    rows.push(...compared.map((row) => ({ ...row, isAsSeen: row.isAsSeen === 1 })));
  }
  return rows;
}

/** SQL: whether the row of {@link skills} is of the version in `seen`, a text of {@link detailsOf}. */
function isSeenVersion(originId: string) {
  return sql`${skills.originId} = ${originId} AND ${skills.scope} = seen.value ->> 0 AND ${skills.name} = seen.value ->> 1
    AND ${skills.toolSha256} = seen.value ->> 2`;
}

/** SQL: whether all that the version's hash does not cover is in the row as in `seen`. */
const IS_AS_SEEN = sql`(${skills.description} IS seen.value ->> 3 AND ${skills.version} IS seen.value ->> 4
  AND ${skills.definition} IS seen.value ->> 5 AND ${skills.recipeSha256} IS seen.value ->> 6)`;

/** What an approval sets: the version as the latest probe saw it. */
export const AS_LAST_SEEN = {
  description: lastSeen(skills.description, sql`${skills.changed} ->> 0`),
  version: lastSeen(skills.version, sql`${skills.changed} ->> 1`),
  definition: lastSeen(skills.definition, sql`${skills.changed} ->> 2`),
  recipeSha256: lastSeen(skills.recipeSha256, skills.changedRecipeSha256),
  bytes: lastSeen(
    skills.bytes,
    sql`${storedBytes(sql`${skills.toolSha256}`)} + CASE WHEN ${skills.changedRecipeSha256} IS NULL THEN 0
      ELSE ${storedBytes(sql`${skills.changedRecipeSha256}`)} END`,
  ),
  changed: null,
  changedRecipeSha256: null,
};

/** The hashes of the recipes that a row names. */
export function recipesOf({
  recipeSha256,
  changedRecipeSha256,
}: Pick<typeof skills.$inferSelect, "recipeSha256" | "changedRecipeSha256">): readonly string[] {
  return [recipeSha256, changedRecipeSha256].filter((sha256) => sha256 !== null);
}

function lastSeen(kept: SQLWrapper, changed: SQLWrapper) {
  return sql`CASE WHEN ${skills.changed} IS NULL THEN ${kept} ELSE ${changed} END`;
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
