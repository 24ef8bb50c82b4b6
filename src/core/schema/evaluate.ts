import { type OutputUnit, type Schema, validate } from "@cfworker/json-schema";
import type { Json } from "../json.ts";
import type { Dialect } from "./keywords.ts";

/**
 * A publisher's schema, rewritten to hold nothing but checked keywords, with every `$ref` pointing to a key of `schemas`.
 * Plain JSON: the sandbox gets the same thing as the host.
 */
export interface LoweredSchema {
  readonly dialect: Dialect;
  /** `#` is the root. */
  readonly schemas: Readonly<Record<string, Json>>;
}

/** Where and how a value breaks a schema. */
export interface Violation {
  /** JSON Pointer (RFC 6901) into the value; the empty string is the whole value. */
  readonly path: string;
  readonly message: string;
}

/** Longest sentence about one violation, in characters: an `enum` of 64 KiB is not repeated to every caller. */
const MESSAGE_LENGTH = 300;

/** Errors that only say that a deeper one follows. */
const WRAPPERS = new Set([
  "$ref",
  "allOf",
  "if",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "dependentSchemas",
  "dependencies",
  "prefixItems",
  "items",
  "additionalItems",
  "unevaluatedItems",
]);

/**
 * The evaluation itself, with `@cfworker/json-schema`. This very function runs on the host for cheap schemas and, bundled
 * into one expression, inside the sandbox for all others; so it uses ECMAScript built-ins alone.
 *
 * @returns the first violation, or `null` for a valid value.
 */
export function evaluate({ dialect, schemas }: LoweredSchema, value: Json): Violation | null {
  // The evaluator's types say mutable; it does not mutate what it is given when it need not build its own lookup.
  const lookup = schemas as unknown as Record<string, Schema | boolean>;
  const { valid, errors } = validate(value, lookup["#"] as Schema, dialect, lookup, true);
  if (valid) return null;
  let index = 0;
  while (index + 1 < errors.length && WRAPPERS.has(errors[index]?.keyword ?? "")) index += 1;
  return describe(errors[index]);
}

function describe(error: OutputUnit | undefined): Violation {
  if (error === undefined) return { path: "", message: "The value does not match the schema." };
  const path = decodeURIComponent(error.instanceLocation.slice(1));
  const message = error.keyword === "false" ? "The schema allows no value here." : error.error;
  return { path, message: message.length > MESSAGE_LENGTH ? `${message.slice(0, MESSAGE_LENGTH)}…` : message };
}
