import type { Sha256Hex } from "../integrity.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { SkillLine } from "../llmstxt/llmstxt.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { PublicName } from "../skill.ts";
import { type Checked, passed, type Refused, refused, rejection } from "./checked.ts";
import type { DefinitionReader, DefinitionSource } from "./definitions.ts";
import { type DeclaredFile, fileKey, releaseFull } from "./downloads.ts";
import type { ReleaseLedger } from "./ledger.ts";
import { type Candidate, checkSkillLine, type LinkedRecipe } from "./lines.ts";
import { type FetchedRecipe, fetchRecipe, findRecipeMismatch, type RecipeFetchContext, readRecipe } from "./recipes.ts";
import type { Recipe, Rejection, ReleaseSkill } from "./release.ts";
import { findToolMismatch, type SkillsIndex } from "./skills-index.ts";

/** An executable line with its files, as far as they could be had. */
interface FetchedSkill {
  readonly line: SkillLine;
  readonly result: Checked<Arrived>;
}

interface Arrived {
  readonly candidate: Candidate;
  readonly source: Checked<Uint8Array>;
  /** `null` where the line links none. */
  readonly recipe: Checked<FetchedRecipe> | null;
}

/** Checks the lines and starts their fetches at once, in document order, a skill's tool before its recipe. */
export function fetchSkills(
  lines: readonly SkillLine[],
  context: RecipeFetchContext & { readonly origin: CanonicalOrigin },
): Promise<readonly FetchedSkill[]> {
  const { limits } = context;
  return Promise.all(
    lines.map(async (line, position): Promise<FetchedSkill> => {
      if (position < limits.skills) return { line, result: await fetchSkill(line, context) };
      const message = `An origin may have at most ${limits.skills} executable skills.`;
      return { line, result: refused("too_many_skills", message) };
    }),
  );
}

async function fetchSkill(
  line: SkillLine,
  context: RecipeFetchContext & { readonly origin: CanonicalOrigin },
): Promise<Checked<Arrived>> {
  const { downloads, origin, limits } = context;
  const checked = checkSkillLine(line, origin, limits);
  if (!checked.ok) return checked;
  const { tool, recipe } = checked.value;
  const [source, fetchedRecipe] = await Promise.all([
    downloads.verified(tool),
    recipe?.ok ? fetchRecipe(line, recipe.value, context) : recipe,
  ]);
  return passed({ candidate: checked.value, source, recipe: fetchedRecipe });
}

/** Of what `llms.txt` and `index.json` say different things, as far as the files arrived. */
export function findContradictions(fetched: readonly FetchedSkill[], index: SkillsIndex): Rejection[] {
  return fetched.flatMap(({ line, result }) => {
    if (!result.ok) return [];
    const { candidate, recipe } = result.value;
    const tool = findMismatch(candidate, index);
    if (tool !== null) return [rejection("skill", line, tool)];
    const mismatch = recipe?.ok ? findRecipeMismatch(line, recipe.value, index) : recipe;
    return mismatch?.code === "index_mismatch" ? [rejection("recipe", line, mismatch)] : [];
  });
}

function findMismatch({ line, tool, recipe }: Candidate, index: SkillsIndex): Refused | null {
  const recipeSha256 = recipe?.ok ? recipe.value.sha256 : null;
  const { scope, name } = line;
  return findToolMismatch(index, { scope, name, toolSha256: tool.sha256, toolUrl: tool.url, recipeSha256 });
}

export interface KeepSkillsContext {
  readonly index: SkillsIndex;
  readonly definitions: DefinitionReader;
  readonly ledger: ReleaseLedger;
  readonly limits: DiscoveryLimits;
  readonly rejected: Rejection[];
  /** Hashes of tools that run nowhere, not even to say what they are. */
  readonly revoked: ReadonlySet<Sha256Hex>;
}

/**
 * Decides, in document order, which skills a release has: the first line with a public name that passes every check
 * keeps it, and a later one is a `name_collision` (Executable Skills v0.5 §2.5).
 */
export async function keepSkills(
  fetched: readonly FetchedSkill[],
  context: KeepSkillsContext,
): Promise<ReleaseSkill[]> {
  const kept = new Map<PublicName, ReleaseSkill>();
  // Every verified file counts, also one whose skill is refused later: it was held in memory all the same.
  const counted = fetched.map(({ line, result }) => ({
    line,
    result: result.ok ? count(result.value, context) : result,
  }));
  await context.definitions.readQuickly(counted.flatMap(({ result }) => definitionSource(result, context)));
  for (const { line, result } of counted) {
    const skill = result.ok ? await keepSkill(result.value, kept, context) : result;
    if (skill.ok) kept.set(skill.value.publicName, skill.value);
    else context.rejected.push(rejection("skill", line, skill));
  }
  return [...kept.values()];
}

function definitionSource(result: Checked<Arrived>, { revoked }: KeepSkillsContext): DefinitionSource[] {
  if (!result.ok || !result.value.source.ok) return [];
  const { candidate, source } = result.value;
  if (revoked.has(candidate.tool.sha256)) return [];
  return [{ sha256: candidate.tool.sha256, bytes: source.value, name: candidate.line.name }];
}

function count({ candidate, source, recipe }: Arrived, context: KeepSkillsContext): Checked<Arrived> {
  return passed({
    candidate,
    source: countFile(candidate.tool, source, context),
    recipe: recipe !== null && candidate.recipe?.ok ? countRecipe(candidate.recipe.value, recipe, context) : recipe,
  });
}

function countFile(
  file: DeclaredFile,
  bytes: Checked<Uint8Array>,
  { ledger, limits }: KeepSkillsContext,
): Checked<Uint8Array> {
  const fits = ledger.take(fileKey(file), bytes.ok ? bytes.value.length : 0);
  return fits ? bytes : releaseFull(file.label, limits);
}

function countRecipe(
  { url }: LinkedRecipe,
  recipe: Checked<FetchedRecipe>,
  { ledger, limits }: KeepSkillsContext,
): Checked<FetchedRecipe> {
  const fits = recipe.ok
    ? ledger.take(fileKey(recipe.value.file), recipe.value.bytes.length)
    : ledger.take(`${url.href} was not had`, 0);
  return fits ? recipe : releaseFull("SKILL.md", limits);
}

async function keepSkill(
  { candidate, source, recipe }: Arrived,
  kept: ReadonlyMap<PublicName, ReleaseSkill>,
  context: KeepSkillsContext,
): Promise<Checked<ReleaseSkill>> {
  const { line, publicName, tool } = candidate;
  const { index, definitions, revoked } = context;
  if (kept.has(publicName)) {
    return refused("name_collision", `An earlier line of llms.txt already has the public name ${publicName}.`);
  }
  const mismatch = findMismatch(candidate, index);
  if (mismatch !== null) return mismatch;
  if (revoked.has(tool.sha256)) {
    return refused("revoked_hash", `The operator revoked the hash ${tool.sha256}: it runs nowhere.`);
  }
  if (!source.ok) return source;
  const definition = await definitions.read({ sha256: tool.sha256, bytes: source.value, name: line.name });
  if (!definition.ok) return definition;
  return passed({
    scope: line.scope,
    name: line.name,
    publicName,
    description: line.description,
    version: line.version,
    toolSha256: tool.sha256,
    source: source.value,
    definition: definition.value,
    recipe: keepRecipe(candidate, recipe, context),
  });
}

/** A recipe that cannot be had is reported; its tool is not affected. */
function keepRecipe(
  { line }: Candidate,
  fetched: Arrived["recipe"],
  { index, rejected }: KeepSkillsContext,
): Recipe | null {
  if (fetched === null) return null;
  const recipe = fetched.ok ? readRecipe(line, fetched.value, index) : fetched;
  if (recipe.ok) return recipe.value;
  rejected.push(rejection("recipe", line, recipe));
  return null;
}
