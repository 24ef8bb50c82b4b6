/** Strings, with whether a colon follows, and the brackets; everything else of valid JSON says nothing about keys. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g;

/**
 * A key that stands twice in one object of a valid JSON text, or `null`. `JSON.parse` keeps the last of such keys without a word.
 *
 * @param text that `JSON.parse` has accepted.
 */
export function repeatedKey(text: string): string | null {
  const open: (Set<string> | null)[] = [];
  for (const [token, quoted, colon] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (quoted !== undefined && colon !== undefined) {
      const keys = open.at(-1);
      const key = JSON.parse(quoted) as string;
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return null;
}
