import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { DEFINITION_MAPS, type Dialect, KEYWORDS } from "./keywords.ts";
import { pointer, SchemaError } from "./schema-error.ts";

/** A place that a reference may name. */
export interface ReferenceTarget {
  /** `#` plus the JSON Pointer of the place: one key for every way to write the reference. */
  readonly key: string;
  readonly source: Json;
  /** JSON Pointer. */
  readonly path: string;
}

export interface ReferenceIndex {
  readonly root: JsonObject;
  readonly anchors: ReadonlyMap<string, ReferenceTarget>;
}

/**
 * Finds the anchors (`$anchor`, `$dynamicAnchor`, draft 07's `$id: "#name"`, draft 04's `id`) at every place that holds a
 * subschema.
 *
 * @throws {SchemaError} for two anchors of one name, a `$schema` below the root that says otherwise, and an embedded
 *   `$id` in a schema with references, which would move their base.
 */
export function indexReferences(root: JsonObject, dialect: Dialect): ReferenceIndex {
  const anchors = new Map<string, ReferenceTarget>();
  const idKeyword = dialect === "4" ? "id" : "$id";
  let embedded: string | null = null;
  let refers = false;
  const add = (name: string, source: JsonObject, path: string, at: string) => {
    const known = anchors.get(name);
    if (known !== undefined && known.path !== path) {
      throw new SchemaError(at, "The anchor's name is used twice");
    }
    anchors.set(name, { key: `#${path}`, source, path });
  };
  for (const { source, path } of subschemas(root)) {
    if (source.$ref !== undefined || source.$dynamicRef !== undefined) refers = true;
    if (path !== "" && source.$schema !== undefined && source.$schema !== root.$schema) {
      throw new SchemaError(pointer(path, "$schema"), "The dialect must be the one of the whole schema");
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = source[keyword];
      if (typeof name === "string") add(name, source, path, pointer(path, keyword));
    }
    const id = source[idKeyword];
    if (typeof id !== "string") continue;
    if (id.startsWith("#") && id.length > 1) add(id.slice(1), source, path, pointer(path, idKeyword));
    else if (path !== "") embedded ??= pointer(path, idKeyword);
  }
  if (embedded !== null && refers) {
    throw new SchemaError(embedded, "Only the root may have an identifier in a schema with references");
  }
  return { root, anchors };
}

/**
 * Resolves a reference within the schema. Nothing is ever fetched.
 *
 * @throws {SchemaError} at `at` for a reference to anywhere else, or to nothing.
 */
export function resolveReference({ root, anchors }: ReferenceIndex, reference: Json, at: string): ReferenceTarget {
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
    return target;
  }
  let source: Json | undefined = root;
  let path = "";
  for (const token of fragment.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    source = childOf(source, key);
    if (source === undefined) throw new SchemaError(at, "The reference points to nothing");
    path = pointer(path, key);
  }
  return { key: `#${path}`, source, path };
}

function childOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(?:0|[1-9][0-9]*)$/.test(key) ? value[Number(key)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Every object that stands where a subschema may stand, the root first, `$defs` and `definitions` included. */
function* subschemas(root: JsonObject): Generator<{ source: JsonObject; path: string }> {
  const pending: { value: Json; path: string }[] = [{ value: root, path: "" }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value: source, path } = next;
    if (!isJsonObject(source)) continue;
    yield { source, path };
    for (const [keyword, value] of Object.entries(source)) {
      const at = pointer(path, keyword);
      const kind = KEYWORDS.get(keyword);
      if (kind === "schema" || (kind === "items" && !Array.isArray(value))) pending.push({ value, path: at });
      else if (isContainer(kind, keyword) && typeof value === "object" && value !== null) {
        for (const [key, child] of Object.entries(value))
          pending.push({ value: child as Json, path: pointer(at, key) });
      }
    }
  }
}

function isContainer(kind: string | undefined, keyword: string): boolean {
  if (kind === "schemas" || kind === "items" || kind === "schema-map" || kind === "dependencies") return true;
  return (DEFINITION_MAPS as readonly string[]).includes(keyword);
}
