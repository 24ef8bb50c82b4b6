import type { MiddlewareHandler } from "hono";
import { adminFailures, clientAddress } from "../auth/failures.ts";
import { constantTimeEqual } from "../auth/token.ts";
import type { Settings } from "../env.ts";
import type { AdminEnv } from "./environment.ts";
import { problemResponse } from "./problem.ts";

/** Any visible characters, as `ADMIN_TOKEN` may have; wider than the alphabet of client tokens. */
const BEARER = /^bearer +([\x21-\x7e]{1,512}) *$/i;

/** Judges a presented admin token, and counts a failure against its address; `wait`: seconds until the address may try again. */
export function signIn(
  presented: string | undefined,
  headers: Headers,
  { adminToken, authFailuresPerMinute }: Settings,
): { readonly admitted: boolean; readonly wait: number } {
  const address = clientAddress(headers);
  const now = Date.now();
  const wait = adminFailures.retryAfter(address, authFailuresPerMinute, now);
  if (wait > 0) return { admitted: false, wait };
  const admitted = adminToken !== null && presented !== undefined && constantTimeEqual(presented, adminToken);
  if (!admitted) adminFailures.record(address, now);
  return { admitted, wait: 0 };
}

/**
 * Lets the holder of `ADMIN_TOKEN` in, and nobody while that is not set. Every failure is the same 401 `unauthorized`; an
 * address that fails too often is answered 429 `rate_limited`, even with the right token, until its minute has passed.
 */
export const requireAdmin: MiddlewareHandler<AdminEnv> = async (c, next) => {
  const presented = BEARER.exec(c.req.header("Authorization") ?? "")?.[1];
  const { admitted, wait } = signIn(presented, c.req.raw.headers, c.get("settings"));
  if (wait > 0) {
    return problemResponse(c, "rate_limited", {
      detail: "Too many failed sign-ins from this address.",
      headers: { "Retry-After": String(wait) },
    });
  }
  if (!admitted) return problemResponse(c, "unauthorized");
  c.set("actor", "admin-token");
  await next();
};
