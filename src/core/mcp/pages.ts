import type { Json } from "../json.ts";
import { invalidParams } from "./errors.ts";

/**
 * Entries a page. An origin has at most 256 skills, and some clients never ask for a second page, so one origin fits on one.
 */
export const DEFAULT_PAGE_SIZE = 300;

export interface Page<T> {
  readonly entries: readonly T[];
  readonly nextCursor?: string;
}

/**
 * One page of a complete list in deterministic order. A cursor names the list and the key of the last entry sent, so a list that
 * changes between two pages repeats nothing; if that entry itself is gone, the cursor is invalid and the client starts again.
 *
 * @param sizeOf what an entry counts for; one that is larger than a page has a page of its own.
 * @throws McpError -32602 for a cursor that is not ours, of another list, or whose entry is gone.
 */
export function paginate<T>(
  list: string,
  all: readonly T[],
  keyOf: (entry: T) => string,
  cursor: Json | undefined,
  pageSize: number,
  sizeOf: (entry: T) => number = () => 1,
): Page<T> {
  let start = 0;
  if (cursor !== undefined && cursor !== null) {
    const last = typeof cursor === "string" ? readCursor(list, cursor) : null;
    const index = last === null ? -1 : all.findIndex((entry) => keyOf(entry) === last);
    if (index === -1)
      throw invalidParams("params.cursor is invalid or the list has changed: list again without a cursor.");
    start = index + 1;
  }
  let end = start;
  for (let size = 0; end < all.length; end += 1) {
    size += sizeOf(all[end] as T);
    if (size > pageSize && end > start) break;
  }
  const entries = all.slice(start, end);
  const last = entries.at(-1);
  if (last === undefined || end >= all.length) return { entries };
  return { entries, nextCursor: writeCursor(list, keyOf(last)) };
}

function writeCursor(list: string, key: string): string {
  const bytes = new TextEncoder().encode(`${list} ${key}`);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function readCursor(list: string, cursor: string): string | null {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(binary, (character) => character.charCodeAt(0)),
    );
    return text.startsWith(`${list} `) ? text.slice(list.length + 1) : null;
  } catch {
    return null;
  }
}
