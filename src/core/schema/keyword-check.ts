import { isJsonObject, type Json } from "../json.ts";
import { type Dialect, type KeywordKind, TYPES } from "./keywords.ts";
import { type Place, SchemaError } from "./schema-error.ts";

/**
 * Checks that a keyword's value has the shape which the evaluator takes for granted; subschemas are checked where they
 * are lowered.
 *
 * @throws {SchemaError} at `path`.
 */
export function checkKeyword(kind: KeywordKind, value: Json, path: Place, dialect: Dialect): void {
  const wanted = KIND_CHECKS[kind](value, dialect);
  if (wanted !== null) throw new SchemaError(path, `The keyword's value must be ${wanted}`);
}

/** What the value had to be, or `null` where it is that. */
type Check = (value: Json, dialect: Dialect) => string | null;

const must =
  (wanted: string, holds: (value: Json) => boolean): Check =>
  (value) =>
    holds(value) ? null : wanted;

const isStrings = (value: Json): boolean => Array.isArray(value) && value.every((item) => typeof item === "string");
const isType = (value: Json | undefined): boolean => typeof value === "string" && TYPES.has(value);
const anything: Check = () => null;

const KIND_CHECKS: Readonly<Record<KeywordKind, Check>> = {
  any: anything,
  schema: must("a schema", (value) => isJsonObject(value) || typeof value === "boolean"),
  schemas: must("a non-empty array of schemas", (value) => Array.isArray(value) && value.length > 0),
  "schema-map": must("an object of schemas", isJsonObject),
  items: must(
    "a schema or an array of schemas",
    (value) => Array.isArray(value) || isJsonObject(value) || typeof value === "boolean",
  ),
  strings: must("an array of strings", isStrings),
  "string-lists": must(
    "an object of arrays of strings",
    (value) => isJsonObject(value) && Object.values(value).every(isStrings),
  ),
  dependencies: must(
    "an object of schemas or arrays of strings",
    (value) => isJsonObject(value) && Object.values(value).every((item) => !Array.isArray(item) || isStrings(item)),
  ),
  type: must(
    "one of the seven type names, or a non-empty array of them",
    (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
  ),
  array: must("a non-empty array", (value) => Array.isArray(value) && value.length > 0),
  number: must("a number", (value) => typeof value === "number"),
  positive: must("a number above 0", (value) => typeof value === "number" && value > 0),
  bound: (value, dialect) =>
    dialect === "4"
      ? must("a boolean in draft 04", (each) => typeof each === "boolean")(value, dialect)
      : must("a number", (each) => typeof each === "number")(value, dialect),
  count: must("a non-negative integer", (value) => Number.isInteger(value) && (value as number) >= 0),
  boolean: must("a boolean", (value) => typeof value === "boolean"),
  pattern: must("a string", (value) => typeof value === "string"),
  format: must("a string", (value) => typeof value === "string"),
};
