import { isDescription, isSkillName } from "../agent-skills/names.ts";
import { canonicalPath } from "../agent-skills/place.ts";
import { PUBLICATION_LIMITS } from "../agent-skills/publication.ts";
import { EXTENSION_LIMITS, fitsExtension, frontmatterOf, SKILL_FILE } from "../agent-skills/skill-folder.ts";
import { ArchiveError, archiveLimits, type Inflater, readArchive } from "../archive/archive.ts";
import { readFrontMatter } from "../front-matter.ts";
import { decodeExactly, IntegrityError, isSha256Hex, type Sha256Hex, sha256Hex } from "../integrity.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { CanonicalOrigin } from "../origin.ts";
import { isInsideOrigin } from "../origin-path.ts";
import { type Checked, passed, type Refused, refused, rejection } from "./checked.ts";
import { type Download, type Downloads, releaseFull } from "./downloads.ts";
import { isHtmlPage } from "./html-page.ts";
import type { ReleaseLedger } from "./ledger.ts";
import type { Rejection, ReleaseAgentSkill, UnverifiedRecipes } from "./release.ts";
import { INDEX_PATH, judgeSchema } from "./skills-index.ts";
import { readJson } from "./well-known.ts";

/** Where discovery v0.1.0 has its index; some of these lie at the newer place. */
const LEGACY_INDEX_PATH = "/.well-known/skills/index.json";

/** What a discovery gives to whoever reads the Agent Skills of its origin. */
export interface AgentSkillsContext {
  readonly origin: CanonicalOrigin;
  readonly downloads: Downloads;
  readonly limits: DiscoveryLimits;
  readonly unverifiedRecipes: UnverifiedRecipes;
  readonly index: Download;
  /** Names of lines with a tool: what becomes of these, and of their recipes, is decided with the tool. */
  readonly tools: ReadonlySet<string>;
  readonly ledger: ReleaseLedger;
  /** Takes what is left out, and why. */
  readonly rejected: Rejection[];
}

/** Reads the Agent Skills that an origin's index names. Never rejects. */
export type ReadAgentSkills = (context: AgentSkillsContext) => Promise<readonly ReleaseAgentSkill[]>;

interface Entry {
  readonly name: string;
  readonly description: string;
  readonly fields: JsonObject;
}

interface FetchedFile {
  readonly path: string;
  readonly sha256: Sha256Hex;
  readonly bytes: Uint8Array;
}

/**
 * Reads an index of Agent Skills Discovery v0.2.0, every artifact against its digest, or of v0.1.0, which has none: its skills are unverified,
 * and read only where such are offered. One broken skill harms only itself.
 */
export async function readAgentSkills(
  context: AgentSkillsContext,
  inflater: Inflater,
): Promise<readonly ReleaseAgentSkill[]> {
  const { origin, downloads, limits, rejected } = context;
  let base = new URL(`${origin}${INDEX_PATH}`);
  let document = readJson(context.index, "index.json");
  if (document === null) {
    base = new URL(`${origin}${LEGACY_INDEX_PATH}`);
    document = readJson(await downloads.plain(base, limits.indexBytes, "skills/index.json"), "skills/index.json");
  }
  // What is odd about the index itself is reported with it.
  if (!document?.ok || !isJsonObject(document.value) || !Array.isArray(document.value.skills)) return [];
  const schema = judgeSchema(document.value, document.value.skills);
  const isLegacy = schema?.code === "legacy_index";
  if (schema !== null && !isLegacy) return [];
  const entries = readEntries(document.value.skills, context);
  const read = await Promise.all(
    entries.map(({ name, fields }) =>
      isLegacy ? fetchLegacy(name, fields.files, base, context) : fetchArtifact(name, fields, base, context, inflater),
    ),
  );
  return entries.flatMap(({ name, description }, index) => {
    const files = read[index];
    if (files === undefined) return [];
    const skill = files.ok ? keep({ name, description, verified: !isLegacy, files: files.value }, context) : files;
    if (skill.ok) return [skill.value];
    rejected.push(rejection("recipe", { scope: null, name }, skill));
    return [];
  });
}

/** The entries that hosts would take, the first of each name, at most as many as an origin may have skills. */
function readEntries(skills: readonly unknown[], { tools, limits, rejected }: AgentSkillsContext): readonly Entry[] {
  const entries = new Map<string, Entry>();
  for (const fields of skills) {
    if (!isJsonObject(fields)) continue;
    const { name, description } = fields;
    if (typeof name !== "string" || tools.has(name) || fields.tool !== undefined) continue;
    const refuse = (problem: Refused) =>
      rejected.push(rejection("recipe", { scope: null, name: name.slice(0, 128) }, problem));
    if (!isSkillName(name)) {
      refuse(
        refused("bad_name", "The `name` in index.json is not 1 to 64 lower-case letters, digits and single hyphens."),
      );
    } else if (typeof description !== "string" || !isDescription(description)) {
      refuse(refused("bad_metadata", "The `description` in index.json is not one line of 1 to 1024 characters."));
    } else if (entries.has(name)) {
      refuse(refused("name_collision", "The file index.json has another skill of this name before it."));
    } else if (entries.size >= limits.skills) {
      refuse(refused("too_many_skills", `An origin may have ${limits.skills} Agent Skills.`));
    } else {
      entries.set(name, { name, description, fields });
    }
  }
  return [...entries.values()];
}

async function fetchArtifact(
  name: string,
  { type, url, digest }: JsonObject,
  base: URL,
  { origin, downloads, limits }: AgentSkillsContext,
  inflater: Inflater,
): Promise<Checked<readonly FetchedFile[]>> {
  if (type !== "skill-md" && type !== "archive") {
    return refused("unknown_type", "The `type` in index.json is neither skill-md nor archive.");
  }
  const sha256 = typeof digest === "string" && digest.startsWith("sha256:") ? digest.slice(7) : "";
  if (!isSha256Hex(sha256)) {
    return refused("bad_hash", "The `digest` in index.json is not `sha256:` and 64 lower-case hexadecimal digits.");
  }
  const place = typeof url === "string" && URL.canParse(url, base) ? new URL(url, base) : null;
  if (place === null) return refused("bad_url", "The `url` in index.json is no address.");
  if (!isInsideOrigin(origin, place)) return refused("outside_origin", "The `url` in index.json leaves the origin.");
  const isArchive = type === "archive";
  const maxBytes = isArchive ? PUBLICATION_LIMITS.archiveBytes : limits.recipeBytes;
  const label = isArchive ? "the archive" : SKILL_FILE;
  const bytes = await downloads.verified({ url: place, sha256, maxBytes, label, of: { scope: null, name } });
  if (!bytes.ok) return bytes;
  if (!isArchive) return passed([{ path: SKILL_FILE, sha256, bytes: bytes.value }]);
  try {
    const { files } = readArchive(bytes.value, archiveLimits({}), inflater);
    if (!fitsExtension(files.map((file) => ({ bytes: file.bytes.length })))) return tooManyFiles();
    return passed(await Promise.all(files.map(async (file) => ({ ...file, sha256: await sha256Hex(file.bytes) }))));
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return refused("bad_shape", `The archive is refused (${error.code}): ${error.message}`);
  }
}

async function fetchLegacy(
  name: string,
  files: JsonObject[string] | undefined,
  base: URL,
  { origin, downloads, limits, unverifiedRecipes }: AgentSkillsContext,
): Promise<Checked<readonly FetchedFile[]>> {
  if (unverifiedRecipes === "withhold") {
    const reason = "An index of discovery v0.1.0 declares no hashes, so the skill cannot be verified and is left out.";
    return refused("no_declared_hash", reason);
  }
  const paths = Array.isArray(files) ? [...new Set(files)] : [];
  if (!paths.includes(SKILL_FILE)) return refused("bad_shape", `The \`files\` in index.json name no ${SKILL_FILE}.`);
  if (paths.length > EXTENSION_LIMITS.files) return tooManyFiles();
  const fetched: FetchedFile[] = [];
  for (const path of paths) {
    const place =
      typeof path === "string" ? canonicalPath(`/${path.split("/").map(encodeURIComponent).join("/")}`) : null;
    const url = new URL(`./${name}${place ?? ""}`, base);
    if (typeof path !== "string" || place === null || !isInsideOrigin(origin, url)) {
      return refused("bad_url", "The `files` in index.json are not all paths inside the skill's folder.");
    }
    const bytes = await downloads.undeclared({ url, maxBytes: limits.recipeBytes, label: path.slice(0, 128) });
    if (!bytes.ok) return bytes;
    fetched.push({ path, sha256: await sha256Hex(bytes.value), bytes: bytes.value });
  }
  return passed(fetched);
}

function tooManyFiles(): Refused {
  const rule = `may have ${EXTENSION_LIMITS.files} files and ${EXTENSION_LIMITS.bytes} bytes`;
  return refused("too_large", `A skill ${rule}.`);
}

function keep(skill: Omit<ReleaseAgentSkill, "frontmatter">, context: AgentSkillsContext): Checked<ReleaseAgentSkill> {
  const { name, verified, files } = skill;
  const own = files.find(({ path }) => path === SKILL_FILE)?.bytes ?? new Uint8Array();
  let text: string;
  try {
    text = decodeExactly(own);
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    return refused("bad_encoding", `The file ${SKILL_FILE} is not valid UTF-8.`);
  }
  if (!verified && isHtmlPage(text)) return refused("bad_shape", `The file ${SKILL_FILE} is a page of HTML.`);
  for (const { path, sha256, bytes } of files) {
    if (!context.ledger.take(sha256, bytes.length)) return releaseFull(path, context.limits);
  }
  return passed({ ...skill, frontmatter: frontmatterOf(readFrontMatter(text), name) });
}
