import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { below, type Place, SchemaError } from "./schema-error.ts";

const HEADER = "x-mcp-header";
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_TYPES = new Set(["string", "integer", "boolean"]);
/** Longest header name; nothing in the standard, but a request line of one is no use to anybody. */
const HEADER_LENGTH = 128;

/**
 * Checks the `x-mcp-header` declarations of an input schema (MCP 2026-07-28, Streamable HTTP, "Schema Extension"): a
 * unique HTTP token, on a string, integer or boolean property that is reachable through `properties` alone. Clients drop
 * a tool with an invalid one, so its skill is rejected at discovery, where the publisher can see why. Depth is bounded by
 * the caller.
 *
 * @throws {SchemaError}
 */
export function checkHeaderDeclarations(schema: JsonObject): void {
  visit(schema, null, true, new Set());
}

function visit(value: Json, path: Place, reachable: boolean, names: Set<string>): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(item, below(path, index), false, names);
    return;
  }
  if (!isJsonObject(value)) return;
  const declared = value[HEADER];
  // As the name of a property it is no declaration: `properties` is walked below, key by key.
  if (declared !== undefined)
    checkDeclaration(declared, value.type, below(path, HEADER), path !== null && reachable, names);
  for (const [key, child] of Object.entries(value)) {
    const at = below(path, key);
    if (DATA.has(key)) continue;
    if (MAPS.has(key) && isJsonObject(child)) {
      for (const [name, each] of Object.entries(child)) {
        visit(each, below(at, name), reachable && key === "properties", names);
      }
    } else visit(child, at, false, names);
  }
}

/** Keywords that hold data, in which the word means nothing. */
const DATA = new Set([HEADER, "const", "enum", "default", "examples", "required", "dependentRequired"]);
/** Keywords whose keys are names, not keywords. */
const MAPS = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies"]);

function checkDeclaration(
  declared: Json,
  type: Json | undefined,
  path: Place,
  reachable: boolean,
  names: Set<string>,
): void {
  if (!reachable)
    throw new SchemaError(path, "The header may be declared only on properties of properties of the root");
  if (typeof declared !== "string" || declared.length > HEADER_LENGTH || !TOKEN.test(declared)) {
    throw new SchemaError(path, `The header's name must be an HTTP token of at most ${HEADER_LENGTH} characters`);
  }
  if (typeof type !== "string" || !HEADER_TYPES.has(type)) {
    throw new SchemaError(path, "The header may be declared only on a string, an integer or a boolean");
  }
  const folded = declared.toLowerCase();
  if (names.has(folded)) throw new SchemaError(path, "The header's name is declared twice");
  names.add(folded);
}
