import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { SnapshotError } from "./snapshot-error.ts";

/** Chunks of a snapshot, so that 16 bits number them. Within 4 MiB more than these could only be of a few characters each. */
export const MAX_CHUNKS = 65_536;
/** Nesting of the whole file; a proper one has 4 levels. */
export const MAX_DEPTH = 32;
/** JSON values within one chunk, tags included: a hundred thousand empty objects would take 20 times their size in memory. */
export const MAX_VALUES = 10_000;

/** Bytes that are parsed and indexed in one go, two or three milliseconds; a larger chunk is one go of its own. */
const BATCH_BYTES = 64 * 1024;

/** One entry of a snapshot, as far as a search needs it. */
export interface SnapshotChunk {
  readonly id: string;
  /** `""` where the entry names none. */
  readonly concept: string;
  readonly title: string | null;
  readonly content: string;
  /** All texts that are searched, `content` among them. */
  readonly texts: readonly string[];
}

export interface SnapshotBatch {
  readonly chunks: readonly SnapshotChunk[];
  /** Bytes of the file that it was made of. */
  readonly bytes: number;
}

const SEARCHED = ["content", "title", "description", "tags_text", "heading"] as const;

/**
 * Reads a `minimemory-okf-v1` snapshot, untrusted bytes whose hash agrees: a JSON array of `{id, metadata}` in UTF-8.
 * It is cut into entries first and parsed a few at a time, so that nothing in it costs more memory than its own size and
 * other work may come in between. Unknown fields are ignored, `vector: null` and a missing `metadata` are accepted.
 *
 * @throws {SnapshotError} at the batch in which the fault lies, never `index_too_large`.
 */
export function* readSnapshot(bytes: Uint8Array): Generator<SnapshotBatch, void, void> {
  const ids = new Set<string>();
  for (const { from, to } of cutEntries(bytes)) {
    const entries = parseEntries(bytes.subarray(from, to));
    // A comma without an entry behind it; `[]` itself gives no batch at all.
    if (entries.length === 0) throw badJson();
    const chunks: SnapshotChunk[] = [];
    for (const entry of entries) {
      const chunk = readChunk(entry, ids.size);
      if (ids.has(chunk.id)) {
        throw new SnapshotError("duplicate_id", `Two chunks of the snapshot have the id ${shown(chunk.id)}.`);
      }
      if (ids.size === MAX_CHUNKS) {
        throw new SnapshotError("too_many_chunks", `The snapshot has more than ${MAX_CHUNKS} chunks, the limit.`);
      }
      ids.add(chunk.id);
      chunks.push(chunk);
    }
    yield { chunks, bytes: to - from };
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function parseEntries(bytes: Uint8Array): readonly Json[] {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new SnapshotError("bad_encoding", "The snapshot is not valid UTF-8.");
  }
  try {
    return JSON.parse(`[${text}]`) as readonly Json[];
  } catch {
    throw badJson();
  }
}

function readChunk(entry: Json, position: number): SnapshotChunk {
  const where = `entry ${position + 1} of the snapshot`;
  if (!isJsonObject(entry)) throw new SnapshotError("bad_chunk", `The ${where} must be an object.`);
  const { id, vector, metadata = null } = entry;
  if (typeof id !== "string") throw new SnapshotError("bad_chunk", `The field \`id\` of ${where} must be a string.`);
  if (Array.isArray(vector) && vector.length > 0) {
    throw new SnapshotError("vectors", `The field \`vector\` of ${where} must be absent, null or empty.`);
  }
  if (metadata !== null && !isJsonObject(metadata)) {
    throw new SnapshotError("bad_chunk", `The field \`metadata\` of ${where} must be an object.`);
  }
  const fields: JsonObject = metadata ?? {};
  const { content, title, okf_concept: concept } = fields;
  return {
    id,
    concept: typeof concept === "string" ? concept : "",
    title: typeof title === "string" ? title : null,
    content: typeof content === "string" ? content : "",
    texts: SEARCHED.map((key) => fields[key]).filter((value) => typeof value === "string"),
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
}

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Where the entries of the outer array lie, several together. Only brackets, commas and strings are looked at: what lies between
 * them, and whether brackets agree in kind, is for the JSON parser to judge, which sees every entry.
 */
function* cutEntries(bytes: Uint8Array): Generator<Range, void, void> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new SnapshotError("byte_order_mark", "The snapshot must not begin with a byte order mark.");
  }
  let at = skipBlank(bytes, 0);
  if (bytes[at] !== OPEN_ARRAY) throw new SnapshotError("not_an_array", "The snapshot must be a JSON array.");
  let from = at + 1;
  let depth = 0;
  let values = 0;
  let commas = 0;
  for (; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        if (depth > MAX_DEPTH) {
          throw new SnapshotError("too_deep", `The snapshot is nested deeper than ${MAX_DEPTH} levels, the limit.`);
        }
        break;
      case COMMA:
        values += 1;
        if (depth > 1) break;
        commas += 1;
        values = 0;
        if (at - from >= BATCH_BYTES) {
          yield { from, to: at };
          from = at + 1;
        }
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        if (depth > 0) break;
        if (bytes[at] !== CLOSE_ARRAY || skipBlank(bytes, at + 1) !== bytes.length) throw badJson();
        if (commas > 0 || skipBlank(bytes, from) !== at) yield { from, to: at };
        return;
    }
    if (values > MAX_VALUES) {
      const message = `A chunk of the snapshot holds more than ${MAX_VALUES} JSON values, the limit.`;
      throw new SnapshotError("too_many_values", message);
    }
  }
  throw badJson();
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) break;
  }
  return at;
}

/** Where the closing quote is of the string that opens at `from`. */
function endOfString(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  throw badJson();
}

function badJson(): SnapshotError {
  return new SnapshotError("bad_json", "The snapshot is not valid JSON.");
}

function shown(id: string): string {
  return JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}…` : id);
}
