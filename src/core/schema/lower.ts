import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { LoweredSchema } from "./evaluate.ts";
import { checkKeyword } from "./keyword-check.ts";
import { type Dialect, dialectOf, FORMATS, IN_PLACE, KEYWORDS } from "./keywords.ts";
import { indexReferences, type ReferenceIndex, resolveReference } from "./references.ts";
import { below, type Place, SchemaError } from "./schema-error.ts";

/** Most subschemas after lowering; 64 KiB of ordinary schema has a few hundred. */
const MAX_SUBSCHEMAS = 10_000;

export interface Lowering {
  readonly schema: LoweredSchema;
  /** Every regular expression in it; compiled and run in the sandbox alone. */
  readonly patterns: readonly string[];
  /** False when a keyword in it is never evaluated by the host itself. */
  readonly hostSafe: boolean;
}

/** Keywords whose cost is not bounded by (schema size × value size), or that run regular expressions or big integers. */
const NEVER_ON_HOST = new Set([
  "$ref",
  "pattern",
  "patternProperties",
  "format",
  "uniqueItems",
  "unevaluatedProperties",
  "unevaluatedItems",
  "multipleOf",
]);

/** Reference keywords, each with the one dialect that knows it (`null`: all). */
const REFERENCES: readonly (readonly [string, Dialect | null])[] = [
  ["$ref", null],
  ["$dynamicRef", "2020-12"],
  ["$recursiveRef", "2019-09"],
];

/**
 * Checks a publisher's schema and rewrites it for the evaluator: only known keywords of the right type are copied,
 * `$ref`, `$dynamicRef` and `$recursiveRef` become keys of one table (a schema is a single resource here, where the three
 * mean the same), unknown formats are dropped as the annotations they are. Depth is bounded by the caller.
 *
 * @throws {SchemaError} naming the place, for anything the evaluator could not evaluate as the standard says.
 */
export function lowerSchema(root: JsonObject): Lowering {
  const dialect = readDialect(root);
  const state: State = {
    dialect,
    references: indexReferences(root, dialect),
    schemas: Object.create(null) as Record<string, Json>,
    places: new Map(),
    inPlace: new Map(),
    pending: [{ key: "#", source: root, path: null }],
    patterns: new Set(),
    hostSafe: true,
    count: 0,
  };
  for (let next = state.pending.pop(); next !== undefined; next = state.pending.pop()) {
    if (state.schemas[next.key] !== undefined) continue;
    state.places.set(next.key, next.path);
    state.schemas[next.key] = lower(state, next.source, next.path, next.key);
  }
  refuseCycles(state.inPlace, state.places);
  const schema = { dialect, schemas: Object.fromEntries(Object.entries(state.schemas)) };
  return { schema, patterns: [...state.patterns], hostSafe: state.hostSafe };
}

interface State {
  readonly dialect: Dialect;
  readonly references: ReferenceIndex;
  readonly schemas: Record<string, Json>;
  /** Where each key of `schemas` was first found. */
  readonly places: Map<string, Place>;
  /** For each key of `schemas`, the keys that it applies to the very same value. */
  readonly inPlace: Map<string, Set<string>>;
  readonly pending: { key: string; source: Json; path: Place }[];
  readonly patterns: Set<string>;
  hostSafe: boolean;
  count: number;
}

function readDialect(root: JsonObject): Dialect {
  const declared = root.$schema;
  if (declared === undefined) return "2020-12";
  const dialect = typeof declared === "string" ? dialectOf(declared) : null;
  if (dialect === null) {
    throw new SchemaError(below(null, "$schema"), "The dialect is not one of draft 2020-12, 2019-09, 07 and 04");
  }
  return dialect;
}

/** `owner`: the table key whose value this subschema still applies to, or `null` below a child of that value. */
function lower(state: State, source: Json, path: Place, owner: string | null): Json {
  state.count += 1;
  if (state.count > MAX_SUBSCHEMAS) {
    throw new SchemaError(path, `The schema has more than ${MAX_SUBSCHEMAS} subschemas`);
  }
  if (typeof source === "boolean") return source;
  if (!isJsonObject(source)) throw new SchemaError(path, "A schema must be an object or a boolean");
  const entries: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(source)) {
    const kind = KEYWORDS.get(keyword);
    if (kind === undefined) continue;
    const at = below(path, keyword);
    checkKeyword(kind, value, at, state.dialect);
    if (keyword === "format" && !FORMATS.has(value as string)) continue;
    if (NEVER_ON_HOST.has(keyword)) state.hostSafe = false;
    if (keyword === "pattern") state.patterns.add(value as string);
    if (keyword === "patternProperties") for (const each of Object.keys(value as JsonObject)) state.patterns.add(each);
    entries.push([keyword, lowerKeyword(state, kind, value, at, IN_PLACE.has(keyword) ? owner : null)]);
  }
  const references = lowerReferences(state, source, path, owner);
  const [first, ...more] = references;
  if (first !== undefined) entries.push(["$ref", first]);
  if (more.length > 0) {
    const rest = more.map(($ref): Json => ({ $ref }));
    const allOf = entries.find(([keyword]) => keyword === "allOf");
    if (allOf === undefined) entries.push(["allOf", rest]);
    else allOf[1] = [...(allOf[1] as Json[]), ...rest];
  }
  // `fromEntries` defines properties, so a property named `__proto__` stays one.
  return Object.fromEntries(entries);
}

function lowerKeyword(state: State, kind: string, value: Json, path: Place, owner: string | null): Json {
  const one = (child: Json, token: string | number) => lower(state, child, below(path, token), owner);
  switch (kind) {
    case "schema":
      return lower(state, value, path, owner);
    case "schemas":
      return (value as Json[]).map(one);
    case "items":
      return Array.isArray(value) ? value.map(one) : lower(state, value, path, owner);
    case "schema-map":
      return Object.fromEntries(Object.entries(value as JsonObject).map(([key, child]) => [key, one(child, key)]));
    case "dependencies":
      return Object.fromEntries(
        Object.entries(value as JsonObject).map(([key, child]) => [
          key,
          Array.isArray(child) ? child : one(child, key),
        ]),
      );
    default:
      return value;
  }
}

function lowerReferences(state: State, source: JsonObject, path: Place, owner: string | null): string[] {
  const keys: string[] = [];
  for (const [keyword, only] of REFERENCES) {
    const value = source[keyword];
    if (value === undefined || (only !== null && only !== state.dialect)) continue;
    const target = resolveReference(state.references, value, below(path, keyword));
    state.hostSafe = false;
    state.pending.push(target);
    keys.push(target.key);
    if (owner !== null) {
      const edges = state.inPlace.get(owner) ?? new Set();
      state.inPlace.set(owner, edges.add(target.key));
    }
  }
  return keys;
}

/** A chain of references that comes back to itself without descending into the value would never end. */
function refuseCycles(edges: ReadonlyMap<string, ReadonlySet<string>>, places: ReadonlyMap<string, Place>): void {
  const done = new Set<string>();
  for (const start of edges.keys()) {
    const open = new Set<string>();
    const stack: { key: string; leave: boolean }[] = [{ key: start, leave: false }];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { key, leave } = next;
      if (leave) {
        open.delete(key);
        done.add(key);
        continue;
      }
      if (open.has(key))
        throw new SchemaError(places.get(key) ?? null, "The reference loops back to itself on the same value");
      if (done.has(key)) continue;
      open.add(key);
      stack.push({ key, leave: true });
      for (const target of edges.get(key) ?? []) stack.push({ key: target, leave: false });
    }
  }
}
