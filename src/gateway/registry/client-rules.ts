import { asc, eq } from "drizzle-orm";
import { mutate } from "./audit.ts";
import { getClient, requireOrigins } from "./clients.ts";
import { type Acting, type Registry, rowsOf } from "./database.ts";
import { clientLimits, clientTools } from "./schema.ts";

/** Which tools of one origin a client may see. */
export interface OriginTools {
  readonly originId: string;
  /** Public names; only these, or `null`: every tool that is not denied. */
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

/** Calls a minute of a client on one origin, or of one of its tools. */
export interface OriginLimit {
  readonly originId: string;
  /** Public name; `null`: all requests to the origin. */
  readonly tool: string | null;
  /** `0` blocks. */
  readonly rpm: number;
}

/** In place of a name: there is a list of allowed tools, though it may be empty. No tool has this name. */
const LIST_MARK = "";

/** In order of origin. @throws RegistryError `not_found` (no such client). */
export async function listClientTools(registry: Registry, clientId: string): Promise<readonly OriginTools[]> {
  await getClient(registry, clientId);
  return toolsOf(registry, clientId);
}

async function toolsOf(registry: Registry, clientId: string): Promise<readonly OriginTools[]> {
  const rows = await registry
    .select()
    .from(clientTools)
    .where(eq(clientTools.clientId, clientId))
    .orderBy(asc(clientTools.originId), asc(clientTools.effect), asc(clientTools.tool));
  return [...Map.groupBy(rows, ({ originId }) => originId)].map(([originId, own]) => {
    const named = (wanted: string) => own.filter(({ effect }) => effect === wanted).map(({ tool }) => tool);
    const allow = named("allow");
    return {
      originId,
      allow: allow.length === 0 ? null : allow.filter((tool) => tool !== LIST_MARK),
      deny: named("deny"),
    };
  });
}

/**
 * Replaces all rules of a client; where nothing differs, nothing is written.
 *
 * @param wanted each origin once; one with neither list is the same as none.
 * @throws RegistryError `not_found` (no such client), `unknown_origin`.
 */
export function replaceClientTools(
  registry: Registry,
  acting: Acting,
  clientId: string,
  wanted: readonly OriginTools[],
): Promise<readonly OriginTools[]> {
  return mutate(registry, acting, async () => {
    await getClient(registry, clientId);
    // Also of one that says nothing: who errs in an id must not take all rules away.
    await requireOrigins(registry, idsOf(wanted), ruleField);
    const rules = wanted
      .filter(({ allow, deny }) => allow !== null || deny.length > 0)
      .map(({ originId, allow, deny }) => ({ originId, allow: allow && inOrder(allow), deny: inOrder(deny) }))
      .sort((a, b) => compare(a.originId, b.originId));
    if (JSON.stringify(rules) === JSON.stringify(await toolsOf(registry, clientId))) return { result: rules };
    const rows = rules.flatMap(({ originId, allow, deny }) => {
      const named = (effect: "allow" | "deny", tools: readonly string[]) =>
        tools.map((tool) => ({ clientId, originId, effect, tool }));
      return [...(allow === null ? [] : named("allow", [LIST_MARK, ...allow])), ...named("deny", deny)];
    });
    return {
      result: rules,
      writes: [
        registry.delete(clientTools).where(eq(clientTools.clientId, clientId)),
        registry.insert(clientTools).select(rowsOf(clientTools, rows)),
      ],
      audit: { action: "client.tools", subject: clientId, detail: { tools: rules } },
    };
  });
}

/** In order of origin, the origin's own before those of its tools. @throws RegistryError `not_found` (no such client). */
export async function listClientLimits(registry: Registry, clientId: string): Promise<readonly OriginLimit[]> {
  await getClient(registry, clientId);
  return limitsOf(registry, clientId);
}

async function limitsOf(registry: Registry, clientId: string): Promise<readonly OriginLimit[]> {
  const rows = await registry
    .select()
    .from(clientLimits)
    .where(eq(clientLimits.clientId, clientId))
    .orderBy(asc(clientLimits.originId), asc(clientLimits.tool));
  return rows.map(({ originId, tool, rpm }) => ({ originId, tool: tool === "" ? null : tool, rpm }));
}

/**
 * Replaces all limits of a client on origins and tools; where nothing differs, nothing is written.
 *
 * @param wanted each pair of origin and tool once.
 * @throws RegistryError `not_found` (no such client), `unknown_origin`.
 */
export function replaceClientLimits(
  registry: Registry,
  acting: Acting,
  clientId: string,
  wanted: readonly OriginLimit[],
): Promise<readonly OriginLimit[]> {
  return mutate(registry, acting, async () => {
    await getClient(registry, clientId);
    await requireOrigins(registry, idsOf(wanted), ruleField);
    const limits = wanted
      .map(({ originId, tool, rpm }) => ({ originId, tool, rpm }))
      .sort((a, b) => compare(a.originId, b.originId) || compare(a.tool ?? "", b.tool ?? ""));
    if (JSON.stringify(limits) === JSON.stringify(await limitsOf(registry, clientId))) return { result: limits };
    const rows = limits.map(({ originId, tool, rpm }) => ({ clientId, originId, tool: tool ?? "", rpm }));
    return {
      result: limits,
      writes: [
        registry.delete(clientLimits).where(eq(clientLimits.clientId, clientId)),
        registry.insert(clientLimits).select(rowsOf(clientLimits, rows)),
      ],
      audit: { action: "client.limits", subject: clientId, detail: { limits } },
    };
  });
}

function idsOf(rules: readonly { readonly originId: string }[]): readonly string[] {
  return rules.map(({ originId }) => originId);
}

const ruleField = (position: number) => `items.${position}.originId`;

/** As the database orders text. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function inOrder(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort(compare);
}
