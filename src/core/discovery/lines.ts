import { isSha256Hex, type Sha256Hex } from "../integrity.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { LlmsTxt, MemoryLine, SkillLine } from "../llmstxt/llmstxt.ts";
import { type CanonicalOrigin, OriginError, resolvePublisherPath } from "../origin.ts";
import { GUIDE_TOOL, type PublicName, toPublicName } from "../skill.ts";
import { type Checked, passed, type Refused, refused, rejection } from "./checked.ts";
import type { DeclaredFile } from "./downloads.ts";
import type { Rejection } from "./release.ts";

/** Names that MCP clients accept (2025-11-25, Tools): longer or other ones make some drop the whole list. */
const PUBLIC_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** An executable line whose text is in order; nothing is fetched yet. */
export interface Candidate {
  readonly line: SkillLine;
  readonly publicName: PublicName;
  readonly tool: DeclaredFile;
  /** `null`: the line links no recipe. Refused: it does, but the recipe cannot be had; the tool can. */
  readonly recipe: Checked<LinkedRecipe> | null;
}

export interface LinkedRecipe {
  readonly url: URL;
  /** `null`: the line declares none. */
  readonly sha256: Sha256Hex | null;
}

/** Checks one executable line; only the first `limits.skills` lines of a document come here. */
export function checkSkillLine(line: SkillLine, origin: CanonicalOrigin, limits: DiscoveryLimits): Checked<Candidate> {
  const publicName = toPublicName(line);
  if (!PUBLIC_NAME.test(publicName)) {
    return refused(
      "bad_name",
      "The skill's public name (its scope, two underscores and its name) must be 1 to 128 of the characters A-Z a-z 0-9 _ . -.",
    );
  }
  if (publicName === GUIDE_TOOL) {
    return refused(
      "reserved_name",
      `The public name ${GUIDE_TOOL} belongs to the runtime's own tool, which hands out recipes.`,
    );
  }
  const tool = checkDeclared(origin, { path: line.tool, sha256: line.toolSha256 }, ["tool", "tool_sha256"]);
  if (!tool.ok) return tool;
  return passed({
    line,
    publicName,
    tool: { ...tool.value, maxBytes: limits.toolBytes, label: "tool.js", of: { scope: line.scope, name: line.name } },
    recipe: checkRecipe(line, origin),
  });
}

/** A recipe elsewhere would need the operator's consent, which nobody can give yet: it is `outside_origin` (core RFC §4.3). */
function checkRecipe({ recipeUrl, recipeSha256 }: SkillLine, origin: CanonicalOrigin): Checked<LinkedRecipe> | null {
  if (recipeUrl === "") return null;
  if (recipeSha256 !== null) {
    return checkDeclared(origin, { path: recipeUrl, sha256: recipeSha256 }, ["link", "sha256"]);
  }
  const url = checkPath(origin, recipeUrl, "link");
  return url.ok ? passed({ url: url.value, sha256: null }) : url;
}

/** Checks a memory line of the supported format. */
export function checkMemoryLine(
  line: MemoryLine,
  origin: CanonicalOrigin,
  limits: DiscoveryLimits,
): Checked<DeclaredFile> {
  if (!line.supported) {
    const shown = JSON.stringify(line.format.slice(0, 64));
    return refused("unsupported_format", `The snapshot's \`format\` ${shown} is not minimemory-okf-v1.`);
  }
  const snapshot = checkDeclared(origin, { path: line.snapshot, sha256: line.sha256 }, ["snapshot", "snapshot_sha256"]);
  if (!snapshot.ok) return snapshot;
  const of = { scope: line.scope, name: "" };
  return passed({ ...snapshot.value, maxBytes: limits.snapshotBytes, label: "snapshot", of });
}

/** Lines that were meant for a runtime and cannot be used, as the parser found them. */
export function rejectionsOfText({ prose, badMemories }: LlmsTxt): Rejection[] {
  const rejected: Rejection[] = [];
  for (const { name, code, line, reason } of prose) {
    if (code !== "bad_metadata" && code !== "bad_scope") continue;
    rejected.push(rejection("skill", { scope: null, name }, refused(code, `Line ${line} of llms.txt: ${reason}`)));
  }
  for (const { line, code, reason } of badMemories) {
    rejected.push(rejection("memory", { scope: null, name: "" }, refused(code, `Line ${line} of llms.txt: ${reason}`)));
  }
  return rejected;
}

/** The publisher's words: a path that may lead anywhere and a hash that may be anything. */
function checkDeclared(
  origin: CanonicalOrigin,
  { path, sha256 }: { path: string; sha256: string },
  [pathField, hashField]: readonly [string, string],
): Checked<{ readonly url: URL; readonly sha256: Sha256Hex }> {
  if (!isSha256Hex(sha256)) {
    return refused("bad_hash", `The field \`${hashField}\` must be 64 lower-case hexadecimal digits.`);
  }
  const url = checkPath(origin, path, pathField);
  return url.ok ? passed({ url: url.value, sha256 }) : url;
}

function checkPath(origin: CanonicalOrigin, path: string, field: string): Checked<URL> {
  if (path === "") return refused("bad_url", `The field \`${field}\` is empty.`);
  try {
    return passed(resolvePublisherPath(origin, path));
  } catch (error) {
    return refusedPath(error, field);
  }
}

function refusedPath(error: unknown, field: string): Refused {
  if (!(error instanceof OriginError)) throw error;
  return error.code === "outside_origin"
    ? refused("outside_origin", `The field \`${field}\` leads outside the origin.`)
    : refused("bad_url", `The field \`${field}\` is not a usable path: ${error.message}`);
}
