import type { Json } from "../json.ts";
import { isJsonObject } from "../json.ts";
import type { SandboxLimits } from "../limits.ts";
import { exceedsBytes } from "./outcome-text.ts";

export type SearchRequest =
  | { readonly kind: "search"; readonly query: string; readonly k: number }
  /** Returned to the guest as `{error}`. */
  | { readonly kind: "bad_query"; readonly error: string }
  /** Thrown in the guest. */
  | { readonly kind: "too_large"; readonly error: string };

const DEFAULT_HITS = 5;
const MAXIMUM_HITS = 10;

/** Reads the untrusted arguments of `host.memorySearch`: `(q)`, `(q, k)`, `({q, k})`, `({q, k}, k2)`, where k2 wins. */
export function readSearchArguments(parameters: Json | undefined, limits: SandboxLimits): SearchRequest {
  const [first, second] = Array.isArray(parameters) ? (parameters as readonly Json[]) : [];
  const query = isJsonObject(first) ? first.q : first;
  const k = second !== undefined || !isJsonObject(first) ? second : first.k;
  if (typeof query !== "string" || query.trim() === "") {
    return { kind: "bad_query", error: "memorySearch: the query (q) must be a non-empty string" };
  }
  if (exceedsBytes(query, limits.memorySearchQueryBytes)) {
    return { kind: "too_large", error: `memorySearch: the query exceeds ${limits.memorySearchQueryBytes} bytes` };
  }
  return { kind: "search", query, k: hitCount(k) };
}

function hitCount(k: Json | undefined): number {
  if (typeof k !== "number" || !Number.isFinite(k)) return DEFAULT_HITS;
  return Math.min(MAXIMUM_HITS, Math.max(1, Math.floor(k)));
}
