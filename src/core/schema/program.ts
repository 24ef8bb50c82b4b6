import type { Json } from "../json.ts";
import { evaluate, type LoweredSchema, type Violation } from "./evaluate.ts";

export type ProgramInput =
  | { readonly op: "validate"; readonly schema: LoweredSchema; readonly value: Json }
  | { readonly op: "patterns"; readonly patterns: readonly string[] };

/** `violation` of the value, or `bad`: the index of the first pattern that is not a regular expression, else -1. */
export type ProgramOutput = { readonly violation: Violation | null } | { readonly bad: number };

/**
 * What runs inside the sandbox under gas: the evaluator, and the compilation of publishers' regular expressions, which
 * never touch the host's `RegExp`. Bundled by `npm run build:schema`.
 */
export default function program(input: ProgramInput): ProgramOutput {
  if (input.op === "validate") return { violation: evaluate(input.schema, input.value) };
  return { bad: input.patterns.findIndex((pattern) => !compiles(pattern)) };
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
