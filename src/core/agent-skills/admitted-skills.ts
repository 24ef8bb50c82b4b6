import { type Catalog, mayUse, type ToolRules } from "../catalog.ts";
import { toPublicName } from "../skill.ts";
import type { ListedSkill } from "./manifest.ts";
import type { PublishedSkill } from "./publication.ts";
import { fitsExtension, SKILL_FILE, type SkillFolder } from "./skill-folder.ts";

/**
 * Whether a client of an origin is given a skill that the origin's site publishes. Rules about tools count for skills without one too, by their
 * own name: what a client is not to know of is in no list. One with a tool is given as it was admitted, recipe and all, or not at all; the
 * tool of one for authenticated callers is never discovered, so that nothing is decided about it.
 */
export function isAdmitted(
  skill: PublishedSkill,
  { skills }: Pick<Catalog, "skills">,
  rules: ToolRules | null,
): boolean {
  const { name, scope, tool, type, visibility, sha256 } = skill;
  const publicName = tool === null ? name : toPublicName({ scope, name: tool.name });
  if (rules !== null && !mayUse(rules, publicName)) return false;
  if (tool === null || visibility === "authenticated") return true;
  const admitted = skills.find((entry) => entry.skill.publicName === publicName)?.skill;
  if (admitted?.toolSha256 !== tool.sha256) return false;
  return type === "archive" || admitted.recipe?.sha256 === sha256;
}

/** The skill as a folder; null for one that lies elsewhere, or has more files than hosts take. */
export function publishedFolder({ skill }: ListedSkill): SkillFolder | null {
  const { name, description, type, place, sha256, bytes, frontmatter = null } = skill;
  const files = type === "skill-md" ? [{ path: SKILL_FILE, sha256, bytes }] : skill.members;
  if (place.kind === "external" || files === null || !fitsExtension(files)) return null;
  return { name, description, frontmatter, files };
}
