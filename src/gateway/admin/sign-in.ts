import type { MiddlewareHandler } from "hono";
import { adminFailures, clientAddress } from "../auth/failures.ts";
import { constantTimeEqual } from "../auth/token.ts";
import type { AdminEnv } from "./environment.ts";
import { problemResponse } from "./problem.ts";

/** Any visible characters, as `ADMIN_TOKEN` may have; wider than the alphabet of client tokens. */
const BEARER = /^bearer +([\x21-\x7e]{1,512}) *$/i;

/**
 * Lets the holder of `ADMIN_TOKEN` in, and nobody while that is not set. Every failure is the same 401 `unauthorized`; an
 * address that fails too often is answered 429 `rate_limited`, even with the right token, until its minute has passed.
 */
export const requireAdmin: MiddlewareHandler<AdminEnv> = async (c, next) => {
  const { adminToken, authFailuresPerMinute } = c.get("settings");
  const address = clientAddress(c.req.raw.headers);
  const now = Date.now();
  const wait = adminFailures.retryAfter(address, authFailuresPerMinute, now);
  if (wait > 0) {
    return problemResponse(c, "rate_limited", {
      detail: "Too many failed sign-ins from this address.",
      headers: { "Retry-After": String(wait) },
    });
  }
  const presented = BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
  if (adminToken === null || presented === undefined || !constantTimeEqual(presented, adminToken)) {
    adminFailures.record(address, now);
    return problemResponse(c, "unauthorized");
  }
  c.set("actor", "admin-token");
  await next();
};
