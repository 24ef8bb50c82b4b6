import { isSha256Hex, type Sha256Hex } from "../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { type CanonicalOrigin, OriginError, resolvePublisherPath } from "../origin.ts";
import type { SkillId } from "../skill.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";
import type { Download } from "./downloads.ts";
import type { Contradiction, IndexReport } from "./release.ts";
import { readJson } from "./well-known.ts";

export const INDEX_PATH = "/.well-known/agent-skills/index.json";

/** The only `$schema` whose entries are known; compared as an opaque string (Agent Skills Discovery 0.2.0). */
export const INDEX_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/** What is reported of a publisher that has no index. */
export const NO_INDEX: IndexReport = { code: "absent", message: "There is no index.json.", entries: 0 };

/** A publisher's `index.json` as far as it concerns executable skills. */
export interface SkillsIndex {
  readonly report: IndexReport;
  /** What was odd about it. A file that does not exist is not odd. */
  readonly problems: readonly Refused[];
  /** By scope and name, see {@link keyOf}. */
  readonly claims: ReadonlyMap<string, IndexClaims>;
}

/** What all entries of one scope and name say; more than one value of a kind is a contradiction. */
interface IndexClaims {
  /** Where they stand, counted from 1. */
  readonly places: number[];
  readonly toolHashes: Set<string>;
  /** The URLs that a `tool` may mean, joined by spaces. */
  readonly toolPlaces: Set<string>;
  /** `digest` without its prefix, and `sha256`; what is not of their form stays as it is, and equals no hash. */
  readonly recipeHashes: Set<string>;
}

/**
 * Reads `index.json` (Agent Skills Discovery 0.2.0 with the fields of Executable Skills v0.5 §2.3). A file of another schema, of
 * v0.1.0 or of the superseded interim 0.2.0, and one that is no index at all, is reported and changes nothing. A file that
 * names no schema and has none of their marks is reported and read: what it says can only refuse.
 */
export function readIndex(download: Download, origin: CanonicalOrigin): SkillsIndex {
  const document = readJson(download, "index.json");
  if (document === null) return { report: NO_INDEX, problems: [], claims: new Map() };
  if (!document.ok) return ignored(document);
  const { value } = document;
  const skills = isJsonObject(value) ? value.skills : undefined;
  if (!isJsonObject(value) || !Array.isArray(skills)) {
    return ignored(refused("bad_shape", "The file index.json is not an object with an array `skills`."));
  }
  const schema = judgeSchema(value, skills);
  if (schema !== null && schema.code !== "missing_schema") return ignored(schema);
  const { entries, problems } = readEntries(skills);
  return reported(entries, schema === null ? problems : [schema, ...problems], origin);
}

function ignored(problem: Refused): SkillsIndex {
  const { code, message } = problem;
  return { report: { code, message, entries: 0 }, problems: [problem], claims: new Map() };
}

function reported(entries: readonly IndexEntry[], problems: readonly Refused[], origin: CanonicalOrigin): SkillsIndex {
  const [first] = problems;
  const message = first?.message ?? "The file index.json was compared with llms.txt.";
  return {
    report: { code: first?.code ?? "read", message, entries: entries.length },
    problems,
    claims: gatherClaims(entries, origin),
  };
}

/** `null`: the file is of the known schema. `legacy_index`: of v0.1.0, which nothing tells but its lists of paths. */
export function judgeSchema(document: JsonObject, skills: readonly Json[]): Refused | null {
  const { $schema: schema } = document;
  if (schema === INDEX_SCHEMA) return null;
  if (schema !== undefined) {
    const shown = JSON.stringify(typeof schema === "string" ? schema.slice(0, 128) : typeof schema);
    return refused("unknown_schema", `The \`$schema\` of index.json, ${shown}, is not ${INDEX_SCHEMA}.`);
  }
  const files = skills.flatMap((entry) => (isJsonObject(entry) && Array.isArray(entry.files) ? entry.files : []));
  if (document.version === "0.2.0" && files.length > 0) return INTERIM;
  if (files.some(isJsonObject)) return INTERIM;
  if (files.length > 0) {
    return refused("legacy_index", "The file index.json is of discovery v0.1.0, which has no hashes to compare.");
  }
  return refused("missing_schema", `The file index.json has no \`$schema\`; it should be ${INDEX_SCHEMA}.`);
}

const INTERIM = refused(
  "interim_index",
  "The file index.json is of the superseded interim form of discovery 0.2.0, whose digests are of other bytes.",
);

interface IndexEntry extends SkillId {
  /** Counted from 1. */
  readonly place: number;
  readonly tool: string | null;
  readonly toolSha256: string | null;
  readonly recipeHashes: readonly string[];
}

function readEntries(skills: readonly Json[]): { entries: readonly IndexEntry[]; problems: readonly Refused[] } {
  const entries: IndexEntry[] = [];
  let odd = 0;
  let untyped = 0;
  for (const [index, skill] of skills.entries()) {
    const entry = readEntry(skill, index + 1);
    if (entry === null) odd += 1;
    else entries.push(entry);
    if (entry !== null && isJsonObject(skill) && !isKnownType(skill.type)) untyped += 1;
  }
  const of = `of ${skills.length} entries`;
  const problems: Refused[] = [];
  if (odd > 0) {
    const rule = "are not objects with a string `name` and, where they have a `scope`, a string as that";
    problems.push(refused("bad_shape", `In index.json, ${odd} ${of} ${rule}.`));
  }
  if (untyped > 0) {
    const rule = "have another `type` than skill-md and archive; no recipe is compared with theirs";
    problems.push(refused("unknown_type", `In index.json, ${untyped} ${of} ${rule}.`));
  }
  return { entries, problems };
}

/** A missing `type` is no other one: indexes from before discovery 0.2.0 have none. */
function isKnownType(type: Json | undefined): boolean {
  return type === undefined || type === null || type === "skill-md" || type === "archive";
}

function readEntry(entry: Json, place: number): IndexEntry | null {
  if (!isJsonObject(entry) || typeof entry.name !== "string") return null;
  const { name, scope = null, type = null, tool, tool_sha256: toolSha256, digest, sha256 } = entry;
  if (scope !== null && typeof scope !== "string") return null;
  // The digest of an archive is not that of the SKILL.md in it.
  const isRecipe = type === null || type === "skill-md";
  const prefix = "sha256:";
  return {
    name,
    scope,
    place,
    tool: typeof tool === "string" ? tool : null,
    toolSha256: typeof toolSha256 === "string" ? toolSha256 : null,
    recipeHashes: [
      ...(isRecipe && typeof digest === "string"
        ? [digest.startsWith(prefix) ? digest.slice(prefix.length) : `(digest) ${digest}`]
        : []),
      ...(isRecipe && typeof sha256 === "string" ? [sha256] : []),
    ],
  };
}

function gatherClaims(entries: readonly IndexEntry[], origin: CanonicalOrigin): ReadonlyMap<string, IndexClaims> {
  const claims = new Map<string, IndexClaims>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const known = claims.get(key) ?? {
      places: [],
      toolHashes: new Set(),
      toolPlaces: new Set(),
      recipeHashes: new Set(),
    };
    claims.set(key, known);
    known.places.push(entry.place);
    if (entry.toolSha256 !== null) known.toolHashes.add(entry.toolSha256);
    if (entry.tool !== null) known.toolPlaces.add(placesOf(entry.tool, origin).join(" "));
    for (const hash of entry.recipeHashes) known.recipeHashes.add(hash);
  }
  return claims;
}

function keyOf({ scope, name }: SkillId): string {
  return JSON.stringify([scope, name]);
}

/** A path may be meant from the origin or, as that standard's `url` is, from the index itself. */
function placesOf(path: string, origin: CanonicalOrigin): string[] {
  const places: string[] = [];
  const index = `${origin}${INDEX_PATH}`;
  if (URL.canParse(path, index)) places.push(new URL(path, index).href);
  try {
    places.push(resolvePublisherPath(origin, path).href);
  } catch (error) {
    if (!(error instanceof OriginError)) throw error;
  }
  return places;
}

/** An artifact as its `llms.txt` line declares it. */
export interface DeclaredTool extends SkillId {
  readonly toolSha256: string;
  readonly toolUrl: URL;
  /** `null`: its line declares none. */
  readonly recipeSha256: Sha256Hex | null;
}

/**
 * Compares a skill with every entry of its scope and name (Executable Skills v0.5 §2.3). Either reading of a path is accepted,
 * since the hash decides.
 *
 * @returns why the skill must be refused, or `null`.
 */
export function findToolMismatch(index: SkillsIndex, declared: DeclaredTool): Refused | null {
  const { toolSha256, toolUrl, recipeSha256, ...id } = declared;
  const claims = index.claims.get(keyOf(id));
  const contradicted = (message: string): Refused => {
    const recipe = recipeHash(index, id, recipeSha256);
    const tool = othersThan(toolSha256, claims?.toolHashes);
    const recipes = recipe?.ok === false ? (recipe.contradiction?.recipe ?? []) : [];
    return refusedFor(message + severalEntries(claims), { declared: toolSha256, tool, recipe: recipes });
  };
  for (const hash of claims?.toolHashes ?? []) {
    if (hash !== toolSha256) {
      return contradicted("The fields `tool_sha256` of llms.txt and index.json differ.");
    }
  }
  for (const places of claims?.toolPlaces ?? []) {
    if (!places.split(" ").includes(toolUrl.href)) {
      return contradicted("The fields `tool` of llms.txt and index.json differ.");
    }
  }
  return null;
}

/**
 * The hash of a recipe, from wherever the publisher declares it: the `sha256` of its line, the `digest` and `sha256` of its
 * entries. Where they differ the recipe is refused and not the skill: the hash of the tool is another field (core RFC §4.3).
 *
 * @returns `null` where nobody declares one.
 */
export function recipeHash(index: SkillsIndex, id: SkillId, declared: Sha256Hex | null): Checked<Sha256Hex> | null {
  const claims = index.claims.get(keyOf(id));
  const hashes = new Set(claims?.recipeHashes);
  const [first] = hashes;
  if (first === undefined) return declared === null ? null : passed(declared);
  if (declared === null && hashes.size > 1) {
    const message = "The entries of this recipe in index.json declare several hashes.";
    return refusedFor(message + severalEntries(claims), { declared: "", tool: [], recipe: othersThan("", hashes) });
  }
  if (declared === null) {
    if (isSha256Hex(first)) return passed(first);
    const rule = "must be `sha256:` and 64 lower-case hexadecimal digits, its `sha256` the digits alone";
    return refused("bad_hash", `The recipe's \`digest\` in index.json ${rule}.`);
  }
  hashes.delete(declared);
  if (hashes.size === 0) return passed(declared);
  const message = "The `sha256` of llms.txt and the `digest` or `sha256` of index.json differ for this recipe.";
  return refusedFor(message + severalEntries(claims), { declared, tool: [], recipe: othersThan(declared, hashes) });
}

const MOST_PLACES = 5;

/** Of an index that has more than one: which they are. */
function severalEntries({ places }: Pick<IndexClaims, "places"> = { places: [] }): string {
  if (places.length < 2) return "";
  const shown = places.slice(0, MOST_PLACES).join(", ");
  const more = places.length > MOST_PLACES ? ` and ${places.length - MOST_PLACES} more` : "";
  return ` Of this skill index.json has the entries ${shown}${more}, counted from 1.`;
}

function refusedFor(message: string, contradiction: Omit<Contradiction, "isLasting">): Refused {
  return { ...refused("index_mismatch", message), contradiction: { ...contradiction, isLasting: false } };
}

function othersThan(declared: string, claimed: Iterable<string> = []): string[] {
  const others = [...claimed].filter((hash) => hash !== declared).slice(0, 2);
  return others.map((hash) => (isSha256Hex(hash) ? hash : ""));
}
