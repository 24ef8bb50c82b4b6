import type { Catalog } from "./catalog.ts";
import type { UnverifiedRecipes } from "./discovery/release.ts";
import type { Sha256Hex } from "./integrity.ts";
import type { JsonObject } from "./json.ts";
import type { ListedResource, ListedTool, ResourceContents, ToolResult } from "./mcp/provider.ts";
import { GUIDE_TOOL, type PublicName } from "./skill.ts";

/** A recipe as clients get it. */
export interface ServedRecipe {
  readonly publicName: PublicName;
  /** The description of its `llms.txt` line. */
  readonly description: string;
  /** The publisher's text; before one that nobody declares a hash of, a line that says so. */
  readonly text: string;
  /** Of the publisher's text. */
  readonly sha256: Sha256Hex;
  readonly verified: boolean;
}

const RECIPE_TYPE = "text/markdown";
const UNVERIFIED_LINE =
  "> Unverified recipe: its publisher declares no hash for it, so it may not be the text that the publisher wrote.";
/** On whatever carries an unverified recipe. */
const UNVERIFIED_META: JsonObject = { "skillgate/unverified": true };
/** Most characters of recipes' names in the description of the guide, which every client reads with every listing. */
const NAMES_LENGTH = 1_024;

/** The recipes of a catalog's skills, in document order: a skill that was not admitted has none here. */
export function servedRecipes({ skills }: Catalog, unverified: UnverifiedRecipes): readonly ServedRecipe[] {
  return skills.flatMap(({ skill: { publicName, description, recipe } }) => {
    if (recipe === null || (!recipe.verified && unverified === "withhold")) return [];
    const { sha256, verified } = recipe;
    const text = verified ? recipe.text : `${UNVERIFIED_LINE}\n\n${recipe.text}`;
    return { publicName, description, text, sha256, verified };
  });
}

/** `skill://` and the public name (Executable Skills v0.5). */
export function recipeUri(publicName: PublicName): string {
  return `skill://${publicName}`;
}

export function listRecipe({ publicName, description, text, verified }: ServedRecipe): ListedResource {
  return {
    uri: recipeUri(publicName),
    name: `${publicName} — SKILL.md`,
    ...(description === "" ? {} : { description }),
    mimeType: RECIPE_TYPE,
    size: new TextEncoder().encode(text).length,
    ...metaOf(verified),
  };
}

export function readRecipe({ publicName, text, verified }: ServedRecipe): ResourceContents {
  return { uri: recipeUri(publicName), mimeType: RECIPE_TYPE, text, ...metaOf(verified) };
}

/** What a listing and a reading of a recipe carry besides. */
export function metaOf(verified: boolean) {
  return verified ? {} : { _meta: UNVERIFIED_META };
}

/** The runtime's own tool, for clients that show tools to their model and no resources. Listed only where there is a recipe. */
export function guideTool(recipes: readonly ServedRecipe[]): ListedTool {
  return {
    name: GUIDE_TOOL,
    title: "Skill guide",
    description:
      "Returns the recipe (SKILL.md) of a tool of this server: when to use it, and how. " +
      `Read it before you combine tools. There are recipes of: ${namesOf(recipes)}.`,
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "The name of the tool, as this server lists it." } },
      required: ["name"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  };
}

function namesOf(recipes: readonly ServedRecipe[]): string {
  let text = "";
  for (const [index, { publicName }] of recipes.entries()) {
    const longer = index === 0 ? publicName : `${text}, ${publicName}`;
    if (longer.length > NAMES_LENGTH) return `${text} and ${recipes.length - index} more`;
    text = longer;
  }
  return text;
}

/** Answers a call of {@link guideTool}: the recipe, or which recipes there are. */
export function callGuide(
  recipes: ReadonlyMap<string, ServedRecipe>,
  args: JsonObject,
): { readonly code: "ok" | "invalid_arguments" | "unknown_recipe"; readonly result: ToolResult } {
  const { name, ...others } = args;
  const [other] = Object.keys(others);
  if (typeof name !== "string" || other !== undefined) {
    const message =
      typeof name === "string"
        ? "Invalid arguments: `name` is the only one."
        : "Invalid arguments at /name: it must be a string, the name of a tool.";
    return { code: "invalid_arguments", result: guideError(message) };
  }
  const recipe = recipes.get(recipeUri(name as PublicName));
  if (recipe === undefined) {
    const names = [...recipes.values()].map(({ publicName }) => publicName).join(", ");
    return {
      code: "unknown_recipe",
      result: guideError(`There is no recipe of that name. There are recipes of: ${names}.`),
    };
  }
  const { text, verified } = recipe;
  return {
    code: "ok",
    result: {
      content: [{ type: "text", text }],
      structuredContent: { name, guide: text },
      isError: false,
      ...metaOf(verified),
    },
  };
}

function guideError(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
