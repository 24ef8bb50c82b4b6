import type { JsonObject } from "../json.ts";
import type { CallContext, ListedResource, ListedTool, Provider, ToolResult } from "../mcp/provider.ts";
import { callGuide, guideTool, listRecipe, readRecipe, recipeUri, type ServedRecipe } from "../serve-recipes.ts";
import { GUIDE_TOOL, type PublicName } from "../skill.ts";
import { prefixedName } from "./tool-prefixes.ts";

/** One origin among several. */
export interface CombinedPart {
  readonly prefix: string;
  readonly provider: Provider;
  readonly recipes: readonly ServedRecipe[];
}

interface CombinedTool {
  readonly provider: Provider;
  /** As its own provider lists it. */
  readonly name: string;
}

/**
 * Several origins as one server: each tool and recipe has its origin's prefix before its name, and one guide hands out the recipes of all.
 * A name that two tools would have in spite of that is the first one's.
 */
export async function combineProviders(
  parts: readonly CombinedPart[],
  own: Pick<Provider, "serverInfo" | "ttlMs" | "whyMissing">,
): Promise<Provider> {
  const tools = new Map<string, CombinedTool>();
  const listed: ListedTool[] = [];
  const recipes = new Map<string, ServedRecipe>();
  for (const { prefix, provider, recipes: ofPart } of parts) {
    const byName = new Map(ofPart.map((recipe) => [recipe.publicName as string, recipe]));
    for (const tool of provider.tools) {
      if (tool.name === GUIDE_TOOL) continue;
      const name = await prefixedName(prefix, tool.name);
      if (tools.has(name)) continue;
      tools.set(name, { provider, name: tool.name });
      listed.push({ ...tool, name });
      const recipe = byName.get(tool.name);
      const publicName = name as PublicName;
      if (recipe !== undefined) recipes.set(recipeUri(publicName), { ...recipe, publicName });
    }
  }
  return new CombinedProvider(own, tools, listed, recipes);
}

class CombinedProvider implements Provider {
  readonly serverInfo: Provider["serverInfo"];
  readonly ttlMs: number;
  readonly tools: readonly ListedTool[];
  readonly resources: readonly ListedResource[];
  readonly resourceTemplates: Provider["resourceTemplates"] = [];
  readonly whyMissing?: NonNullable<Provider["whyMissing"]>;
  readonly #tools: ReadonlyMap<string, CombinedTool>;
  readonly #recipes: ReadonlyMap<string, ServedRecipe>;

  constructor(
    { serverInfo, ttlMs, whyMissing }: Parameters<typeof combineProviders>[1],
    tools: ReadonlyMap<string, CombinedTool>,
    listed: readonly ListedTool[],
    recipes: ReadonlyMap<string, ServedRecipe>,
  ) {
    this.serverInfo = serverInfo;
    this.ttlMs = ttlMs;
    if (whyMissing !== undefined) this.whyMissing = whyMissing;
    this.#tools = tools;
    this.#recipes = recipes;
    const served = [...recipes.values()];
    this.tools = served.length === 0 ? listed : [...listed, guideTool(served)];
    this.resources = served.map(listRecipe);
  }

  async callTool(name: string, args: JsonObject, context: CallContext): Promise<ToolResult> {
    const tool = this.#tools.get(name);
    if (tool !== undefined) return tool.provider.callTool(tool.name, args, context);
    return callGuide(this.#recipes, args).result;
  }

  readResource(uri: string): ReturnType<Provider["readResource"]> {
    const recipe = this.#recipes.get(uri);
    return recipe === undefined ? null : [readRecipe(recipe)];
  }
}
