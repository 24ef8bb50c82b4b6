import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readFrontMatter } from "../../core/front-matter.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { ProseLine, SkillLine } from "../../core/llmstxt/llmstxt.ts";
import { parseLlmsTxt } from "../../core/llmstxt/parse.ts";
import { isPublic } from "../serve/site-path.ts";
import type { LlmsTxtLines } from "./llms-txt-lines.ts";
import { type PublishedSkill, skillLine, skillMetadata } from "./published-skill.ts";
import type { SiteDraft } from "./site-draft.ts";

/** The folder whose folders are skills, listed or not. */
const FOLDER = "skills";
const RECIPE = "SKILL.md";

/** Links whose hash is declared for people's agents too: a recipe, or an archive with one. */
const HASHED = /(?:^|\/)SKILL\.md$|\.(?:zip|tar\.gz|tgz)$/i;

/** A skill, with the description for `index.json`: the recipe's own where it has one. */
export interface ListedSkill extends PublishedSkill {
  readonly indexDescription: string;
}

/**
 * Writes the hashes of all scripts and recipes into their lines, and adds lines for the skills of `skills/` that have none:
 * a folder with a `SKILL.md` and its script, `tool.js` beside it or `tools/<name>.js`. A line that is only a link to a recipe
 * becomes a skill once such a script is there.
 *
 * @returns what is listed then, in document order.
 */
export async function writeSkillLines(draft: SiteDraft, text: LlmsTxtLines): Promise<readonly ListedSkill[]> {
  const { skills, prose } = parseLlmsTxt(text.toString());
  const entries = [...skills, ...prose].sort((one, other) => one.line - other.line);
  const listed: ListedSkill[] = [];
  const recipes = new Set<string>();
  for (const entry of entries) {
    const place = draft.locate(linkOf(entry));
    if (place !== null) recipes.add(place);
    const skill = await readSkill(draft, entry, text.metadata(entry.line));
    if (skill === null) continue;
    listed.push(skill);
    const metadata = skillMetadata(skill);
    const reasons = differences(skill, metadata, text.metadata(entry.line));
    if (reasons.length > 0) text.setMetadata(entry.line, metadata, reasons);
  }
  const names = new Set(entries.map(({ name }) => name));
  const added = await unlistedSkills(draft, (name, recipe) => names.has(name) || recipes.has(recipe));
  for (const { recipe } of added) noteUnreadLines(draft, text, recipe?.url ?? "");
  text.appendSkills(
    added.map(skillLine),
    added.map(({ name }) => `${name}: its line is missing`),
  );
  return [...listed, ...added];
}

/** Whoever wrote such a line may have meant it to list the skill. */
function noteUnreadLines(draft: SiteDraft, text: LlmsTxtLines, recipe: string): void {
  const lines = text.toString().split("\n");
  const index = lines.findIndex((line) => /^\s*[-*+]\s/.test(line) && line.includes(`${recipe})`));
  if (index === -1) return;
  const form = "`- [name](link): description` below the heading `## Skills`";
  draft.notes.push(`Line ${index + 1} of llms.txt links ${recipe} and is not read as a skill, which is ${form}.`);
}

function linkOf(entry: SkillLine | ProseLine): string {
  return "tool" in entry ? entry.recipeUrl : entry.url;
}

/** `null` for a line that says nothing of the site's files, or that cannot be read. */
async function readSkill(
  draft: SiteDraft,
  entry: SkillLine | ProseLine,
  metadata: JsonObject,
): Promise<ListedSkill | null> {
  const { name, line } = entry;
  if ("code" in entry && entry.code !== "no_metadata" && entry.code !== "no_tool") return null;
  const isDeclared = "tool" in entry;
  const url = linkOf(entry);
  const recipePlace = url === "" ? null : draft.locate(url);
  const isHashed = recipePlace !== null && (isDeclared || HASHED.test(recipePlace) || metadata.sha256 !== undefined);
  const recipe = isHashed ? await required(draft, recipePlace, `Line ${line} of llms.txt links`) : null;

  const toolPath = isDeclared ? entry.tool : recipe === null ? null : await findTool(draft, url, name);
  const toolPlace = toolPath === null ? null : draft.locate(toolPath);
  const tool = toolPlace === null ? null : await required(draft, toolPlace, `Line ${line} of llms.txt names`);
  if (recipe === null && tool === null) return null;
  const { version, description } = headOf(recipePlace, recipe);
  return {
    name,
    scope: isDeclared ? entry.scope : typeof metadata.scope === "string" ? metadata.scope : null,
    description: entry.description,
    indexDescription: description ?? entry.description,
    version: version ?? (typeof metadata.version === "string" ? metadata.version : null),
    recipe: recipe === null ? null : { url, sha256: sha256(recipe) },
    tool: toolPath === null || tool === null ? null : { path: toolPath, sha256: sha256(tool) },
  };
}

async function required(draft: SiteDraft, path: string, who: string): Promise<Uint8Array | null> {
  const failures = draft.failures.length;
  const bytes = await draft.read(path);
  if (bytes === null && draft.failures.length === failures) {
    draft.fail(path, "absent", `${who} the file ${path}, which is not there.`);
  }
  return bytes;
}

/** The script of a recipe, spelled as its link is. */
async function findTool(draft: SiteDraft, recipeUrl: string, name: string): Promise<string | null> {
  if (!recipeUrl.endsWith(RECIPE)) return null;
  const beside = `${recipeUrl.slice(0, -RECIPE.length)}tool.js`;
  for (const path of [beside, `${recipeUrl.startsWith("/") ? "/" : ""}tools/${name}.js`]) {
    const place = draft.locate(path);
    if (place !== null && (await draft.read(place)) !== null) return path;
  }
  return null;
}

async function unlistedSkills(
  draft: SiteDraft,
  isListed: (name: string, recipe: string) => boolean,
): Promise<readonly ListedSkill[]> {
  const skills: ListedSkill[] = [];
  const entries = await readdir(join(draft.folder, FOLDER), { withFileTypes: true }).catch(() => []);
  const names = entries.flatMap((entry) => (entry.isDirectory() && isPublic([FOLDER, entry.name]) ? entry.name : []));
  for (const name of names.sort()) {
    const recipePath = `${FOLDER}/${name}/${RECIPE}`;
    if (isListed(name, recipePath)) continue;
    const recipe = await draft.read(recipePath);
    const toolPath = recipe === null ? null : await findTool(draft, recipePath, name);
    const tool = toolPath === null ? null : await draft.read(toolPath);
    if (recipe === null || toolPath === null || tool === null) {
      draft.notes.push(
        recipe === null
          ? `The folder ${FOLDER}/${name} is not listed in llms.txt, and has no ${RECIPE} by which it would be.`
          : `The folder ${FOLDER}/${name} is not listed in llms.txt, and has no tool.js by which it would be. A skill without a tool is listed by a line of your own: "- [${name}](${recipePath}): what it is for".`,
      );
      continue;
    }
    const { version, description } = headOf(recipePath, recipe);
    if (description === null || !/^[A-Za-z0-9_.-]+$/.test(name)) {
      const message =
        description === null
          ? `The frontmatter of ${recipePath} has no \`description\`, which the new line of llms.txt needs.`
          : `The folder ${FOLDER}/${name} has a name that no tool can have: A-Z a-z 0-9 _ . - are allowed.`;
      draft.fail(recipePath, description === null ? "no_description" : "bad_name", message);
      continue;
    }
    skills.push({
      ...{ name, scope: null, description, indexDescription: description, version },
      recipe: { url: recipePath, sha256: sha256(recipe) },
      tool: { path: toolPath, sha256: sha256(tool) },
    });
  }
  return skills;
}

interface RecipeHead {
  readonly name: string | null;
  readonly version: string | null;
  /** On one line. */
  readonly description: string | null;
}

/** What a recipe's frontmatter says, as far as it can be read: lint tells what is wrong with it. */
export function headOf(path: string | null, recipe: Uint8Array | null): RecipeHead {
  const nothing = { name: null, version: null, description: null };
  if (recipe === null || !path?.endsWith(RECIPE)) return nothing;
  const head = readFrontMatter(new TextDecoder().decode(recipe));
  if (head.state !== "read") return nothing;
  const { name, metadata, version = isJsonObject(metadata) ? metadata.version : undefined, description } = head.fields;
  const words = textOf(description)?.trim().replace(/\s+/g, " ") ?? "";
  return { name: textOf(name), version: textOf(version), description: words === "" ? null : words };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** What a line's comment says otherwise than its files. */
function differences({ name, recipe, tool }: ListedSkill, metadata: JsonObject, present: JsonObject): string[] {
  const files: Readonly<Record<string, string | undefined>> = { sha256: recipe?.url, tool_sha256: tool?.path };
  return Object.keys(metadata).flatMap((field) => {
    if (present[field] === metadata[field]) return [];
    if (present[field] === undefined) return `${name}: ${field} is missing`;
    return `${name}: ${field} is not that of ${files[field] ?? "its recipe"}`;
  });
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
