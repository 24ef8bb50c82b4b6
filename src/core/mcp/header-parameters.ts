import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { headerMismatch } from "./errors.ts";
import { decodeHeaderValue } from "./headers.ts";

/** One `x-mcp-header` of an `inputSchema`: the argument at `path` is mirrored as `Mcp-Param-<header>`. */
export interface HeaderParameter {
  readonly path: readonly string[];
  readonly header: string;
  readonly type: "string" | "integer" | "boolean";
}

export type HeaderParameters =
  | { readonly ok: true; readonly parameters: readonly HeaderParameter[] }
  /** Clients drop a tool whose declarations break the rules, so a listing may want to warn. */
  | { readonly ok: false; readonly message: string };

const ANNOTATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<Json | undefined> = new Set(["string", "integer", "boolean"]);

/** Members that hold one subschema or an array of them. */
const SUBSCHEMAS = [
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
];
/** Members that hold subschemas by name. */
const NAMED_SUBSCHEMAS = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/**
 * Reads the `x-mcp-header` declarations of a tool (2026-07-28 server/tools). The schema is a publisher's: the walk does not recurse.
 * Valid are string, integer and boolean properties reached through `properties` alone, with names that are HTTP tokens, unique
 * without regard to case.
 */
export function headerParameters(inputSchema: JsonObject): HeaderParameters {
  const parameters: HeaderParameter[] = [];
  const seen = new Set<string>();
  const pending: { schema: Json | undefined; path: readonly string[]; reachable: boolean }[] = [
    { schema: inputSchema, path: [], reachable: true },
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { schema, path, reachable } = next;
    if (!isJsonObject(schema)) continue;

    if (Object.hasOwn(schema, ANNOTATION)) {
      const { [ANNOTATION]: header, type } = schema;
      if (!reachable || path.length === 0)
        return broken(path, "must be on a property reached through properties alone");
      if (typeof header !== "string" || !TOKEN.test(header)) return broken(path, "must be an HTTP token");
      if (!TYPES.has(type)) return broken(path, "is allowed on string, integer and boolean properties only");
      if (seen.has(header.toLowerCase())) return broken(path, "is declared twice");
      seen.add(header.toLowerCase());
      parameters.push({ path, header, type: type as HeaderParameter["type"] });
    }

    if (isJsonObject(schema.properties)) {
      for (const [key, child] of Object.entries(schema.properties)) {
        pending.push({ schema: child, path: [...path, key], reachable });
      }
    }
    for (const key of SUBSCHEMAS) {
      const child = schema[key];
      for (const branch of Array.isArray(child) ? child : [child])
        pending.push({ schema: branch, path, reachable: false });
    }
    for (const key of NAMED_SUBSCHEMAS) {
      const children = schema[key];
      if (!isJsonObject(children)) continue;
      for (const branch of Object.values(children)) pending.push({ schema: branch, path, reachable: false });
    }
  }
  return { ok: true, parameters };
}

function broken(path: readonly string[], rule: string): HeaderParameters {
  return { ok: false, message: `${ANNOTATION} at "${path.join(".")}" ${rule}.` };
}

/** Definitions outlive requests, so their declarations are read once. */
const known = new WeakMap<JsonObject, readonly HeaderParameter[]>();

/**
 * Checks that every declared argument with a value came along as an equal `Mcp-Param-*` header. Broken declarations are not
 * enforced: no client would mirror them.
 *
 * @throws McpError -32020, HTTP 400.
 */
export function checkParameterHeaders(inputSchema: JsonObject, args: JsonObject, headers: Headers): void {
  let parameters = known.get(inputSchema);
  if (parameters === undefined) {
    const declared = headerParameters(inputSchema);
    parameters = declared.ok ? declared.parameters : [];
    known.set(inputSchema, parameters);
  }
  for (const { path, header, type } of parameters) {
    const value = at(args, path);
    // Null and absent arguments have no header; values of another type are the input schema's to refuse.
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isSafeInteger(value)) continue;
    const name = `Mcp-Param-${header}`;
    const received = headers.get(name);
    if (received === null) throw headerMismatch(`The ${name} header is missing.`);
    const decoded = decodeHeaderValue(received);
    if (decoded === null) throw headerMismatch(`The ${name} header is not visible ASCII or valid Base64.`);
    const isEqual =
      type === "integer" && typeof value === "number"
        ? /^-?\d+(?:\.0+)?$/.test(decoded) && Number(decoded) === value
        : decoded === String(value);
    if (!isEqual) throw headerMismatch(`The ${name} header and argument "${path.join(".")}" differ.`);
  }
}

function at(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}
