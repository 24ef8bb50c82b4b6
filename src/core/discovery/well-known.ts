import { decodeUtf8, IntegrityError } from "../integrity.ts";
import { isJsonObject, type Json } from "../json.ts";
import type { CanonicalOrigin } from "../origin.ts";
import { OriginError, resolvePublisherPath } from "../origin.ts";
import type { SkillId } from "../skill.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";
import type { Download } from "./downloads.ts";

export const INDEX_PATH = "/.well-known/agent-skills/index.json";

/** What an index entry says about a skill's artifact; `null` where it says nothing. */
export interface IndexEntry extends SkillId {
  readonly tool: string | null;
  readonly toolSha256: string | null;
}

/** A file's usable part, and what was odd about it. A missing file (404) has neither. */
export interface WellKnown<T> {
  readonly entries: readonly T[];
  readonly problem: Refused | null;
}

/**
 * Reads `index.json` as far as it concerns executable skills (Executable Skills v0.5 §2.3): entries by scope and name.
 * Whatever is odd is reported and changes nothing.
 */
export function readIndex(download: Download): WellKnown<IndexEntry> {
  const document = readJson(download, "index.json");
  if (document === null) return { entries: [], problem: null };
  if (!document.ok) return { entries: [], problem: document };
  const skills = isJsonObject(document.value) ? document.value.skills : undefined;
  if (!Array.isArray(skills)) {
    return {
      entries: [],
      problem: refused("bad_shape", "The file index.json is not an object with an array `skills`."),
    };
  }
  const entries = skills.map(readEntry).filter((entry) => entry !== null);
  const odd = skills.length - entries.length;
  const problem =
    odd === 0
      ? null
      : refused(
          "bad_shape",
          `In index.json, ${odd} of ${skills.length} entries are not objects with a string \`name\`.`,
        );
  return { entries, problem };
}

function readEntry(entry: Json): IndexEntry | null {
  if (!isJsonObject(entry) || typeof entry.name !== "string") return null;
  const { name, scope, tool, tool_sha256: toolSha256 } = entry;
  return {
    name,
    scope: typeof scope === "string" ? scope : null,
    tool: typeof tool === "string" ? tool : null,
    toolSha256: typeof toolSha256 === "string" ? toolSha256 : null,
  };
}

/** An artifact as its `llms.txt` line declares it. */
export interface DeclaredTool extends SkillId {
  readonly toolSha256: string;
  readonly toolUrl: URL;
}

/**
 * Compares a skill with every index entry of its scope and name. A path in the index may be meant from the origin or, as
 * that standard's `url` is, from the index itself; either is accepted, since the hash decides.
 *
 * @returns why the skill must be refused, or `null`.
 */
export function findIndexMismatch(
  entries: readonly IndexEntry[],
  tool: DeclaredTool,
  origin: CanonicalOrigin,
): Refused | null {
  for (const entry of entries) {
    if (entry.name !== tool.name || entry.scope !== tool.scope) continue;
    if (entry.toolSha256 !== null && entry.toolSha256 !== tool.toolSha256) {
      return refused("index_mismatch", "The fields `tool_sha256` of llms.txt and index.json differ.");
    }
    if (entry.tool !== null && !pointsTo(entry.tool, tool.toolUrl, origin)) {
      return refused("index_mismatch", "The fields `tool` of llms.txt and index.json differ.");
    }
  }
  return null;
}

function pointsTo(path: string, url: URL, origin: CanonicalOrigin): boolean {
  const index = `${origin}${INDEX_PATH}`;
  if (URL.canParse(path, index) && new URL(path, index).href === url.href) return true;
  try {
    return resolvePublisherPath(origin, path).href === url.href;
  } catch (error) {
    if (error instanceof OriginError) return false;
    throw error;
  }
}

/** The JSON of a well-known file; `null` for one that does not exist. */
export function readJson(download: Download, label: string): Checked<Json> | null {
  if (!download.ok) return download.status === 404 ? null : download;
  try {
    return passed(JSON.parse(decodeUtf8(download.value)) as Json);
  } catch (error) {
    if (error instanceof IntegrityError) return refused("bad_encoding", `The file ${label} is not valid UTF-8.`);
    return refused("bad_json", `The file ${label} is not valid JSON.`);
  }
}
