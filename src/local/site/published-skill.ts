import { INDEX_SCHEMA } from "../../core/discovery/skills-index.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { SkillId } from "../../core/skill.ts";

/** A skill as its publisher declares it, in `llms.txt` and in `index.json`. */
export interface PublishedSkill extends SkillId {
  readonly description: string;
  readonly version: string | null;
  /** `null`: the line links nothing of the site. */
  readonly recipe: { readonly url: string; readonly sha256: string } | null;
  /** `null`: the skill is for people and agents to read. */
  readonly tool: { readonly path: string; readonly sha256: string } | null;
}

/** What the comment of a skill's line says, in the order in which generators write it. */
export function skillMetadata({ version, recipe, tool, scope }: PublishedSkill): JsonObject {
  return {
    ...(version === null ? {} : { version }),
    ...(recipe === null ? {} : { sha256: recipe.sha256 }),
    ...(tool === null ? {} : { tool: tool.path, tool_sha256: tool.sha256 }),
    ...(scope === null ? {} : { scope }),
  };
}

/** The line of `llms.txt` (Executable Skills v0.5). */
export function skillLine(skill: PublishedSkill): string {
  const { name, recipe, description } = skill;
  return `- [${name}](${recipe?.url ?? ""}): ${description} ${skillComment(skillMetadata(skill))}`;
}

export function skillComment(metadata: JsonObject): string {
  return `<!-- skill: ${JSON.stringify(metadata)} -->`;
}

/** The entry of `index.json` (Agent Skills Discovery 0.2.0, with the fields of Executable Skills v0.5 §2.3). */
export function indexEntry(
  skill: PublishedSkill & { readonly recipe: NonNullable<PublishedSkill["recipe"]> },
  url: string = skill.recipe.url,
): JsonObject {
  return {
    name: skill.name,
    type: /\.(?:zip|tar\.gz|tgz)$/i.test(skill.recipe.url) ? "archive" : "skill-md",
    description: skill.description,
    url,
    digest: `sha256:${skill.recipe.sha256}`,
    ...skillMetadata(skill),
  };
}

/** The file of these entries; what else is in it stands before them. */
export function indexText(skills: readonly Json[], others: JsonObject = { $schema: INDEX_SCHEMA }): string {
  return `${JSON.stringify({ ...others, skills }, null, 2)}\n`;
}
