import type { OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import { type Env, isService, readSettings, type Settings } from "../env.ts";
import { fetchHostedSite } from "../publishing/site-fetch.ts";

/**
 * How the gateway reaches publishers: every fetch of discovery and of `host.fetchOrigin` goes through it. That is the network, except for
 * origins that `SERVICE_ORIGINS` binds, since Cloudflare refuses (error 1042) to fetch a Worker of the same account by its workers.dev
 * address. A service is asked exactly as the network would be. It may ignore the signal; the caller's time limits do not rely on it
 * (`fetchInsideOrigin`, `readBounded`). A site that this gateway hosts is read without any fetch.
 */
export function publisherFetch(env: Env): (...request: Parameters<OriginFetcher>) => Promise<Response> {
  const answer = readSettings(env);
  if (!answer.ok) return () => Promise.reject(new Error("A setting of the gateway is not valid."));
  const { settings } = answer;
  return async (url, init) =>
    (await fetchHostedSite(env, settings, url, init)) ?? fetchElsewhere(env, settings, url, init);
}

function fetchElsewhere(env: Env, { serviceOrigins }: Settings, url: string, init: RequestInit): Promise<Response> {
  const name = serviceOrigins.size === 0 ? undefined : serviceOrigins.get(new URL(url).origin);
  if (name === undefined) return fetch(url, init);
  const service = env[name];
  // Settings that were read once name what exists. Should it be gone, the network is no substitute.
  if (!isService(service)) return Promise.reject(new Error(`There is no service binding ${name}.`));
  return service.fetch(url, init);
}
