import type { Json, JsonObject } from "../json.ts";
import { isWithinDepth } from "../json-depth.ts";
import type { LoweredSchema } from "./evaluate.ts";
import { lowerSchema } from "./lower.ts";
import { SchemaError } from "./schema-error.ts";

/** Largest JSON text of one schema, in UTF-16 units. */
export const MAX_SCHEMA_LENGTH = 65_536;
/** Deepest nesting of one schema, in containers. */
const MAX_SCHEMA_DEPTH = 64;
/** Largest JSON text after lowering, where a subschema that is referred to may stand twice. */
const MAX_LOWERED_LENGTH = 4 * MAX_SCHEMA_LENGTH;
/**
 * Most (schema weight × value weight) that the host evaluates itself: a safe keyword set visits each pair of places at
 * most once. The most expensive schemas found at this bound take under 30 ms; ordinary tools stay below 2,000.
 */
export const HOST_WORK = 20_000;

/** A checked schema, ready to evaluate. Plain JSON inside. */
export interface CompiledSchema {
  readonly schema: LoweredSchema;
  readonly patterns: readonly string[];
  /** Weight of the schema where the host may evaluate it, `null` where only the sandbox may. */
  readonly hostWeight: number | null;
}

/**
 * Checks and prepares a publisher's schema. Regular expressions are collected, not compiled:
 * only the sandbox may do that, see `checkSchema`.
 *
 * @throws {SchemaError} `bad_schema`: too large, too deep, an unknown dialect, a keyword of a wrong type, a reference that
 *   leaves the schema, points to nothing or never ends.
 */
export function compileSchema(schema: JsonObject): CompiledSchema {
  if (!isWithinDepth(schema, MAX_SCHEMA_DEPTH)) {
    throw new SchemaError(null, `The schema is nested more than ${MAX_SCHEMA_DEPTH} deep`);
  }
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) {
    throw new SchemaError(null, `The schema's JSON text is longer than ${MAX_SCHEMA_LENGTH} characters`);
  }
  const { schema: lowered, patterns, hostSafe } = lowerSchema(schema);
  if (JSON.stringify(lowered).length > MAX_LOWERED_LENGTH) {
    throw new SchemaError(null, `The schema's references repeat more than ${MAX_LOWERED_LENGTH} characters of it`);
  }
  return { schema: lowered, patterns, hostWeight: hostSafe ? weightOf(lowered.schemas["#"] as Json) : null };
}

/** Whether the host may evaluate this value against this schema itself. */
export function isCheap({ hostWeight }: CompiledSchema, value: Json): boolean {
  return hostWeight !== null && weightOf(value, HOST_WORK / hostWeight) * hostWeight <= HOST_WORK;
}

/** Values and keys, plus one for every 16 characters of text; stops counting above `enough`. */
function weightOf(value: Json, enough = Number.POSITIVE_INFINITY): number {
  let weight = 0;
  const pending: Json[] = [value];
  for (let next = pending.pop(); next !== undefined && weight <= enough; next = pending.pop()) {
    weight += 1;
    if (typeof next === "string") weight += next.length / 16;
    else if (Array.isArray(next)) for (const item of next) pending.push(item);
    else if (typeof next === "object" && next !== null) {
      for (const [key, child] of Object.entries(next)) {
        weight += key.length / 16;
        pending.push(child);
      }
    }
  }
  return weight;
}
