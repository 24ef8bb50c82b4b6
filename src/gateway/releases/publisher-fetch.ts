import type { Env } from "../env.ts";

/** How the gateway reaches publishers: every fetch of discovery and of `host.fetchOrigin` goes through it. */
export type PublisherFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** The network. Publishers that must be reached another way (a service binding) are told apart here, by their origin. */
export function publisherFetch(_env: Env): PublisherFetch {
  return (input, init) => fetch(input, init);
}
