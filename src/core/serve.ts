import type { Catalog, CatalogSkill } from "./catalog.ts";
import type { ReleaseSkill, UnverifiedRecipes } from "./discovery/release.ts";
import { createFetchOrigin } from "./fetch/fetch-origin.ts";
import type { OriginFetcher } from "./fetch/origin-fetch.ts";
import { decodeUtf8, type Sha256Hex } from "./integrity.ts";
import type { JsonObject } from "./json.ts";
import type { SandboxLimits } from "./limits.ts";
import type { CallContext, ListedResource, ListedTool, Provider, ToolResult } from "./mcp/provider.ts";
import { traceParent } from "./mcp/trace-context.ts";
import type { MemoryIndexes } from "./memory/memory-indexes.ts";
import { createMemorySearch } from "./memory/memory-search.ts";
import type { Sandbox, Tool } from "./sandbox/sandbox.ts";
import { later } from "./sandbox/steps.ts";
import {
  callTool,
  type ToolAnswer,
  type ToolFailureCode,
  type ToolRuntime,
  toolError,
  toolResult,
} from "./serve-call.ts";
import { listTool } from "./serve-listing.ts";
import {
  callGuide,
  guideTool,
  listRecipe,
  readRecipe,
  recipeUri,
  type ServedRecipe,
  servedRecipes,
} from "./serve-recipes.ts";
import { GUIDE_TOOL } from "./skill.ts";

/** How long a client may keep the lists, milliseconds. */
const DEFAULT_TTL_MS = 15_000;

/** One finished tool call, for the log. Neither arguments nor results are in it. */
export interface CallReport {
  /** Public name. */
  readonly tool: string;
  /** `null` for the runtime's own tool. */
  readonly toolSha256: Sha256Hex | null;
  readonly code: CallReportCode;
  /** Sandbox gas of the handler and of the validation of its arguments and result. */
  readonly gasUsed: number;
  readonly durationMs: number;
}

export type CallReportCode = "ok" | "unavailable" | "unknown_recipe" | ToolFailureCode;

export interface ProviderOptions {
  readonly sandbox: Pick<Sandbox, "call" | "evaluate">;
  /** Reaches the publisher for `host.fetchOrigin`. */
  readonly fetch: OriginFetcher;
  readonly limits: SandboxLimits;
  /** The isolate's, for `host.memorySearch`. */
  readonly memories: MemoryIndexes;
  readonly serverInfo: Provider["serverInfo"];
  /** Who calls, for the fair shares of the pool. */
  readonly client?: string;
  /** Sends the caller's W3C `traceparent` (`params._meta`) along with `host.fetchOrigin`. Default: no. */
  readonly forwardTrace?: boolean;
  /** Recipes whose hash nobody declares are listed only where they are offered. Default: `withhold`. */
  readonly unverifiedRecipes?: UnverifiedRecipes;
  /** As a {@link Provider} has it. */
  readonly whyMissing?: NonNullable<Provider["whyMissing"]>;
  /** How long a client may keep the lists, milliseconds. Default: the 15 s in which a release is fresh. */
  readonly ttlMs?: number;
  /** Whether the client will be told when the lists change. Default: it will not. */
  readonly listChanged?: boolean;
  onCall?(report: CallReport): void;
  /** Epoch milliseconds, for the duration in reports. */
  readonly now?: () => number;
}

/**
 * Makes a catalog speak MCP: its skills are tools under their public names, its recipes are resources, and where there are recipes a
 * tool of the runtime's own, `get_skill_guide`, hands them out too.
 *
 * A call validates the arguments against the `inputSchema`, runs the handler in the sandbox and checks the result against
 * the `outputSchema`, where there is one. Whatever goes wrong in these is a tool error (`isError: true`) with an English
 * sentence. The text block is the JSON of the value; `structuredContent` is the value where it is an object, else
 * `{result: value}`, except for modern clients that were shown an `outputSchema`, which get what conforms to it.
 *
 * `callTool` rejects with `PoolExhausted` when no sandbox came free.
 */
export function createProvider(catalog: Catalog, options: ProviderOptions): Provider {
  return new CatalogProvider(catalog, options);
}

/** One is made for each request: what does not depend on it is kept by the catalog. */
class CatalogProvider implements Provider {
  readonly serverInfo: Provider["serverInfo"];
  readonly ttlMs: number;
  readonly listChanged: boolean;
  readonly resourceTemplates = NO_TEMPLATES;
  readonly whyMissing?: NonNullable<Provider["whyMissing"]>;
  readonly #catalog: Catalog;
  readonly #options: ProviderOptions;
  readonly #contents: CatalogContents;

  constructor(catalog: Catalog, options: ProviderOptions) {
    this.serverInfo = options.serverInfo;
    this.ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
    this.listChanged = options.listChanged ?? false;
    if (options.whyMissing !== undefined) this.whyMissing = options.whyMissing;
    this.#catalog = catalog;
    this.#options = options;
    this.#contents = contentsOf(catalog, options.unverifiedRecipes ?? "withhold");
  }

  get tools(): readonly ListedTool[] {
    const contents = this.#contents;
    contents.tools ??= listTools(this.#catalog, contents);
    return contents.tools;
  }

  get resources(): readonly ListedResource[] {
    const contents = this.#contents;
    contents.resources ??= [...contents.recipes.values()].map(listRecipe);
    return contents.resources;
  }

  async callTool(name: string, args: JsonObject, context: CallContext): Promise<ToolResult> {
    const { guide, recipes, skills } = this.#contents;
    if (name === GUIDE_TOOL && guide) return reportGuide(this.#options, recipes, args);
    const entry = skills.get(name);
    if (entry === undefined) return toolError(`Unknown tool: ${name}`);
    const runtime = createRuntime(this.#catalog, entry.skill.scope, this.#options, context);
    return callAndReport(this.#options, runtime, entry, args, context);
  }

  readResource(uri: string): ReturnType<Provider["readResource"]> {
    const recipe = this.#contents.recipes.get(uri);
    return recipe === undefined ? null : [readRecipe(recipe)];
  }
}

const NO_TEMPLATES: Provider["resourceTemplates"] = [];

/** What every provider of a catalog shares: providers are made for each request, catalogs for each release. */
interface CatalogContents {
  /** By public name. */
  readonly skills: ReadonlyMap<string, CatalogSkill>;
  /** By URI. */
  readonly recipes: ReadonlyMap<string, ServedRecipe>;
  /** Whether the runtime's own tool is one of the tools. */
  readonly guide: boolean;
  /** Made when a request first needs them. */
  tools?: readonly ListedTool[];
  resources?: readonly ListedResource[];
}

const knownContents: Readonly<Record<UnverifiedRecipes, WeakMap<Catalog, CatalogContents>>> = {
  withhold: new WeakMap(),
  offer: new WeakMap(),
};

function contentsOf(catalog: Catalog, unverified: UnverifiedRecipes): CatalogContents {
  let contents = knownContents[unverified].get(catalog);
  if (contents === undefined) {
    const recipes = servedRecipes(catalog, unverified);
    contents = {
      skills: new Map(catalog.skills.map((entry) => [entry.skill.publicName, entry])),
      recipes: new Map(recipes.map((recipe) => [recipeUri(recipe.publicName), recipe])),
      guide: catalog.guide && recipes.length > 0,
    };
    knownContents[unverified].set(catalog, contents);
  }
  return contents;
}

function listTools({ skills }: Catalog, { recipes, guide }: CatalogContents): readonly ListedTool[] {
  const tools = skills.map(listTool);
  return guide ? [...tools, guideTool([...recipes.values()])] : tools;
}

/** The guide costs no gas and never waits. */
function reportGuide(options: ProviderOptions, recipes: CatalogContents["recipes"], args: JsonObject): ToolResult {
  const { code, result } = callGuide(recipes, args);
  options.onCall?.({ tool: GUIDE_TOOL, toolSha256: null, code, gasUsed: 0, durationMs: 0 });
  return result;
}

/** @param scope of the skill that is called: it searches the memory of its own scope, and none where there is none. */
function createRuntime(
  { origin, memories }: Catalog,
  scope: string | null,
  options: ProviderOptions,
  { meta }: CallContext,
): ToolRuntime {
  const { sandbox, fetch, limits, client = "", forwardTrace = false } = options;
  const traceparent = forwardTrace ? traceParent({ _meta: meta })?.text : undefined;
  const fetchOrigin = createFetchOrigin({ origin, fetch, limits, traceparent });
  const memory = memories.find((each) => each.scope === scope);
  return {
    sandbox,
    tenant: { client, origin },
    capabilities: {
      fetchOrigin,
      ...(memory === undefined ? {} : { memorySearch: createMemorySearch(memory, options.memories) }),
    },
  };
}

async function callAndReport(
  options: ProviderOptions,
  runtime: ToolRuntime,
  entry: CatalogSkill,
  args: JsonObject,
  { signal, era }: CallContext,
): Promise<ToolResult> {
  const { skill } = entry;
  const now = options.now ?? Date.now;
  const begin = now();
  let answer: ToolAnswer | null = null;
  try {
    answer = await later(callTool(runtime, skill.definition, new SkillScript(skill), args, signal));
    return toolResult(answer, listTool(entry).outputSchema, era);
  } finally {
    const code = answer === null ? "unavailable" : answer.ok ? "ok" : answer.code;
    options.onCall?.({
      tool: skill.publicName,
      toolSha256: skill.toolSha256,
      code,
      gasUsed: answer?.gasUsed ?? 0,
      durationMs: now() - begin,
    });
  }
}

/** The script as the sandbox takes it: decoded only when no image of the loaded skill is at hand. */
class SkillScript implements Tool {
  readonly sha256: Sha256Hex;
  readonly name: string;
  readonly #bytes: Uint8Array;

  constructor({ toolSha256, name, source }: ReleaseSkill) {
    this.sha256 = toolSha256;
    this.name = name;
    this.#bytes = source;
  }

  get source(): string {
    return decodeUtf8(this.#bytes);
  }
}
