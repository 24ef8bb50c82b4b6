/** The keywords that `@cfworker/json-schema` evaluates, by what their value must be. Everything else is an annotation. */
export type KeywordKind =
  | "schema"
  | "schemas"
  | "schema-map"
  | "items"
  | "strings"
  | "string-lists"
  | "dependencies"
  | "type"
  | "array"
  | "any"
  | "number"
  | "positive"
  | "bound"
  | "count"
  | "boolean"
  | "pattern"
  | "format";

export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ["type", "type"],
  ["const", "any"],
  ["enum", "array"],
  ["not", "schema"],
  ["anyOf", "schemas"],
  ["allOf", "schemas"],
  ["oneOf", "schemas"],
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
  ["format", "format"],
  ["pattern", "pattern"],
  ["minLength", "count"],
  ["maxLength", "count"],
  ["minimum", "number"],
  ["maximum", "number"],
  ["exclusiveMinimum", "bound"],
  ["exclusiveMaximum", "bound"],
  ["multipleOf", "positive"],
  ["required", "strings"],
  ["properties", "schema-map"],
  ["patternProperties", "schema-map"],
  ["additionalProperties", "schema"],
  ["unevaluatedProperties", "schema"],
  ["propertyNames", "schema"],
  ["minProperties", "count"],
  ["maxProperties", "count"],
  ["dependentRequired", "string-lists"],
  ["dependentSchemas", "schema-map"],
  ["dependencies", "dependencies"],
  ["prefixItems", "schemas"],
  ["items", "items"],
  ["additionalItems", "schema"],
  ["unevaluatedItems", "schema"],
  ["contains", "schema"],
  ["minContains", "count"],
  ["maxContains", "count"],
  ["minItems", "count"],
  ["maxItems", "count"],
  ["uniqueItems", "boolean"],
]);

/** Keywords whose subschemas apply to the very same instance: a cycle through these alone never ends. */
export const IN_PLACE: ReadonlySet<string> = new Set([
  "not",
  "anyOf",
  "allOf",
  "oneOf",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "dependencies",
]);

/** Maps of schemas that apply to nothing by themselves and are reached by `$ref`. */
export const DEFINITION_MAPS = ["$defs", "definitions"] as const;

export const TYPES: ReadonlySet<string> = new Set([
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "string",
  "integer",
]);

/** Formats that the evaluator asserts; others are annotations (JSON Schema 2020-12 §7.2.3). */
export const FORMATS: ReadonlySet<string> = new Set([
  "date",
  "time",
  "date-time",
  "duration",
  "uri",
  "uri-reference",
  "uri-template",
  "url",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "regex",
  "uuid",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
]);

export type Dialect = "2020-12" | "2019-09" | "7" | "4";

const DIALECTS: ReadonlyMap<string, Dialect> = new Map<string, Dialect>([
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema", "7"],
  ["https://json-schema.org/draft-07/schema", "7"],
  ["http://json-schema.org/draft-04/schema", "4"],
  ["https://json-schema.org/draft-04/schema", "4"],
]);

/** The dialect of a `$schema` URI, with or without an empty fragment; `null` for one that is not supported. */
export function dialectOf(uri: string): Dialect | null {
  return DIALECTS.get(uri.endsWith("#") ? uri.slice(0, -1) : uri) ?? null;
}
