import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { indexEntry, indexText, skillLine } from "../../local/site/published-skill.ts";
import { headOf, sha256 } from "../../local/site/skill-lines.ts";
import { publishDocuments } from "./documents.ts";

/** One line of a publisher's `site.json`. */
interface SiteSkill {
  readonly name: string;
  /** Declared in place of `/tools/<name>.js`. */
  readonly tool?: string;
  /** Declared in place of the real hash: for skills that must be rejected. */
  readonly toolSha256?: string;
}

interface Site {
  readonly title: string;
  readonly summary: string;
  /** In the order of `llms.txt`. */
  readonly skills: readonly SiteSkill[];
  /** Markdown, by path in the repository, that the site publishes and its skills search. */
  readonly documents?: readonly string[];
}

export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

const ROOT = join(import.meta.dirname, "../../..");

/** What the generated files of one publisher must be, from its tools, its recipes and its `site.json`. */
export async function generateSite(folder: string): Promise<readonly GeneratedFile[]> {
  const site = JSON.parse(await readFile(join(folder, "site.json"), "utf8")) as Site;
  const publicFolder = join(folder, "public");
  await refuseUnlisted(publicFolder, site);
  const skills = await Promise.all(site.skills.map((skill) => publishedSkill(publicFolder, skill)));
  const published = site.documents === undefined ? null : await publishDocuments(ROOT, publicFolder, site.documents);
  const memory = published === null ? "" : `${published.memoryLine}\n\n`;
  const llmsTxt = `# ${site.title}\n\n> ${site.summary}\n\n${memory}## Skills\n\n${skills.map(skillLine).join("\n")}\n`;
  const index = indexText(skills.map((skill) => indexEntry(skill)));
  return [
    { path: join(publicFolder, "llms.txt"), content: llmsTxt },
    { path: join(publicFolder, ".well-known/agent-skills/index.json"), content: index },
    ...(published?.files ?? []),
  ];
}

async function publishedSkill(publicFolder: string, { name, tool, toolSha256 }: SiteSkill) {
  const url = `/skills/${name}/SKILL.md`;
  const recipe = await readFile(join(publicFolder, url));
  const head = headOf(url, recipe);
  const { description, version } = head;
  if (head.name !== name) throw new Error(`${url} has the name ${JSON.stringify(head.name)} in its frontmatter.`);
  if (description === null) throw new Error(`The frontmatter of ${url} lacks "description".`);
  if (version === null) throw new Error(`The frontmatter of ${url} lacks "metadata.version".`);
  const path = tool ?? `/tools/${name}.js`;
  const hash = toolSha256 ?? sha256(await readFile(join(publicFolder, path)));
  return {
    ...{ name, scope: null, description, version },
    recipe: { url, sha256: sha256(recipe) },
    tool: { path, sha256: hash },
  };
}

/** The folders of all reference publishers, in order of name. */
export async function publisherFolders(root = join(ROOT, "publishers")): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
    .sort();
}

/** Those of the files whose content on disk is not what it must be. */
export async function staleFiles(files: readonly GeneratedFile[]): Promise<readonly GeneratedFile[]> {
  const stale: GeneratedFile[] = [];
  for (const file of files) {
    const present = await readFile(file.path, "utf8").catch(() => undefined);
    if (present !== file.content) stale.push(file);
  }
  return stale;
}

/** A tool or a recipe that no line of `site.json` names would be served, but never listed: surely a mistake. */
async function refuseUnlisted(publicFolder: string, site: Site): Promise<void> {
  const listed = new Set(site.skills.map((skill) => skill.name));
  const tools = (await readdir(join(publicFolder, "tools"))).map((file) => file.replace(/\.js$/, ""));
  const recipes = await readdir(join(publicFolder, "skills"));
  const unlisted = [...tools, ...recipes].find((name) => !listed.has(name));
  if (unlisted !== undefined) throw new Error(`site.json beside ${publicFolder} does not list "${unlisted}".`);
}

async function main(args: readonly string[]): Promise<number> {
  const check = args.includes("--check");
  const unknown = args.find((argument) => argument !== "--check");
  if (unknown !== undefined) {
    console.error(`Unknown argument ${unknown}. Usage: npm run build:publishers [-- --check]`);
    return 2;
  }
  const stale: GeneratedFile[] = [];
  for (const folder of await publisherFolders()) stale.push(...(await staleFiles(await generateSite(folder))));
  for (const file of stale) {
    const name = relative(ROOT, file.path);
    if (check) {
      console.error(`${name} is stale: run "npm run build:publishers" and commit the result.`);
    } else {
      await mkdir(dirname(file.path), { recursive: true });
      await writeFile(file.path, file.content);
      console.log(`wrote ${name}`);
    }
  }
  if (stale.length === 0) console.log("The publishers' generated files are current.");
  return check && stale.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
