import type { OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import type { Env } from "../env.ts";

/**
 * How the gateway reaches publishers: every fetch of discovery and of `host.fetchOrigin` goes through it. It is the network; publishers
 * that must be reached another way (a service binding) are told apart here, by their origin.
 */
export function publisherFetch(_env: Env): OriginFetcher {
  return (url, init) => fetch(url, init);
}
