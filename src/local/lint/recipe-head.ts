import type { ReleaseSkill } from "../../core/discovery/release.ts";
import { readFrontMatter } from "../../core/front-matter.ts";
import type { Finding } from "./finding.ts";

/** Longest description that the Agent Skills specification allows, in characters. */
const MAX_DESCRIPTION = 1_024;

/**
 * Compares a recipe's frontmatter with its line of `llms.txt` (llms-txt-skills §2: the descriptions agree) and with what
 * Agent Skills asks of every `SKILL.md`. Skills of executable publishers have underscores in their names, which Agent
 * Skills forbids, so of the name only equality is asked.
 */
export function checkRecipeHead(skill: Pick<ReleaseSkill, "scope" | "name" | "description" | "recipe">): Finding[] {
  if (skill.recipe === null) return [];
  const warning = (code: string, message: string): Finding => ({
    level: "warning",
    subject: "recipe",
    scope: skill.scope,
    name: skill.name,
    code,
    message,
  });
  const head = readFrontMatter(skill.recipe.text);
  if (head.state === "absent") {
    return [warning("bad_frontmatter", "The file SKILL.md does not begin with frontmatter between two lines of ---.")];
  }
  if (head.state === "bad") return [warning("bad_frontmatter", `The frontmatter of SKILL.md ${head.problem}.`)];

  const { name, description } = head.fields;
  const findings: Finding[] = [];
  if (name !== skill.name) {
    findings.push(warning("name_differs", "The frontmatter's `name` is not the name in llms.txt."));
  }
  if (typeof description !== "string" || description.trim() === "") {
    findings.push(warning("no_description", "The frontmatter has no `description`."));
  } else if (description.length > MAX_DESCRIPTION) {
    const message = `The frontmatter's \`description\` is longer than ${MAX_DESCRIPTION} characters.`;
    findings.push(warning("long_description", message));
  } else if (words(description) !== words(skill.description)) {
    const message = "The frontmatter's `description` is not the description in llms.txt.";
    findings.push(warning("description_differs", message));
  }
  return findings;
}

/** Line breaks and runs of space are the business of the two formats. */
function words(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
