import { and, desc, eq, isNotNull, sql } from "drizzle-orm";
import type { Recipe, ReleaseSkill } from "../../core/discovery/release.ts";
import { decodeExactly, type Sha256Hex, sha256Hex } from "../../core/integrity.ts";
import { type SkillId, type ToolDefinition, toPublicName } from "../../core/skill.ts";
import { readArtifacts } from "./artifacts.ts";
import { type Registry, valuesOf } from "./database.ts";
import { skills } from "./schema.ts";
import { comparedWithApproved } from "./seen-skills.ts";

/** A version of a skill that an operator approved. */
export interface ApprovedSkillVersion extends SkillId {
  readonly toolSha256: Sha256Hex;
  /** Epoch milliseconds. */
  readonly approvedAt: number;
}

/** Every approved version of an origin's skills, the newest approval of each skill first. One read of D1. */
export async function approvedVersions(registry: Registry, originId: string): Promise<readonly ApprovedSkillVersion[]> {
  return toApproved(await selectApproved(registry, originId));
}

/** The query of {@link approvedVersions}, for a batch; {@link toApproved} reads its rows. */
export function selectApproved(registry: Registry, originId: string) {
  return registry
    .select({
      scope: skills.scope,
      name: skills.name,
      toolSha256: skills.toolSha256,
      approvedAt: skills.approvedAt,
    })
    .from(skills)
    .where(and(eq(skills.originId, originId), isNotNull(skills.approvedAt)))
    .orderBy(desc(skills.approvedAt), desc(skills.lastSeenAt), skills.toolSha256);
}

export function toApproved(rows: Awaited<ReturnType<typeof selectApproved>>): readonly ApprovedSkillVersion[] {
  return rows.map(({ scope, name, toolSha256, approvedAt }) => ({
    scope: scope === "" ? null : scope,
    name,
    toolSha256: toolSha256 as Sha256Hex,
    approvedAt: approvedAt ?? 0,
  }));
}

/** A query for the hashes of all rejected versions of an origin's skills, of each at most `MAX_REJECTED_VERSIONS`. */
export function selectRejected(registry: Registry, originId: string) {
  return registry
    .selectDistinct({ toolSha256: skills.toolSha256 })
    .from(skills)
    .where(and(eq(skills.originId, originId), isNotNull(skills.rejectedAt)));
}

/**
 * Approved versions as discovery found them, from the content store: to be served in the place of what the publisher changed. A version
 * whose bytes are not kept, or are not those of its hash, is left out; so is one that is not approved.
 *
 * @param wanted at most a release's number of skills (256): two reads of D1 a version at most, and all bytes are held at once.
 */
export async function readApproved(
  registry: Registry,
  originId: string,
  wanted: readonly (SkillId & { readonly toolSha256: string })[],
): Promise<readonly ReleaseSkill[]> {
  const keys = wanted.map(versionKey);
  const rows = await registry
    .select()
    .from(skills)
    .where(
      sql`${skills.originId} = ${originId} AND ${skills.approvedAt} IS NOT NULL AND ${skills.bytes} IS NOT NULL
        AND json_array(${skills.scope}, ${skills.name}, ${skills.toolSha256}) IN ${valuesOf(keys)}`,
    );
  const hashes = rows.flatMap(({ toolSha256, recipeSha256 }) =>
    recipeSha256 === null ? [toolSha256] : [toolSha256, recipeSha256],
  );
  const intact = await intactOf(await readArtifacts(registry, hashes));
  const order = new Map(keys.map((key, position) => [key, position]));
  const found: [position: number, skill: ReleaseSkill][] = [];
  for (const row of rows) {
    const skill = toReleaseSkill(row, intact);
    const position = order.get(JSON.stringify([row.scope, row.name, row.toolSha256])) ?? 0;
    if (skill !== null) found.push([position, skill]);
  }
  return found.sort(([left], [right]) => left - right).map(([, skill]) => skill);
}

/**
 * Compares skills whose code is approved with what was approved. Where something that the code's hash does not cover is not as it was then,
 * they come as they were approved. What the store knows no approval of, or not what was approved, is in neither list. A
 * recipe whose hash nobody declares is never stored: the setting that lets it be served decides about it alone.
 *
 * @param current skills as the publisher has them now.
 */
export async function compareWithApproved(
  registry: Registry,
  originId: string,
  current: readonly ReleaseSkill[],
): Promise<{ readonly confirmed: readonly ReleaseSkill[]; readonly changed: readonly ReleaseSkill[] }> {
  const rows = await comparedWithApproved(registry, originId, current);
  const byKey = new Map(current.map((skill) => [versionKey(skill), skill]));
  const found = rows.flatMap((row) => {
    const skill = byKey.get(JSON.stringify([row.scope, row.name, row.toolSha256]));
    return skill === undefined ? [] : [{ row, skill }];
  });
  const changed = found.filter(({ row }) => !row.isAsSeen);
  const recipes = changed.flatMap(({ row: { recipeSha256 }, skill: { recipe } }) =>
    recipeSha256 === null || recipeSha256 === recipe?.sha256 ? [] : [recipeSha256],
  );
  const intact = await intactOf(await readArtifacts(registry, recipes));
  return {
    confirmed: found.filter(({ row }) => row.isAsSeen).map(({ skill }) => skill),
    changed: changed.map(({ row: { description, version, definition, recipeSha256 }, skill }) => ({
      ...skill,
      description: description ?? "",
      version,
      definition: JSON.parse(definition ?? "null") as ToolDefinition,
      recipe:
        recipeSha256 === skill.recipe?.sha256 ? skill.recipe : (recipeOf(recipeSha256, intact) ?? unverified(skill)),
    })),
  };
}

function unverified({ recipe }: ReleaseSkill): Recipe | null {
  return recipe?.verified === false ? recipe : null;
}

function versionKey({ scope, name, toolSha256 }: SkillId & { readonly toolSha256: string }): string {
  return JSON.stringify([scope ?? "", name, toolSha256]);
}

/** What was altered in the database never runs. */
async function intactOf(stored: ReadonlyMap<string, Uint8Array>): Promise<ReadonlyMap<string, Uint8Array>> {
  const intact = new Map<string, Uint8Array>();
  for (const [sha256, bytes] of stored) {
    if ((await sha256Hex(bytes)) === sha256) intact.set(sha256, bytes);
    else console.error(JSON.stringify({ event: "artifact_altered", sha256 }));
  }
  return intact;
}

function toReleaseSkill(row: typeof skills.$inferSelect, stored: ReadonlyMap<string, Uint8Array>): ReleaseSkill | null {
  const { name, description, version, definition } = row;
  const scope = row.scope === "" ? null : row.scope;
  const source = stored.get(row.toolSha256);
  if (source === undefined || definition === null) return null;
  return {
    scope,
    name,
    publicName: toPublicName({ scope, name }),
    description: description ?? "",
    version,
    toolSha256: row.toolSha256 as Sha256Hex,
    source,
    definition: JSON.parse(definition) as ToolDefinition,
    recipe: recipeOf(row.recipeSha256, stored),
  };
}

/** Only verified recipes are stored. */
function recipeOf(sha256: string | null, stored: ReadonlyMap<string, Uint8Array>): Recipe | null {
  const bytes = sha256 === null ? undefined : stored.get(sha256);
  return bytes === undefined ? null : { sha256: sha256 as Sha256Hex, text: decodeExactly(bytes), verified: true };
}
