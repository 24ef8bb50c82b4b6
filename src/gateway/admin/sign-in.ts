import type { MiddlewareHandler } from "hono";
import { constantTimeEqual } from "../auth/token.ts";
import { inBackground } from "../background.ts";
import { type Env, readSettings } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { describeFailure } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { isDatabaseDown } from "../registry/database-failure.ts";
import { isUseDue, noteTokenUse } from "../registry/operator-tokens.ts";
import { urlOf } from "../request-url.ts";
import { type AccessVerifier, accessVerifier } from "./access-jwt.ts";
import {
  attempt,
  type ENDED,
  type Judge,
  judgeAccess,
  judgeSession,
  judgeToken,
  type SignedIn,
  type Throttled,
} from "./credentials.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { type ProblemDetails, problemResponse } from "./problem.ts";
import { csrfTokenOf, readSessionCookie } from "./session-cookie.ts";

/** Any visible characters, as `ADMIN_TOKEN` may have; wider than the alphabet of tokens of ours. */
const BEARER = /^bearer +([\x21-\x7e]{1,512}) *$/i;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Lets operators in: by bearer token, else by the session's cookie, else by Cloudflare Access. Who is suspended, or whose token ended, is
 * out at the next request. Every failure is the same 401 `unauthorized`; an address that fails too often is answered 429 `rate_limited`.
 * What a browser sends along by itself changes nothing without the proof that a page of the console asks: 403 `csrf`.
 *
 * @param verify of Cloudflare Access.
 */
export function requireOperator(verify: AccessVerifier = accessVerifier()): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    const found = await databaseErrors(() => identify(c, verify));
    if (found === null) return problemResponse(c, "unauthorized", isByAccess(c) ? REFUSED_ACCESS : {});
    if ("wait" in found) return throttledResponse(c, found);
    if (found.ambient !== null && !SAFE_METHODS.has(c.req.method) && !(await isFromConsole(c, found.ambient))) {
      return problemResponse(c, "csrf", {
        detail: "Send the csrfToken of GET /session as X-CSRF-Token, from a page of the console's own origin.",
      });
    }
    c.set("signedIn", found);
    c.set("isStillSignedIn", async () => {
      const again = await databaseErrors(() => identify(c, verify));
      return again !== null && "actor" in again && again.actor === found.actor;
    });
    noteUse(c, found);
    return next();
  };
}

/** The same whatever is amiss, so that it tells no stranger who is an operator. */
const REFUSED_ACCESS: ProblemDetails = {
  detail: "Cloudflare Access let you through, but its assertion names no operator of this gateway.",
  errors: [
    {
      field: "Cf-Access-Jwt-Assertion",
      message: "must be of the application ACCESS_AUD and name the accessEmail of an active operator",
    },
  ],
};

/** Whether, where nobody is let in, it is Cloudflare Access's word that did not do. */
function isByAccess(c: AdminContext): boolean {
  if (c.get("settings").access === null || c.req.header("Authorization") !== undefined) return false;
  return c.req.header("Cf-Access-Jwt-Assertion") !== undefined;
}

async function identify(c: AdminContext, verify: AccessVerifier): Promise<SignedIn | Throttled | null> {
  const settings = c.get("settings");
  const judge: Judge = { registry: openRegistry(c.env.DB), settings, now: Date.now() };
  const tried = (credential: string, judged: () => Promise<SignedIn | typeof ENDED | null>) =>
    attempt(credential, c.req.raw.headers, settings, judged);
  const header = c.req.header("Authorization");
  if (header !== undefined) {
    const presented = BEARER.exec(header)?.[1];
    return tried(presented ?? header, async () => (presented === undefined ? null : judgeToken(presented, judge)));
  }
  const cookie = readSessionCookie(c);
  const jwt = settings.access === null ? undefined : c.req.header("Cf-Access-Jwt-Assertion");
  if (cookie !== null) {
    // A session that ended need not stand in the way of Access.
    const session = await tried(cookie, async () => judgeSession(cookie, judge));
    if (session !== null || jwt === undefined) return session;
  }
  return jwt === undefined ? null : tried(jwt, async () => judgeAccess(jwt, verify, judge));
}

/** Whether a page of the console's own web origin makes the request, and was told the credential's CSRF token. */
async function isFromConsole(c: AdminContext, ambient: string): Promise<boolean> {
  const token = c.req.header("X-CSRF-Token");
  if (token === undefined || !constantTimeEqual(token, await csrfTokenOf(ambient))) return false;
  return isSameOrigin(c) === true;
}

/** Whether the browser says that a page of this web origin asks; `null`: nothing says so, as from a script. */
export function isSameOrigin(c: AdminContext): boolean | null {
  // Only browsers set it, and behind whatever proxy they know where they are.
  const site = c.req.header("Sec-Fetch-Site");
  if (site !== undefined) return site === "same-origin";
  const origin = c.req.header("Origin");
  return origin === undefined ? null : origin === urlOf(c.req).origin;
}

export function throttledResponse(c: AdminContext, { wait }: Throttled): Response {
  return problemResponse(c, "rate_limited", {
    detail: "Too many failed sign-ins from this address.",
    headers: { "Retry-After": String(wait) },
  });
}

/** Whether a token is that of an operator, for what is shown to operators beside the admin API. */
export async function isOperatorsToken(presented: string, headers: Headers, env: Env): Promise<boolean> {
  const read = readSettings(env);
  if (!read.ok) return false;
  const judge = { registry: openRegistry(env.DB), settings: read.settings, now: Date.now() };
  const found = await databaseErrors(() =>
    attempt(presented, headers, read.settings, () => judgeToken(presented, judge)),
  );
  return found !== null && !("wait" in found);
}

/** Nobody is let in on a guess: without the database there is no answer. */
export async function databaseErrors<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (isDatabaseDown(cause)) throw new GatewayError("policy_unavailable", { cause });
    throw cause;
  }
}

function noteUse(c: AdminContext, { token }: SignedIn): void {
  const now = Date.now();
  if (token === null || !isUseDue(token.lastUsedAt, now)) return;
  const noted = noteTokenUse(openRegistry(c.env.DB), token.tokenId, now).catch((error: unknown) => {
    console.warn(JSON.stringify({ event: "token_use_not_noted", error: describeFailure(error) }));
  });
  inBackground(c, noted);
}
