import { INDEX_PATH, INDEX_SCHEMA } from "../../core/discovery/skills-index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { indexEntry, indexText } from "./published-skill.ts";
import type { SiteDraft } from "./site-draft.ts";
import type { ListedSkill } from "./skill-lines.ts";

const PATH = INDEX_PATH.slice(1);

/**
 * Writes `index.json`: an entry for every listed skill that has a recipe, in document order. Fields that others put there
 * stay, and so do entries of theirs as long as what they are about is there.
 *
 * @param keepsAbsent whether they stay though it is not, because it may be back in a moment.
 */
export async function writeIndex(
  draft: SiteDraft,
  skills: readonly ListedSkill[],
  keepsAbsent: boolean,
): Promise<void> {
  const text = await draft.readText(PATH);
  const present = text === null ? { $schema: INDEX_SCHEMA, skills: [] } : readIndexFile(draft, text);
  if (present === null) return;
  const { skills: entries, ...others } = present;
  const left = new Set(entries);
  const reasons: string[] = [];
  const written: Json[] = [];
  for (const skill of skills) {
    const { recipe } = skill;
    if (recipe === null) continue;
    const key = keyOf({ scope: skill.scope, name: skill.name });
    const own = [...left].filter((entry): entry is JsonObject => isJsonObject(entry) && keyOf(entry) === key);
    for (const entry of own) left.delete(entry);
    // What several say, the first says; what only a later one says is not lost.
    const before = own.length > 1 ? Object.assign({}, ...own.toReversed()) : own[0];
    if (own.length > 1) reasons.push(`${skill.name}: its entries ${placesOf(own, entries)} become one`);
    const full = { ...skill, recipe, description: skill.indexDescription };
    const entry = { ...before, ...indexEntry(full, indexUrl(draft, recipe.url)) };
    const clean = skill.tool === null ? withoutTool(entry) : entry;
    if (typeof before?.signature === "string" && before.digest !== clean.digest) {
      draft.notes.push(`The \`signature\` of ${skill.name} in index.json is of another ${recipe.url}: sign it again.`);
    }
    if (before === undefined) reasons.push(`${skill.name}: its entry is missing`);
    else if (JSON.stringify(before) !== JSON.stringify(clean)) reasons.push(`${skill.name}: its entry differs`);
    written.push(clean);
  }
  for (const entry of left) {
    const isThere = await isAbout(draft, entry);
    const name = isJsonObject(entry) && typeof entry.name === "string" ? entry.name : "an entry without a name";
    if (isThere || keepsAbsent) written.push(entry);
    else reasons.push(`${name}: llms.txt does not list it with a recipe, and its file is not there; the entry goes`);
    if (!isThere && keepsAbsent) draft.notes.push(`The file of ${name} in index.json is not there; the entry stays.`);
  }
  const file = indexText(written, { $schema: INDEX_SCHEMA, ...others });
  // Its author's own layout stays where nothing else is to be said.
  if (text !== null && JSON.stringify(JSON.parse(file)) === JSON.stringify(JSON.parse(text.replace(/^\uFEFF/, ""))))
    return;
  if (text === null) reasons.splice(0, reasons.length, "is missing");
  await draft.write(PATH, file, reasons.length > 0 ? reasons : ["`$schema` is missing"]);
}

function readIndexFile(draft: SiteDraft, text: string): (JsonObject & { readonly skills: readonly Json[] }) | null {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    draft.fail(PATH, "bad_json", "The file index.json is not valid JSON.");
    return null;
  }
  if (!isJsonObject(value) || !Array.isArray(value.skills)) {
    draft.fail(PATH, "bad_shape", "The file index.json is not an object with an array `skills`.");
    return null;
  }
  if (value.$schema !== undefined && value.$schema !== INDEX_SCHEMA) {
    draft.fail(PATH, "unknown_schema", `The \`$schema\` of index.json is not ${INDEX_SCHEMA}: it is left as it is.`);
    return null;
  }
  return value as JsonObject & { readonly skills: readonly Json[] };
}

/** Of other standards' readers, who resolve `url` against the index and know nothing of an origin's base (RFC 3986). */
function indexUrl(draft: SiteDraft, url: string): string {
  if (/^[a-z][a-z0-9+.-]*:|^[\\/]{2}/i.test(url)) return url;
  if (!url.startsWith("/")) return `../../${url}`;
  const base = new URL(draft.origin).pathname.replace(/\/$/, "");
  return base === "" || url === base || url.startsWith(`${base}/`) ? url : base + url;
}

function withoutTool({ tool: _path, tool_sha256: _hash, ...entry }: JsonObject): JsonObject {
  return entry;
}

/** An entry of an artifact elsewhere, or of a file of the site. */
async function isAbout(draft: SiteDraft, entry: Json): Promise<boolean> {
  if (!isJsonObject(entry) || typeof entry.url !== "string") return false;
  const index = `${draft.origin}${INDEX_PATH}`;
  const place = URL.canParse(entry.url, index) ? draft.locate(new URL(entry.url, index).href) : null;
  return place === null || (await draft.read(place)) !== null;
}

/** Such as `1 and 3`, counted from 1. */
function placesOf(some: readonly Json[], all: readonly Json[]): string {
  const places = some.map((entry) => all.indexOf(entry) + 1);
  return `${places.slice(0, -1).join(", ")} and ${places.at(-1)}`;
}

function keyOf({ scope = null, name }: JsonObject): string {
  return JSON.stringify([scope, name]);
}
