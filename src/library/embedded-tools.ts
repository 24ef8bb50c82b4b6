import type { Checked } from "../core/discovery/checked.ts";
import { badSchema, checkAnnotations, checkInputRoot, schemasOf } from "../core/discovery/definitions.ts";
import type { Sha256Hex } from "../core/integrity.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { ListedTool } from "../core/mcp/provider.ts";
import type { Capabilities } from "../core/sandbox/capabilities.ts";
import { PoolExhausted } from "../core/sandbox/outcome.ts";
import type { Sandbox, Tool } from "../core/sandbox/sandbox.ts";
import type { Steps } from "../core/sandbox/steps.ts";
import { checkSchema } from "../core/schema/validate.ts";
import { callTool, type ToolRuntime } from "../core/serve-call.ts";
import { describeTool } from "../core/serve-listing.ts";
import type { ToolDefinition } from "../core/skill.ts";
import { ToolHostError } from "./tool-host-error.ts";

/** What clients of MCP take as a tool's name (2025-11-25, server/tools). */
const TOOL_NAME = /^[\w.-]{1,128}$/;
/** Largest source, UTF-16 units. */
const MAX_SOURCE = 1_048_576;

interface EmbeddedTool {
  readonly script: Tool;
  readonly definition: ToolDefinition;
  readonly listed: ListedTool;
}

export interface EmbeddedToolsOptions {
  /** Synchronous: reads what sources register. */
  readonly loader: Sandbox;
  readonly runtime: Omit<ToolRuntime, "tenant" | "capabilities">;
  readonly capabilities: Capabilities;
  /** Gas for the regular expressions of one schema. */
  readonly schemaGas: number;
}

/** The tools of one host, each in an image of its own: none sees another, nor anything of the call before. */
export class EmbeddedTools {
  readonly #options: EmbeddedToolsOptions;
  readonly #tools = new Map<string, EmbeddedTool>();
  #loaded = 0;

  constructor(options: EmbeddedToolsOptions) {
    this.#options = options;
  }

  /** In the order in which they were loaded. */
  get listed(): ListedTool[] {
    return [...this.#tools.values()].map(({ listed }) => structuredClone(listed) as ListedTool);
  }

  /** @throws {ToolHostError} and nothing was loaded. */
  load(source: string): ListedTool {
    if (typeof source !== "string") throw new ToolHostError("bad_source", "A tool's source must be a string.");
    if (source.length > MAX_SOURCE) {
      throw new ToolHostError("bad_source", `A tool's source may have ${MAX_SOURCE} characters; this one has more.`);
    }
    if (source.includes("\0"))
      throw new ToolHostError("bad_source", "A tool's source must not contain a NUL character.");
    this.#loaded += 1;
    // The sandbox takes the hash for a name of the bytes, and a name is all that it must be.
    const bare = { sha256: `embedded ${this.#loaded}` as Sha256Hex, source, name: null };
    const outcome = this.#options.loader.loadAtOnce(bare);
    if (!outcome.ok) throw new ToolHostError(outcome.code, `The source cannot be loaded: ${outcome.message}.`);
    const { definition } = outcome;
    const { name } = definition;
    if (!TOOL_NAME.test(name)) {
      throw new ToolHostError("bad_name", "A tool's name must have 1 to 128 letters, digits, `_`, `-` and `.`.");
    }
    if (this.#tools.has(name)) throw new ToolHostError("duplicate_tool", `A tool ${name} has been loaded already.`);
    this.#check(definition);
    const tool = { script: { ...bare, name }, definition, listed: describeTool(name, definition) };
    this.#tools.set(name, tool);
    return structuredClone(tool.listed) as ListedTool;
  }

  /** @throws {ToolHostError} `unknown_tool`, `invalid_arguments`, `pool_exhausted`, or why the tool gave no value. */
  *call(name: string, args: unknown, signal: AbortSignal | undefined): Steps<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new ToolHostError("unknown_tool", `There is no tool ${String(name).slice(0, 128)}.`);
    const runtime: ToolRuntime = {
      ...this.#options.runtime,
      tenant: undefined,
      capabilities: this.#options.capabilities,
    };
    try {
      const answer = yield* callTool(runtime, tool.definition, tool.script, readArguments(args), signal);
      if (!answer.ok) throw new ToolHostError(answer.code, answer.message);
      return answer.value;
    } catch (error) {
      if (error instanceof PoolExhausted) throw new ToolHostError("pool_exhausted", `${error.message}.`);
      throw error;
    }
  }

  #check(definition: ToolDefinition): void {
    throwRefused(checkAnnotations(definition));
    const { loader, schemaGas: gas } = this.#options;
    const where = { sandbox: { evaluate: loader.evaluateAtOnce.bind(loader) }, gas };
    for (const { field, schema } of schemasOf(definition)) {
      const check = checkSchema(schema, where);
      if (check instanceof Promise) throw new Error("a synchronous sandbox gave a promise");
      if (!check.ok) throwRefused(badSchema(field, check.path, check.message));
    }
    throwRefused(checkInputRoot(definition));
  }
}

function throwRefused(checked: Checked<unknown>): void {
  if (checked.ok) return;
  throw new ToolHostError(checked.code === "bad_schema" ? "bad_schema" : "bad_definition", checked.message);
}

/** @throws {ToolHostError} `invalid_arguments`. */
export function readArguments(args: unknown): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(JSON.stringify(args ?? {}));
  } catch (cause) {
    throw new ToolHostError("invalid_arguments", "A tool's arguments must be JSON.", { cause });
  }
  if (isJsonObject(json)) return json;
  throw new ToolHostError("invalid_arguments", "A tool's arguments must be an object.");
}
