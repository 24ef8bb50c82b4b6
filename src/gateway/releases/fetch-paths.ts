const CALL = "fetchOrigin(";
/** Places named of one script. */
export const MAX_PATHS = 20;
/** Longest one that is named. */
const MAX_PATH_CHARS = 200;

/**
 * Where a script says it fetches: the literals that it gives to `host.fetchOrigin`, in the order of its text. A hint for whoever reviews it: a
 * script may make up addresses, all of them of its own publisher. Takes a time that depends on the length of the text alone.
 *
 * @returns `complete`: every call names a whole address in a literal, and there are not more than 20.
 */
export function fetchPaths(source: string): { readonly paths: readonly string[]; readonly complete: boolean } {
  const paths = new Set<string>();
  let complete = true;
  let calls = 0;
  for (let at = source.indexOf(CALL); at !== -1; at = source.indexOf(CALL, at + CALL.length)) {
    calls += 1;
    if (calls > MAX_PATHS * 10) return { paths: [...paths], complete: false };
    const argument = source.slice(at + CALL.length, at + CALL.length + MAX_PATH_CHARS + 20).trimStart();
    const path = literalOf(argument);
    if (path === null || paths.size >= MAX_PATHS) complete = false;
    else paths.add(path.text);
    if (path?.isWhole === false) complete = false;
  }
  return { paths: [...paths], complete };
}

/** The literal that a text begins with. */
function literalOf(text: string): { readonly text: string; readonly isWhole: boolean } | null {
  const quote = text.charAt(0);
  if (quote !== '"' && quote !== "'" && quote !== "`") return null;
  const end = text.indexOf(quote, 1);
  const literal = text.slice(1, end);
  if (end === -1 || end > MAX_PATH_CHARS || literal.includes("\\") || literal.includes("\n")) return null;
  const rest = text.slice(end + 1).trimStart();
  const isWhole = (rest.startsWith(")") || rest.startsWith(",")) && !(quote === "`" && literal.includes("${"));
  return { text: isWhole ? literal : `${literal}…`, isWhole };
}
