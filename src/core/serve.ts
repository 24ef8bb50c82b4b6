import type { Catalog, CatalogSkill } from "./catalog.ts";
import type { ReleaseSkill, UnverifiedRecipes } from "./discovery/release.ts";
import { createFetchOrigin } from "./fetch/fetch-origin.ts";
import type { OriginFetcher } from "./fetch/origin-fetch.ts";
import { decodeUtf8, type Sha256Hex } from "./integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { SandboxLimits } from "./limits.ts";
import type { CallContext, Era, ListedResource, ListedTool, Provider, ToolResult } from "./mcp/provider.ts";
import { traceParent } from "./mcp/trace-context.ts";
import type { MemoryIndexes } from "./memory/memory-indexes.ts";
import { createMemorySearch } from "./memory/memory-search.ts";
import type { Capabilities } from "./sandbox/capabilities.ts";
import type { GuestErrorCode } from "./sandbox/outcome.ts";
import type { Sandbox, Tenant, Tool } from "./sandbox/sandbox.ts";
import { type CompiledSchema, compileSchema } from "./schema/compile.ts";
import { SchemaError } from "./schema/schema-error.ts";
import { type Evaluation, validateValue } from "./schema/validate.ts";
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
import { GUIDE_TOOL, type ToolDefinition } from "./skill.ts";

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

export type CallReportCode =
  | "ok"
  | "invalid_arguments"
  | "invalid_result"
  | "unusable_schema"
  | "unavailable"
  | "unknown_recipe"
  | GuestErrorCode;

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
  /** How long a client may keep the lists, milliseconds. Default: the 15 s in which a release is fresh. */
  readonly ttlMs?: number;
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
  readonly resourceTemplates = NO_TEMPLATES;
  readonly #catalog: Catalog;
  readonly #options: ProviderOptions;
  readonly #contents: CatalogContents;

  constructor(catalog: Catalog, options: ProviderOptions) {
    this.serverInfo = options.serverInfo;
    this.ttlMs = options.ttlMs ?? DEFAULT_TTL_MS;
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

  async readResource(uri: string): ReturnType<Provider["readResource"]> {
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

interface Runtime {
  readonly sandbox: ProviderOptions["sandbox"];
  readonly tenant: Tenant;
  readonly capabilities: Capabilities;
}

/** @param scope of the skill that is called: it searches the memory of its own scope, and none where there is none. */
function createRuntime(
  { origin, memories }: Catalog,
  scope: string | null,
  options: ProviderOptions,
  { meta }: CallContext,
): Runtime {
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

interface Answer {
  readonly result: ToolResult;
  readonly code: CallReportCode;
  readonly gasUsed: number;
}

async function callAndReport(
  options: ProviderOptions,
  runtime: Runtime,
  entry: CatalogSkill,
  args: JsonObject,
  context: CallContext,
): Promise<ToolResult> {
  const { publicName: tool, toolSha256 } = entry.skill;
  const now = options.now ?? Date.now;
  const begin = now();
  let answer: Answer | null = null;
  try {
    answer = await callSkill(runtime, entry, args, context);
    return answer.result;
  } finally {
    const { code, gasUsed } = answer ?? UNAVAILABLE;
    options.onCall?.({ tool, toolSha256, code, gasUsed, durationMs: now() - begin });
  }
}

const UNAVAILABLE = { code: "unavailable", gasUsed: 0 } as const;

async function callSkill(
  { sandbox, tenant, capabilities }: Runtime,
  entry: CatalogSkill,
  args: JsonObject,
  { signal, era }: CallContext,
): Promise<Answer> {
  const { skill } = entry;
  const where: Evaluation = { sandbox, tenant, signal };
  const schemas = compiledSchemas(skill.definition);
  if (!schemas.ok) return { result: toolError(schemas.message), code: "unusable_schema", gasUsed: 0 };
  const validating = validateValue(schemas.input, args, where);
  const input = validating instanceof Promise ? await validating : validating;
  if (input.violation !== null) {
    const message = `Invalid arguments${at(input.violation.path)}: ${input.violation.message}`;
    return { result: toolError(message), code: "invalid_arguments", gasUsed: input.gasUsed };
  }
  const outcome = await sandbox.call(new SkillScript(skill), args, capabilities, { signal, tenant });
  let gasUsed = input.gasUsed + outcome.gasUsed;
  if (!outcome.ok) return { result: toolError(outcome.message), code: outcome.code, gasUsed };
  const { value } = outcome;
  if (schemas.output === null) return { result: toolResult(value, null, era), code: "ok", gasUsed };
  const output = await validateValue(schemas.output, value, where);
  gasUsed += output.gasUsed;
  if (output.violation !== null) {
    const message = `The tool's result breaks its own outputSchema${at(output.violation.path)}: ${output.violation.message}`;
    return { result: toolError(message), code: "invalid_result", gasUsed };
  }
  return { result: toolResult(value, listTool(entry).outputSchema ?? null, era), code: "ok", gasUsed };
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

/** Most characters of a JSON Pointer in a sentence: a key of the arguments may be a megabyte long. */
const PATH_LENGTH = 200;

function at(path: string): string {
  return path === "" ? "" : ` at ${path.length > PATH_LENGTH ? `${path.slice(0, PATH_LENGTH)}…` : path}`;
}

type CompiledSchemas =
  | { readonly ok: true; readonly input: CompiledSchema; readonly output: CompiledSchema | null }
  | { readonly ok: false; readonly message: string };

/** A release lives as long as its isolate's cache keeps it, and its compiled schemas with it. */
const compiled = new WeakMap<ToolDefinition, CompiledSchemas>();

function compiledSchemas(definition: ToolDefinition): CompiledSchemas {
  let schemas = compiled.get(definition);
  if (schemas === undefined) {
    schemas = compileSchemas(definition);
    compiled.set(definition, schemas);
  }
  return schemas;
}

/** A stored release may be older than the rules of this version: what they refuse now fails its own tool alone. */
function compileSchemas({ inputSchema, outputSchema }: ToolDefinition): CompiledSchemas {
  let field = "inputSchema";
  try {
    const input = compileSchema(inputSchema);
    field = "outputSchema";
    return { ok: true, input, output: outputSchema === undefined ? null : compileSchema(outputSchema) };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return { ok: false, message: `The tool's ${field} is not usable${at(error.path)}: ${error.message}.` };
  }
}

function toolResult(value: Json, outputSchema: JsonObject | null, era: Era): ToolResult {
  const raw = isJsonObject(value) || (era === "modern" && outputSchema !== null);
  return {
    content: [{ type: "text", text: JSON.stringify(value) }],
    structuredContent: raw ? value : { result: value },
    isError: false,
  };
}

function toolError(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
