import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { Era, ToolResult } from "./mcp/provider.ts";
import type { Capabilities } from "./sandbox/capabilities.ts";
import type { CallOutcome, GuestErrorCode } from "./sandbox/outcome.ts";
import type { Sandbox, Tenant, Tool } from "./sandbox/sandbox.ts";
import { type Steps, settled } from "./sandbox/steps.ts";
import { type CompiledSchema, compileSchema } from "./schema/compile.ts";
import { SchemaError } from "./schema/schema-error.ts";
import { type Evaluation, validateValue } from "./schema/validate.ts";
import type { ToolDefinition } from "./skill.ts";

export type ToolFailureCode = "invalid_arguments" | "invalid_result" | "unusable_schema" | GuestErrorCode;

/** What came of one tool call. Gas is that of the handler and of the validation of its arguments and result. */
export type ToolAnswer =
  | { readonly ok: true; readonly value: Json; readonly gasUsed: number }
  /** `message`: one English sentence, for the caller of the tool. */
  | { readonly ok: false; readonly code: ToolFailureCode; readonly message: string; readonly gasUsed: number };

/** Where a tool runs, for whom, and what it may ask of the host. */
export interface ToolRuntime {
  readonly sandbox: Evaluation["sandbox"] & {
    call(...parameters: Parameters<Sandbox["call"]>): CallOutcome | Promise<CallOutcome>;
  };
  /** `undefined` where nobody competes for the sandbox. */
  readonly tenant: Tenant | undefined;
  readonly capabilities: Capabilities;
}

/**
 * Validates the arguments against the `inputSchema`, runs the handler and checks the result against the `outputSchema`, where there is one.
 *
 * @throws {PoolExhausted}
 */
export function* callTool(
  { sandbox, tenant, capabilities }: ToolRuntime,
  definition: ToolDefinition,
  script: Tool,
  args: JsonObject,
  signal: AbortSignal | undefined,
): Steps<ToolAnswer> {
  const options = tenant === undefined ? { signal } : { signal, tenant };
  const where: Evaluation = { sandbox, ...options };
  const schemas = compiledSchemas(definition);
  if (!schemas.ok) return failed("unusable_schema", schemas.message, 0);
  const input = yield* settled(validateValue(schemas.input, args, where));
  if (input.violation !== null) {
    const message = `Invalid arguments${at(input.violation.path)}: ${input.violation.message}`;
    return failed("invalid_arguments", message, input.gasUsed);
  }
  const outcome = yield* settled(sandbox.call(script, args, capabilities, options));
  let gasUsed = input.gasUsed + outcome.gasUsed;
  if (!outcome.ok) return failed(outcome.code, outcome.message, gasUsed);
  const { value } = outcome;
  if (schemas.output === null) return { ok: true, value, gasUsed };
  const output = yield* settled(validateValue(schemas.output, value, where));
  gasUsed += output.gasUsed;
  if (output.violation !== null) {
    const message = `The tool's result breaks its own outputSchema${at(output.violation.path)}: ${output.violation.message}`;
    return failed("invalid_result", message, gasUsed);
  }
  return { ok: true, value, gasUsed };
}

/** @param outputSchema the one that the client was shown, if any. */
export function toolResult(answer: ToolAnswer, outputSchema: JsonObject | undefined, era: Era): ToolResult {
  if (!answer.ok) return toolError(answer.message);
  const { value } = answer;
  const raw = isJsonObject(value) || (era === "modern" && outputSchema !== undefined);
  return {
    content: [{ type: "text", text: JSON.stringify(value) }],
    structuredContent: raw ? value : { result: value },
    isError: false,
  };
}

export function toolError(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function failed(code: ToolFailureCode, message: string, gasUsed: number): ToolAnswer {
  return { ok: false, code, message, gasUsed };
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
