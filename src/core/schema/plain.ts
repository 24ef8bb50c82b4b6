import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { compileSchema } from "./compile.ts";
import { DEFINITION_MAPS, dialectOf, KEYWORDS } from "./keywords.ts";
import { SchemaError } from "./schema-error.ts";

/** Keywords that say something to a reader or name a place, and nothing to an evaluator. */
const ANNOTATIONS: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ["$schema", isString],
  ["$ref", isString],
  ["$dynamicRef", isString],
  ["$recursiveRef", isString],
  ["$anchor", isString],
  ["$dynamicAnchor", isString],
  ["$comment", isString],
  ["title", isString],
  ["description", isString],
  ["default", () => true],
  ["examples", Array.isArray],
  ["deprecated", isBoolean],
  ["readOnly", isBoolean],
  ["writeOnly", isBoolean],
]);

/**
 * The same schema with the standard's keywords alone, or `null` where that is not possible.
 *
 * Official clients compile every listed `outputSchema` with Ajv and give up the whole list when one does not compile:
 * an OpenAPI `nullable`, a stray `id`, an embedded `$id`, draft 04. A publisher's schema must not cost others their list.
 */
export function plainSchema(schema: JsonObject): JsonObject | null {
  if (typeof schema.$schema === "string" && dialectOf(schema.$schema) === "4") return null;
  const plain = plainObject(schema);
  try {
    // A reference through a keyword that was dropped leads nowhere now.
    compileSchema(plain);
    return plain;
  } catch (error) {
    if (error instanceof SchemaError) return null;
    throw error;
  }
}

function plainObject(schema: JsonObject): JsonObject {
  const entries: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const plain = plainKeyword(keyword, value);
    if (plain !== undefined) entries.push([keyword, plain]);
  }
  return Object.fromEntries(entries);
}

function plainKeyword(keyword: string, value: Json): Json | undefined {
  if ((DEFINITION_MAPS as readonly string[]).includes(keyword))
    return isJsonObject(value) ? plainMap(value) : undefined;
  switch (KEYWORDS.get(keyword)) {
    case undefined:
      return ANNOTATIONS.get(keyword)?.(value) ? value : undefined;
    case "schema":
      return plainValue(value);
    case "schemas":
    case "items":
      return Array.isArray(value) ? value.map(plainValue) : plainValue(value);
    case "schema-map":
    case "dependencies":
      return isJsonObject(value) ? plainMap(value) : undefined;
    default:
      return value;
  }
}

function plainMap(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plainValue(schema)]));
}

function plainValue(value: Json): Json {
  return isJsonObject(value) ? plainObject(value) : value;
}

function isString(value: Json): boolean {
  return typeof value === "string";
}

function isBoolean(value: Json): boolean {
  return typeof value === "boolean";
}
