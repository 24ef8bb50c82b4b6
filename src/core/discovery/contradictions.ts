import type { Rejection } from "./release.ts";

/** Names what `llms.txt` and `index.json` contradict each other in; `null`: this is no contradiction. */
export function contradictionKey({ subject, scope, name, message, contradiction }: Rejection): string | null {
  if (contradiction === undefined) return null;
  const { declared, tool, recipe } = contradiction;
  return JSON.stringify([subject, scope, name, message, declared, tool, recipe]);
}

/** Marks what the discovery before found just so: what a deploy leaves behind is gone by then. */
export function markLasting(rejected: readonly Rejection[], before: readonly Rejection[]): readonly Rejection[] {
  const seen = new Set(before.map(contradictionKey));
  return rejected.map((one) => {
    const { contradiction } = one;
    if (contradiction === undefined || !seen.has(contradictionKey(one))) return one;
    return { ...one, contradiction: { ...contradiction, isLasting: true } };
  });
}
