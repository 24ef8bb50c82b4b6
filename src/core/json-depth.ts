import type { Json } from "./json.ts";

/** True when no value inside lies deeper than `limit` containers; walks without recursion, so no input overflows the stack. */
export function isWithinDepth(value: Json, limit: number): boolean {
  const pending: { value: Json; depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth === limit) return false;
    for (const child of Object.values(next.value)) pending.push({ value: child, depth: next.depth + 1 });
  }
  return true;
}
