import type { Json, JsonObject } from "../json.ts";
import type { CallOutcome } from "../sandbox/outcome.ts";
import type { Sandbox, Tenant } from "../sandbox/sandbox.ts";
import { type CompiledSchema, compileSchema, isCheap } from "./compile.ts";
import { evaluate, type Violation } from "./evaluate.ts";
import { VALIDATOR_PROGRAM } from "./generated/validator-program.ts";
import type { ProgramInput, ProgramOutput } from "./program.ts";
import { SchemaError } from "./schema-error.ts";

/** Where schemas are evaluated that the host must not evaluate itself, and for whom. */
export interface Evaluation {
  readonly sandbox: { evaluate(...parameters: Parameters<Sandbox["evaluate"]>): CallOutcome | Promise<CallOutcome> };
  readonly tenant?: Tenant;
  readonly signal?: AbortSignal | undefined;
  /** Gas for one evaluation. Default: the sandbox's for a call. */
  readonly gas?: number;
}

export interface Validation {
  /** `null` where the value is valid. */
  readonly violation: Violation | null;
  /** Sandbox gas; 0 where the host evaluated. */
  readonly gasUsed: number;
}

const PROGRAM = { id: "schema-validator", source: VALIDATOR_PROGRAM };

/**
 * Validates a value against a compiled schema: on the host where the cost is bounded by the sizes of both and no regular
 * expression is involved, else the same evaluator in the sandbox under gas. A value that cannot be judged within the
 * budget counts as a violation of the whole value.
 *
 * What the host evaluates is there at once, without a promise.
 *
 * @throws {PoolExhausted} when no sandbox instance came free.
 */
export function validateValue(
  compiled: CompiledSchema,
  value: Json,
  where: Evaluation,
): Validation | Promise<Validation> {
  if (isCheap(compiled, value)) return { violation: evaluateOnHost(compiled, value), gasUsed: 0 };
  return validateInSandbox(compiled, value, where);
}

function validateInSandbox(compiled: CompiledSchema, value: Json, where: Evaluation): Validation | Promise<Validation> {
  const running = run({ op: "validate", schema: compiled.schema, value }, where);
  return running instanceof Promise ? running.then(readValidation) : readValidation(running);
}

function readValidation(outcome: CallOutcome): Validation {
  if (!outcome.ok) return { violation: { path: "", message: unjudged(outcome) }, gasUsed: outcome.gasUsed };
  const { violation } = outcome.value as unknown as Extract<ProgramOutput, { violation: unknown }>;
  return { violation, gasUsed: outcome.gasUsed };
}

export type SchemaCheck =
  | { readonly ok: true; readonly compiled: CompiledSchema; readonly gasUsed: number }
  | {
      readonly ok: false;
      /** `gas_exhausted`: not judged, since compiling its regular expressions took more than the given gas. */
      readonly code: "bad_schema" | "gas_exhausted";
      /** JSON Pointer into the schema. */
      readonly path: string;
      readonly message: string;
      readonly gasUsed: number;
    };

/**
 * What the host's own work on a schema is charged, in gas units for each character of its JSON: the most expensive schemas
 * found take 0.6 µs a character, in which the sandbox spends about 25 units.
 */
export const COMPILE_GAS = 25;

/**
 * Whether a schema can be evaluated: everything `compileSchema` checks, and that each of its regular expressions compiles,
 * which is tried in the sandbox. The gas used is that and {@link COMPILE_GAS}.
 *
 * @throws {PoolExhausted} when no sandbox instance came free.
 */
export function checkSchema(schema: JsonObject, where: Evaluation): SchemaCheck | Promise<SchemaCheck> {
  const hostGas = COMPILE_GAS * JSON.stringify(schema).length;
  let compiled: CompiledSchema;
  try {
    compiled = compileSchema(schema);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return { ok: false, code: "bad_schema", path: error.path, message: error.message, gasUsed: hostGas };
  }
  const { patterns } = compiled;
  if (patterns.length === 0) return { ok: true, compiled, gasUsed: hostGas };
  const trying = run({ op: "patterns", patterns }, where);
  const read = (outcome: CallOutcome) => readPatterns(compiled, outcome, hostGas + outcome.gasUsed);
  return trying instanceof Promise ? trying.then(read) : read(trying);
}

function readPatterns(compiled: CompiledSchema, outcome: CallOutcome, gasUsed: number): SchemaCheck {
  if (!outcome.ok) {
    const code = outcome.code === "gas_exhausted" ? "gas_exhausted" : "bad_schema";
    const message = `The schema's regular expressions could not be compiled (${outcome.code})`;
    return { ok: false, code, path: "", message, gasUsed };
  }
  const { bad } = outcome.value as unknown as Extract<ProgramOutput, { bad: number }>;
  if (bad < 0) return { ok: true, compiled, gasUsed };
  const shown = JSON.stringify((compiled.patterns[bad] ?? "").slice(0, 100));
  const message = `The pattern ${shown} is not a regular expression (ECMAScript, flag u)`;
  return { ok: false, code: "bad_schema", path: "", message, gasUsed };
}

function evaluateOnHost({ schema }: CompiledSchema, value: Json): Violation | null {
  try {
    return evaluate(schema, value);
  } catch {
    // For example a key with a lone surrogate, which no JSON Pointer fragment can spell.
    return { path: "", message: "The value could not be checked against the schema." };
  }
}

function unjudged(outcome: CallOutcome & { ok: false }): string {
  if (outcome.code === "stack_overflow") return "The value is nested too deeply to be checked against the schema.";
  return outcome.code === "gas_exhausted"
    ? "The value could not be checked against the schema within the gas budget."
    : "The value could not be checked against the schema.";
}

function run(input: ProgramInput, { sandbox, tenant, signal, gas }: Evaluation): CallOutcome | Promise<CallOutcome> {
  const options = {
    ...(tenant === undefined ? {} : { tenant }),
    ...(signal === undefined ? {} : { signal }),
    ...(gas === undefined ? {} : { gas }),
  };
  return sandbox.evaluate(PROGRAM, input as unknown as Json, options);
}
