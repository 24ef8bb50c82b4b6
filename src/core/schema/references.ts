import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { DEFINITION_MAPS, type Dialect, KEYWORDS } from "./keywords.ts";
import { below, type Place, SchemaError } from "./schema-error.ts";

/** A place that a reference may name. */
export interface ReferenceTarget {
  /** One key for every way to write the reference; `#` is the root. */
  readonly key: string;
  readonly source: Json;
  readonly path: Place;
}

export interface ReferenceIndex {
  readonly root: JsonObject;
  readonly anchors: ReadonlyMap<string, Omit<ReferenceTarget, "key">>;
  /** The keys given to places so far. */
  readonly keys: Map<Json, string>;
}

/**
 * Finds the anchors (`$anchor`, `$dynamicAnchor`, draft 07's `$id: "#name"`, draft 04's `id`) at every place that holds a
 * subschema.
 *
 * @throws {SchemaError} for two anchors of one name, a `$schema` below the root that says otherwise, and an embedded
 *   `$id` in a schema with references, which would move their base.
 */
export function indexReferences(root: JsonObject, dialect: Dialect): ReferenceIndex {
  const anchors = new Map<string, Omit<ReferenceTarget, "key">>();
  const idKeyword = dialect === "4" ? "id" : "$id";
  let embedded: Place = null;
  let refers = false;
  const add = (name: string, source: JsonObject, path: Place, at: Place) => {
    const known = anchors.get(name);
    if (known !== undefined && known.source !== source) {
      throw new SchemaError(at, "The anchor's name is used twice");
    }
    anchors.set(name, { source, path });
  };
  for (const { source, path } of subschemas(root)) {
    if (source.$ref !== undefined || source.$dynamicRef !== undefined) refers = true;
    if (path !== null && source.$schema !== undefined && source.$schema !== root.$schema) {
      throw new SchemaError(below(path, "$schema"), "The dialect must be the one of the whole schema");
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = source[keyword];
      if (typeof name === "string") add(name, source, path, below(path, keyword));
    }
    const id = source[idKeyword];
    if (typeof id !== "string") continue;
    if (id.startsWith("#") && id.length > 1) add(id.slice(1), source, path, below(path, idKeyword));
    else if (path !== null) embedded ??= below(path, idKeyword);
  }
  if (embedded !== null && refers) {
    throw new SchemaError(embedded, "Only the root may have an identifier in a schema with references");
  }
  return { root, anchors, keys: new Map([[root, "#"]]) };
}

/**
 * Resolves a reference within the schema. Nothing is ever fetched.
 *
 * @throws {SchemaError} at `at` for a reference to anywhere else, or to nothing.
 */
export function resolveReference(index: ReferenceIndex, reference: Json, at: Place): ReferenceTarget {
  const { root, anchors } = index;
  if (typeof reference !== "string" || !reference.startsWith("#")) {
    throw new SchemaError(at, "A reference must begin with # and stay within the schema");
  }
  let fragment: string;
  try {
    fragment = decodeURIComponent(reference.slice(1));
  } catch {
    throw new SchemaError(at, "The reference is not validly percent-encoded");
  }
  if (fragment !== "" && !fragment.startsWith("/")) {
    const target = anchors.get(fragment);
    if (target === undefined) throw new SchemaError(at, "The reference names an anchor that does not exist");
    return { ...target, key: keyOf(index, target.source) };
  }
  let source: Json | undefined = root;
  let path: Place = null;
  for (const token of fragment.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    source = childOf(source, key);
    if (source === undefined) throw new SchemaError(at, "The reference points to nothing");
    path = below(path, key);
  }
  return { key: keyOf(index, source), source, path };
}

/** Objects of parsed JSON are told apart by identity; of booleans, the only other schemas, each is one schema wherever it stands. */
function keyOf({ keys }: ReferenceIndex, source: Json): string {
  let key = keys.get(source);
  if (key === undefined) {
    key = `#${keys.size}`;
    keys.set(source, key);
  }
  return key;
}

function childOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(?:0|[1-9][0-9]*)$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Every object that stands where a subschema may stand, the root first, `$defs` and `definitions` included. */
function* subschemas(root: JsonObject): Generator<{ source: JsonObject; path: Place }> {
  const pending: { value: Json; path: Place }[] = [{ value: root, path: null }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value: source, path } = next;
    if (!isJsonObject(source)) continue;
    yield { source, path };
    for (const [keyword, value] of Object.entries(source)) {
      const at = below(path, keyword);
      const kind = KEYWORDS.get(keyword);
      if (kind === "schema" || (kind === "items" && !Array.isArray(value))) pending.push({ value, path: at });
      else if (isContainer(kind, keyword) && typeof value === "object" && value !== null) {
        for (const [key, child] of Object.entries(value)) pending.push({ value: child as Json, path: below(at, key) });
      }
    }
  }
}

function isContainer(kind: string | undefined, keyword: string): boolean {
  if (kind === "schemas" || kind === "items" || kind === "schema-map" || kind === "dependencies") return true;
  return (DEFINITION_MAPS as readonly string[]).includes(keyword);
}
