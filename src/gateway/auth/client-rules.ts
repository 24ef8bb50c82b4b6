import type { ToolRules } from "../../core/catalog.ts";
import { LruCache } from "../lru.ts";

/** What an operator decided of one client on one origin, beyond the grant. */
export interface ClientRules {
  /** `null`: every tool may be seen. */
  readonly tools: ToolRules | null;
  /** `null`: only the client's own limits count. */
  readonly limits: OriginLimits | null;
}

/** Calls a minute of one client on one origin; `0` blocks. */
export interface OriginLimits {
  /** All requests to the origin together; `null`: no limit. */
  readonly rpm: number | null;
  /** Calls of one tool, by public name. */
  readonly byTool: ReadonlyMap<string, number>;
}

/** The rows of `client_tools` and `client_limits` of one client and origin in a fixed order, as JSON: `[["deny","x"],…]`, `[["",60],…]`. */
export interface RuleTexts {
  readonly tools: string;
  readonly limits: string;
}

const NO_ROWS = "[]";
/** Characters of rules whose meaning is kept. */
const KEPT_LENGTH = 2 * 1_048_576;

const read = new LruCache<string, { readonly rules: ClientRules; readonly length: number }>(
  KEPT_LENGTH,
  ({ length }) => length,
);

/**
 * What the rows mean; the same object again while an origin's rows say the same, since what a client was admitted to is kept by it.
 * `null`: there are no rows.
 */
export function readRules(originId: string, { tools, limits }: RuleTexts): ClientRules | null {
  if (tools === NO_ROWS && limits === NO_ROWS) return null;
  const key = `${originId} ${tools} ${limits}`;
  const known = read.get(key);
  if (known !== undefined) return known.rules;
  const rules: ClientRules = { tools: readTools(tools), limits: readLimits(limits) };
  read.set(key, { rules, length: key.length });
  return rules;
}

function readTools(text: string): ToolRules | null {
  if (text === NO_ROWS) return null;
  const rows = JSON.parse(text) as [effect: "allow" | "deny", tool: string][];
  const named = (wanted: "allow" | "deny") => rows.filter(([effect]) => effect === wanted).map(([, tool]) => tool);
  const allow = named("allow");
  return { allow: allow.length === 0 ? null : new Set(allow), deny: new Set(named("deny")) };
}

function readLimits(text: string): OriginLimits | null {
  if (text === NO_ROWS) return null;
  const byTool = new Map(JSON.parse(text) as [tool: string, rpm: number][]);
  const rpm = byTool.get("") ?? null;
  byTool.delete("");
  return { rpm, byTool };
}
