import type { JsonObject } from "../json.ts";
import type { Era, Provider } from "./provider.ts";

/** Longest text kept, in UTF-16 units: a release's definitions may take megabytes. */
const MAX_KEPT_LENGTH = 262_144;

interface KeptText {
  readonly era: Era;
  readonly pageSize: number;
  readonly ttlMs: number;
  readonly serverInfo: Provider["serverInfo"];
  readonly text: string;
}

/** A list lives as long as the release that it lists, and its text with it. */
const kept = new WeakMap<Provider["tools"], readonly KeptText[]>();

/** True for a request of the tools that names no place in the list to begin at. */
export function isFirstPage(method: string, { cursor }: JsonObject): boolean {
  return method === "tools/list" && (cursor === undefined || cursor === null);
}

/**
 * The JSON text of the first page of `tools/list`, written once for a list: most clients ask for nothing else, and a list may be long.
 * `make` gives the shaped result where it is not known yet.
 */
export function firstPageText(era: Era, provider: Provider, pageSize: number, make: () => JsonObject): string {
  const { tools, ttlMs, serverInfo } = provider;
  const texts = kept.get(tools) ?? [];
  const found = texts.find(
    (known) =>
      known.era === era && known.pageSize === pageSize && known.ttlMs === ttlMs && known.serverInfo === serverInfo,
  );
  if (found !== undefined) return found.text;
  const text = JSON.stringify(make());
  // One for each era; a host that changes the rest from call to call gains nothing and keeps nothing.
  if (text.length <= MAX_KEPT_LENGTH) {
    kept.set(tools, [...texts.filter((known) => known.era !== era), { era, pageSize, ttlMs, serverInfo, text }]);
  }
  return text;
}
