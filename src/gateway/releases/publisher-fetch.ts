import type { OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import { type Env, isService, readSettings } from "../env.ts";

/**
 * How the gateway reaches publishers: every fetch of discovery and of `host.fetchOrigin` goes through it. That is the network, except for
 * origins that `SERVICE_ORIGINS` binds, since Cloudflare refuses (error 1042) to fetch a Worker of the same account by its workers.dev
 * address. A service is asked exactly as the network would be. It may ignore the signal; the caller's time limits do not rely on it
 * (`fetchInsideOrigin`, `readBounded`).
 */
export function publisherFetch(env: Env): OriginFetcher {
  const answer = readSettings(env);
  const bound = answer.ok ? answer.settings.serviceOrigins : new Map<string, string>();
  return (url, init) => {
    const name = bound.size === 0 ? undefined : bound.get(new URL(url).origin);
    if (name === undefined) return fetch(url, init);
    const service = env[name];
    // Settings that were read once name what exists. Should it be gone, the network is no substitute.
    if (!isService(service)) return Promise.reject(new Error(`There is no service binding ${name}.`));
    return service.fetch(url, init);
  };
}
