import { GatewayError } from "./errors.ts";
import type { GatewayMiddleware } from "./request-context.ts";
import { urlOf } from "./request-url.ts";

/** With `ADMIN_HOST` set, the operators' addresses exist on that host alone, so that they share a web origin with nothing else. */
export const adminHost: GatewayMiddleware = async (c, next) => {
  const host = c.get("settings").adminHost;
  if (host !== null && urlOf(c.req).host !== host) throw new GatewayError("not_found");
  await next();
};
