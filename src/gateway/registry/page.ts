import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { encodeBase64 } from "../../core/attestation/base64.ts";

/** One page of a list in a fixed order. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Give it back to get the next page; `null` on the last one. */
  readonly nextCursor: string | null;
}

/** What a caller asks for: at most `limit` items after `after` (`null`: from the start). */
export interface PageRequest<Key> {
  readonly limit: number;
  readonly after: Key | null;
}

/** Position in a list ordered by creation, then id. */
export type CreatedKey = readonly [createdAt: number, id: string];

/** Cuts a page from `limit + 1` rows, so that the last page is known without a count. */
export function toPage<Row, Key>(rows: readonly Row[], limit: number, keyOf: (row: Row) => Key): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null };
}

/** Opaque to callers: base64url of the key's JSON in UTF-8. */
export function encodeCursor(key: unknown): string {
  return encodeBase64(new TextEncoder().encode(JSON.stringify(key)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** The key in a cursor of ours, or `undefined` for anything else. */
export function decodeCursor(cursor: string): unknown {
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0))));
  } catch {
    return undefined;
  }
}

/** Narrows a decoded cursor to `[createdAt, id]`. */
export function isCreatedKey(key: unknown): key is CreatedKey {
  return Array.isArray(key) && key.length === 2 && Number.isSafeInteger(key[0]) && typeof key[1] === "string";
}

/** SQL: whether a row comes after a position in a list ordered by two columns, the earliest first; `undefined` from the start. */
export function isAfter(
  first: SQLWrapper,
  second: SQLWrapper,
  after: readonly [first: number | string, second: string] | null,
): SQL | undefined {
  return after === null ? undefined : sql`(${first}, ${second}) > (${after[0]}, ${after[1]})`;
}

/** SQL: whether a text holds another one, in any case of ASCII letters; `undefined` where none is asked for. */
export function holds(text: SQLWrapper, part: string | undefined): SQL | undefined {
  return part === undefined ? undefined : sql`instr(lower(${text}), lower(${part})) > 0`;
}
