import { isJsonObject, type JsonObject } from "../json.ts";
import type { Scanner } from "./scanner.ts";

/** A tagged comment that ends a line: `<!-- tag: {…} -->`. */
export interface TaggedComment {
  /** Position of `<!--`. */
  readonly start: number;
  /** The object, or `null` where the text between the braces is not valid JSON. */
  readonly json: JsonObject | null;
}

/**
 * The leftmost `<!-- tag: {` of a line whose object runs to the end of the line, `}`, white space, `-->`, white space.
 * There is only one place where that end can be, so it is found first, from the right; braces and arrows before it belong
 * to the object. What lies between the braces is parsed once.
 *
 * @param anywhere false when the comment has to stand at `start`.
 */
export function findTaggedComment(
  scanner: Scanner,
  tag: "skill:" | "skills-memory:",
  start: number,
  end: number,
  anywhere: boolean,
): TaggedComment | null {
  const objectEnd = findObjectEnd(scanner, start, end);
  if (objectEnd === -1) return null;
  let position = start;
  while (position < objectEnd) {
    const opened = scanner.after("<!--", position, objectEnd);
    if (opened === -1) {
      if (!anywhere) return null;
      position += 1;
      continue;
    }
    const tagStart = scanner.skipSpace(opened, objectEnd);
    const tagEnd = scanner.after(tag, tagStart, objectEnd);
    const objectStart = tagEnd === -1 ? tagStart : scanner.skipSpace(tagEnd, objectEnd);
    if (tagEnd !== -1 && scanner.after("{", objectStart, objectEnd) !== -1) {
      return { start: position, json: parseObject(scanner.slice(objectStart, objectEnd)) };
    }
    if (!anywhere) return null;
    // White space was skipped, so no comment can begin before here.
    position = objectStart;
  }
  return null;
}

/** The position behind the `}` that closes a trailing comment's object, or -1. */
function findObjectEnd(scanner: Scanner, start: number, end: number): number {
  const arrow = scanner.trimEnd(start, end) - "-->".length;
  if (arrow < start || scanner.after("-->", arrow, end) === -1) return -1;
  const objectEnd = scanner.trimEnd(start, arrow);
  return objectEnd > start && scanner.after("}", objectEnd - 1, end) !== -1 ? objectEnd : -1;
}

/** Untrusted text. A nesting too deep for the engine's parser throws like any other fault and is no JSON for us. */
function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
