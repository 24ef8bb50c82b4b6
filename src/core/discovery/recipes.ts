import { decodeExactly, IntegrityError, sha256Hex } from "../integrity.ts";
import type { DiscoveryLimits } from "../limits.ts";
import type { SkillId } from "../skill.ts";
import { type Checked, passed, type Refused, refused } from "./checked.ts";
import type { DeclaredFile, Downloads } from "./downloads.ts";
import { isHtmlPage } from "./html-page.ts";
import type { LinkedRecipe } from "./lines.ts";
import type { Recipe, UnverifiedRecipes } from "./release.ts";
import { recipeHash, type SkillsIndex } from "./skills-index.ts";

export interface FetchedRecipe {
  /** Where it lies, and the hash of its bytes. */
  readonly file: DeclaredFile;
  readonly bytes: Uint8Array;
  /** Whether somebody declares this hash. */
  readonly verified: boolean;
}

export interface RecipeFetchContext {
  readonly downloads: Downloads;
  readonly limits: DiscoveryLimits;
  /** Awaited for recipes only whose line declares no hash. */
  readonly index: Promise<SkillsIndex>;
  readonly unverifiedRecipes: UnverifiedRecipes;
}

/**
 * Fetches a recipe against its hash (core RFC §4.3): that of its line, else that of its entry in `index.json`. One whose hash
 * nobody declares is fetched where such recipes are offered.
 */
export async function fetchRecipe(
  id: SkillId,
  { url, sha256 }: LinkedRecipe,
  context: RecipeFetchContext,
): Promise<Checked<FetchedRecipe>> {
  const of = { scope: id.scope, name: id.name };
  const { downloads, limits, unverifiedRecipes } = context;
  const linked = { url, maxBytes: limits.recipeBytes, label: "SKILL.md" };
  const declared = sha256 === null ? recipeHash(await context.index, id, null) : passed(sha256);
  if (declared?.ok) {
    const file = { ...linked, sha256: declared.value, of };
    const bytes = await downloads.verified(file);
    return bytes.ok ? passed({ file, bytes: bytes.value, verified: true }) : bytes;
  }
  if (declared !== null) return declared;
  if (unverifiedRecipes === "withhold") {
    return refused("no_declared_hash", "The recipe declares no `sha256`, so it cannot be verified and is left out.");
  }
  const bytes = await downloads.undeclared(linked);
  if (!bytes.ok) return bytes;
  return passed({ file: { ...linked, sha256: await sha256Hex(bytes.value), of }, bytes: bytes.value, verified: false });
}

/** Why a fetched recipe must be refused for what the index says of it, or `null`. */
export function findRecipeMismatch(id: SkillId, { file, verified }: FetchedRecipe, index: SkillsIndex): Refused | null {
  const declared = verified ? recipeHash(index, id, file.sha256) : null;
  return declared?.ok === false ? declared : null;
}

/** What of a fetched recipe a release keeps: its text, where the index does not contradict its hash. */
export function readRecipe(id: SkillId, fetched: FetchedRecipe, index: SkillsIndex): Checked<Recipe> {
  const { file, bytes, verified } = fetched;
  const mismatch = findRecipeMismatch(id, fetched, index);
  if (mismatch !== null) return mismatch;
  const text = decodeRecipe(bytes);
  if (!text.ok) return text;
  // What hosts answer with 200 in place of a missing file; under a hash it is what the publisher meant.
  if (!verified && isHtmlPage(text.value)) return refused("bad_shape", "The file SKILL.md is a page of HTML.");
  return passed({ sha256: file.sha256, text: text.value, verified });
}

function decodeRecipe(bytes: Uint8Array): Checked<string> {
  try {
    return passed(decodeExactly(bytes));
  } catch (error) {
    if (error instanceof IntegrityError) return refused("bad_encoding", "The file SKILL.md is not valid UTF-8.");
    throw error;
  }
}
