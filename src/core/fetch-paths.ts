/** The call that can be read, from its parenthesis on. */
const CALL = "host.fetchOrigin(";
/** Other plain uses of the name: they fetch nothing. */
const HARMLESS = "host.memorySearch(";
/** Names by which a script gets at the function without such a call. */
const MENTION = /(?<![\p{ID_Continue}$])(?:host|fetchOrigin|globalThis|eval|Function|Reflect)(?![\p{ID_Continue}$])/gu;
const ESCAPE = /\\u(?:\{0*([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))/g;
/** Places named of one script. */
export const MAX_PATHS = 20;
/** Longest one that is named. */
const MAX_PATH_CHARS = 200;

/**
 * Where a script says it fetches: the literals that it gives to `host.fetchOrigin`, in the order of its text. A hint for whoever reviews it: a
 * script may make up addresses, all of them of its own publisher. Takes a time that depends on the length of the text alone.
 *
 * @returns `complete`: every mention of `host` is a plain call, each call names a whole address in a literal, and there are not more than 20.
 * A script that sets out to hide a call can.
 */
export function fetchPaths(source: string): { readonly paths: readonly string[]; readonly complete: boolean } {
  const paths = new Set<string>();
  let complete = !mentionsOtherwise(source);
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

/** Whether the function may be called otherwise than by what {@link CALL} finds: under another name, or as a computed member. */
function mentionsOtherwise(source: string): boolean {
  // A name may be written with escapes.
  const text = source.replace(ESCAPE, (_, braced?: string, plain?: string) => codePoint(braced ?? plain ?? ""));
  if (text !== source && text.split(CALL).length !== source.split(CALL).length) return true;
  for (const { 0: name, index } of text.matchAll(MENTION)) {
    if (name === "host" && (text.startsWith(CALL, index) || text.startsWith(HARMLESS, index))) continue;
    if (name === "fetchOrigin" && text.startsWith(CALL, index - "host.".length)) continue;
    return true;
  }
  return false;
}

function codePoint(hex: string): string {
  const value = Number.parseInt(hex, 16);
  return value > 0x10ffff ? "" : String.fromCodePoint(value);
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
