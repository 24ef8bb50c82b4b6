import { GatewayError } from "./errors.ts";

/**
 * The address of a request.
 *
 * @throws {GatewayError} `bad_header` where its `Host` header is no host: what that leaves is no address.
 */
export function urlOf({ url }: { readonly url: string }): URL {
  if (!URL.canParse(url)) throw new GatewayError("bad_header", { message: "The Host header must name a host." });
  return new URL(url);
}
