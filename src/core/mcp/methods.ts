import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { capabilitiesOf } from "./capabilities.ts";
import type { Dialect } from "./eras.ts";
import { excerpt, invalidParams, McpError, RPC } from "./errors.ts";
import type { RequestId } from "./framing.ts";
import { checkParameterHeaders } from "./header-parameters.ts";
import { paginate } from "./pages.ts";
import type { CallContext, Era, ListedTool, Provider, ResourceContents } from "./provider.ts";
import { cacheable, listedTool } from "./results.ts";
import { HANDSHAKE_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_VERSIONS } from "./revisions.ts";
import { getSkill, listSkills } from "./skills.ts";

/** One request on its way through a method. */
export interface Invocation {
  readonly id: RequestId;
  readonly params: JsonObject;
  readonly dialect: Dialect;
  /** `null` where the transport has none: then there is nothing to mirror. */
  readonly headers: Headers | null;
  readonly provider: Provider;
  readonly pageSize: number;
  readonly signal: AbortSignal | undefined;
  readonly progress: CallContext["progress"];
}

type Method = (invocation: Invocation) => JsonObject | Promise<JsonObject>;

const SHARED: readonly (readonly [string, Method])[] = [
  ["tools/list", listTools],
  ["tools/call", callTool],
  ["resources/list", listResources],
  ["resources/templates/list", listResourceTemplates],
  ["resources/read", readResource],
  ["prompts/list", listPrompts],
  ["skills/list", listSkills],
  ["skills/get", getSkill],
];

const METHODS: Readonly<Record<Era, ReadonlyMap<string, Method>>> = {
  legacy: new Map([["initialize", initialize], ["ping", () => ({})], ...SHARED]),
  modern: new Map([["server/discover", discover], ...SHARED]),
};

/** Methods whose answers depend on the resources that there are. */
const OF_RESOURCES: ReadonlySet<string> = new Set([
  "initialize",
  "server/discover",
  "resources/list",
  "resources/read",
  "skills/list",
  "skills/get",
]);

/** Whether a provider without its resources would answer the method in another way. */
export function concernsResources(method: string): boolean {
  return OF_RESOURCES.has(method);
}

/** Whether a method asks for what is served, rather than for the server itself. */
export function asksForContent(method: string): boolean {
  return SHARED.some(([name]) => name === method);
}

/**
 * Runs one request and gives its result, not yet shaped for the era.
 *
 * @throws McpError -32601 for a method the era does not have (HTTP 200 legacy, 404 modern); whatever the provider throws.
 */
export function invoke(method: string, invocation: Invocation): JsonObject | Promise<JsonObject> {
  const { era } = invocation.dialect;
  const run = METHODS[era].get(method);
  if (run === undefined || (method.startsWith("skills/") && invocation.provider.skills === undefined)) {
    const message = `Method not found: ${excerpt(method)}`;
    throw new McpError({ status: era === "legacy" ? 200 : 404, rpcCode: RPC.methodNotFound, message });
  }
  return run(invocation);
}

function initialize({ params, provider }: Invocation): JsonObject {
  const protocolVersion = agreedVersion(params.protocolVersion);
  return {
    protocolVersion,
    capabilities: capabilitiesOf(provider, { era: "legacy", protocolVersion }),
    serverInfo: { ...provider.serverInfo },
    ...instructions(provider),
  };
}

/**
 * The handshake revision that a client is answered with.
 *
 * @throws McpError -32602 for a request that is not a string.
 */
export function agreedVersion(requested: Json = LATEST_HANDSHAKE_VERSION): string {
  if (typeof requested !== "string") throw invalidParams("params.protocolVersion must be a string.");
  return HANDSHAKE_VERSIONS.includes(requested) ? requested : LATEST_HANDSHAKE_VERSION;
}

function discover({ dialect, provider }: Invocation): JsonObject {
  const result = {
    supportedVersions: MODERN_VERSIONS,
    capabilities: capabilitiesOf(provider, dialect),
    ...instructions(provider),
  };
  return cacheable(dialect.era, provider, result);
}

function instructions({ instructions }: Provider): JsonObject {
  return instructions === undefined ? {} : { instructions };
}

/** The tools of a page, in the form that the client's era knows. */
export function listTools({ params, dialect, provider, pageSize }: Invocation): JsonObject {
  const { entries, ...rest } = paginate("tools", provider.tools, (tool) => tool.name, params.cursor, pageSize);
  return cacheable(dialect.era, provider, { tools: entries.map((tool) => listedTool(dialect.era, tool)), ...rest });
}

function callTool(invocation: Invocation): JsonObject | Promise<JsonObject> {
  const { params, dialect, headers, provider } = invocation;
  const { name } = params;
  if (typeof name !== "string") throw invalidParams("params.name must be a string.");
  const tool = toolNamed(provider.tools, name);
  if (tool === undefined) {
    const why = provider.whyMissing?.(name) ?? null;
    throw invalidParams(`Unknown tool: ${excerpt(name)}${why === null ? "" : `. ${why}`}`);
  }
  const args = params.arguments ?? {};
  if (!isJsonObject(args)) throw invalidParams("params.arguments must be an object.");
  if (dialect.era === "modern" && headers !== null) checkParameterHeaders(tool.inputSchema, args, headers);
  return provider.callTool(name, args, contextOf(invocation)) as unknown as JsonObject | Promise<JsonObject>;
}

function toolNamed(tools: Provider["tools"], name: string): ListedTool | undefined {
  for (const tool of tools) if (tool.name === name) return tool;
  return undefined;
}

function listResources({ params, dialect, provider, pageSize }: Invocation): JsonObject {
  const page = paginate("resources", provider.resources, (resource) => resource.uri, params.cursor, pageSize);
  const { entries, ...rest } = page;
  return cacheable(dialect.era, provider, { resources: entries.map((entry) => ({ ...entry })), ...rest });
}

function listResourceTemplates({ params, dialect, provider, pageSize }: Invocation): JsonObject {
  const page = paginate("templates", provider.resourceTemplates, (entry) => entry.uriTemplate, params.cursor, pageSize);
  const { entries, ...rest } = page;
  return cacheable(dialect.era, provider, { resourceTemplates: entries.map((entry) => ({ ...entry })), ...rest });
}

function readResource(invocation: Invocation): JsonObject | Promise<JsonObject> {
  const { uri } = invocation.params;
  if (typeof uri !== "string") throw invalidParams("params.uri must be a string.");
  const reading = invocation.provider.readResource(uri, contextOf(invocation));
  const answer = (contents: readonly ResourceContents[] | null) => resourceResult(invocation, uri, contents);
  return reading instanceof Promise ? reading.then(answer) : answer(reading);
}

function resourceResult(
  { dialect, provider }: Invocation,
  uri: string,
  contents: readonly ResourceContents[] | null,
): JsonObject {
  if (contents === null || contents.length === 0) {
    const rpcCode = dialect.era === "legacy" ? RPC.resourceNotFound : RPC.invalidParams;
    throw new McpError({ status: 200, rpcCode, message: `Resource not found: ${excerpt(uri)}`, data: { uri } });
  }
  return cacheable(dialect.era, provider, { contents: contents.map((entry) => ({ ...entry })) });
}

/** Publishers have no prompts. Clients ask all the same, and an empty list is kinder than an error. */
function listPrompts({ params, dialect, provider, pageSize }: Invocation): JsonObject {
  paginate<never>("prompts", [], () => "", params.cursor, pageSize);
  return cacheable(dialect.era, provider, { prompts: [] });
}

function contextOf({ id, dialect, signal, progress }: Invocation): CallContext {
  const { era, protocolVersion, clientCapabilities, meta } = dialect;
  return { era, protocolVersion, clientCapabilities, meta, requestId: id, signal, progress };
}
