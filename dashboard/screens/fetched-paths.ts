const CALL = /\bfetchOrigin\b/g;
const LITERAL = /\bfetchOrigin\s*\(\s*(?:"([^"\\\n]{1,300})"|'([^'\\\n]{1,300})'|`([^`\\\n]{1,300})`)/g;
const MAX_PATHS = 100;

/**
 * How often a source names `fetchOrigin`, and the paths that stand as text in a call of it. A reader's help, not a bound: code may
 * build a path or hide the name.
 */
export function fetchedPaths(source: string): { readonly calls: number; readonly paths: readonly string[] } {
  const paths = new Set<string>();
  for (const match of source.matchAll(LITERAL)) {
    paths.add(match[1] ?? match[2] ?? match[3] ?? "");
    if (paths.size >= MAX_PATHS) break;
  }
  return { calls: [...source.matchAll(CALL)].length, paths: [...paths] };
}
