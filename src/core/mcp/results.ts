import { isJsonObject, type JsonObject } from "../json.ts";
import type { Era, ListedTool, Provider } from "./provider.ts";
import { META_SERVER_INFO } from "./revisions.ts";

/** A result as the client's era wants it: modern ones carry `resultType` and say who answered. */
export function shapeResult(era: Era, provider: Provider, result: JsonObject): JsonObject {
  if (era === "legacy") return result;
  const meta = isJsonObject(result._meta) ? result._meta : {};
  return {
    resultType: "complete",
    ...result,
    _meta: { ...meta, [META_SERVER_INFO]: { ...provider.serverInfo } },
  };
}

/**
 * A result a client may keep for a while. Always `private`: what a client sees depends on its grants, and `public` lets caches share
 * an answer across access tokens.
 */
export function cacheable(era: Era, provider: Provider, result: JsonObject): JsonObject {
  return era === "legacy"
    ? result
    : { ...result, ttlMs: Math.max(0, Math.floor(provider.ttlMs)), cacheScope: "private" };
}

/** Legacy revisions allow only objects as `structuredContent`, so a schema of anything else is left out for them. */
export function listedTool(era: Era, tool: ListedTool): JsonObject {
  const { outputSchema, ...rest } = tool;
  if (outputSchema === undefined || (era === "legacy" && outputSchema.type !== "object")) return { ...rest };
  return { ...rest, outputSchema };
}
