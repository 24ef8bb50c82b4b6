import type { Json, JsonObject } from "../core/json.ts";
import type { Era, ListedTool, Provider, ToolResult } from "../core/mcp/provider.ts";
import { toolError, toolResult } from "../core/serve-call.ts";
import { VERSION } from "../core/version.ts";
import { ToolHostError } from "./tool-host-error.ts";

/** How a server introduces itself. Default: as Skillgate. */
export interface ServerOptions {
  readonly name?: string;
  readonly title?: string;
  readonly version?: string;
  /** For the model: what the server is for. */
  readonly instructions?: string;
}

/** The part of a `ToolHost` or an `AsyncToolHost` that MCP needs. */
export interface ServedHost {
  listTools(): readonly ListedTool[];
  callTool(name: string, args: JsonObject, options?: { readonly signal?: AbortSignal }): unknown;
}

/** How long a client may keep the list of tools, milliseconds. */
const TTL_MS = 15_000;

/** A host as the MCP core sees it: what it throws of a tool is a tool error, whose sentence the client reads. */
export function hostProvider(host: ServedHost, options: ServerOptions = {}): Provider {
  const { name = "skillgate", title, version = VERSION, instructions } = options;
  return {
    serverInfo: { name, ...(title === undefined ? {} : { title }), version },
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: TTL_MS,
    resources: [],
    resourceTemplates: [],
    get tools() {
      return host.listTools();
    },
    callTool(tool, args, { era, signal }) {
      const { outputSchema } = host.listTools().find((listed) => listed.name === tool) ?? {};
      try {
        const value = host.callTool(tool, args, signal === undefined ? {} : { signal });
        if (!(value instanceof Promise)) return resultOf(value, outputSchema, era);
        return value.then((late) => resultOf(late, outputSchema, era), asToolError);
      } catch (error) {
        return asToolError(error);
      }
    },
    readResource: () => null,
  };
}

function resultOf(value: unknown, outputSchema: JsonObject | undefined, era: Era): ToolResult {
  return toolResult({ ok: true, value: (value ?? null) as Json, gasUsed: 0 }, outputSchema, era);
}

function asToolError(error: unknown): ToolResult {
  if (error instanceof ToolHostError) return toolError(error.message);
  throw error;
}
