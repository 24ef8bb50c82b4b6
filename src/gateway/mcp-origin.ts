import { type CanonicalOrigin, OriginError, type OriginRules, parseOrigin, parseOriginPath } from "../core/origin.ts";
import type { Settings } from "./env.ts";
import { GatewayError } from "./errors.ts";
import { LruCache } from "./lru.ts";
import { urlOf } from "./request-url.ts";

/** Which origin a URL names, for the URLs of this isolate's callers; what they name never changes under the same settings. */
const known = new WeakMap<Settings, LruCache<string, CanonicalOrigin>>();
const MAX_KNOWN = 2_000;
const MAX_KNOWN_CHARS = 512;

/**
 * The publisher that a request to this URL is for.
 *
 * @throws {GatewayError} as {@link requestedOrigin}.
 */
export function originOfRequest(url: string, settings: Settings): CanonicalOrigin {
  const origins = known.get(settings) ?? new LruCache<string, CanonicalOrigin>(MAX_KNOWN);
  known.set(settings, origins);
  let origin = origins.get(url);
  if (origin === undefined) {
    const parsed = urlOf({ url });
    origin = requestedOrigin(parsed, originRules(settings, parsed));
    if (url.length <= MAX_KNOWN_CHARS) origins.set(url, origin);
  }
  return origin;
}

/** What may be an origin on this gateway; its own hosts, the one of the request included, never are, but the sites on its public ones. */
export function originRules(settings: Settings, requestUrl: URL): OriginRules {
  const rules = settledRules(settings);
  return { ...rules, ownHosts: [...rules.ownHosts, requestUrl.host] };
}

/** As {@link originRules}, where there is no request. */
export function settledRules({ allowLoopbackOrigins, publicHosts, adminHost }: Settings): OriginRules {
  return {
    allowLoopbackHttp: allowLoopbackOrigins,
    ownHosts: publicHosts,
    sitesOn: publicHosts.filter((host) => host !== adminHost),
  };
}

/**
 * The publisher that a request names: `?origin=<url-encoded origin>` or `/mcp/<host[:port]>[/<base>]`, the same resource. Both may be
 * given, and `origin` more than once, if all say the same.
 *
 * @throws {GatewayError} `missing_origin`, `bad_origin`, `origin_conflict`; `not_found` where the router read `/mcp` out of an encoding.
 */
export function requestedOrigin(url: URL, rules: OriginRules): CanonicalOrigin {
  if (!/^\/mcp(?:\/|$)/.test(url.pathname)) throw new GatewayError("not_found");
  const named: CanonicalOrigin[] = [];
  try {
    // The raw path: an encoded separator must not become a real one.
    const path = url.pathname.slice("/mcp/".length);
    if (path !== "") named.push(parseOriginPath(path, rules));
    for (const value of url.searchParams.getAll("origin")) if (value !== "") named.push(parseOrigin(value, rules));
  } catch (error) {
    if (error instanceof OriginError) throw new GatewayError("bad_origin", { message: error.message });
    throw error;
  }
  const [origin, ...others] = named;
  if (origin === undefined) throw new GatewayError("missing_origin");
  if (others.some((other) => other !== origin)) throw new GatewayError("origin_conflict");
  return origin;
}
