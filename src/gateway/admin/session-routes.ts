import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { ROLES } from "../registry/operators.ts";
import { createSession, endSession } from "../registry/sign-ins.ts";
import { attempt, judgeToken, type SignedIn } from "./credentials.ts";
import { type AdminContext, type AdminEnv, actingAs, actingNow } from "./environment.ts";
import { Problem, problemResponse } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { csrfTokenOf, newSessionSecret, sessionHashes, writeSessionCookie } from "./session-cookie.ts";
import { body, json, Moment, OperatorId, problems } from "./shapes.ts";
import { databaseErrors, isSameOrigin, throttledResponse } from "./sign-in.ts";

const MAX_SIGN_IN_BYTES = 4_096;
/** Access itself answers this path, on the host of each application. */
const ACCESS_LOGOUT = "/cdn-cgi/access/logout";
const TOKEN_SENTENCE = "must be 1 to 512 visible ASCII characters";

const SessionBody = z
  .object({
    operator: z.object({
      id: OperatorId.nullable().openapi({ description: "null: signed in with ADMIN_TOKEN." }),
      name: z.string(),
      role: z.enum(ROLES),
    }),
    csrfToken: z.string().nullable().openapi({
      description:
        "To be sent as `X-CSRF-Token` with every POST, PUT, PATCH and DELETE; null: a bearer token needs none.",
    }),
    expiresAt: Moment.nullable().openapi({ description: "null: the credential does not expire." }),
    accessLogout: z.string().nullable().openapi({
      description:
        "Where on this host Cloudflare Access ends its own session, which signing out here does not end: whoever uses the browser next is let in by it again. null: Access lets nobody in here.",
      example: ACCESS_LOGOUT,
    }),
  })
  .openapi("Session");

const SignIn = z
  .strictObject({
    token: z.string({ error: TOKEN_SENTENCE }).regex(/^[\x21-\x7e]{1,512}$/, { error: TOKEN_SENTENCE }),
  })
  .openapi("SignIn");

const tags = ["session"];

const open = adminRoute({
  role: "anyone",
  method: "post",
  path: "/session",
  tags,
  summary: "Sign a browser in",
  description:
    "With an operator's token, or ADMIN_TOKEN until it is retired. The session's cookie is HttpOnly and lasts 12 hours, or as long as the token. Problems: `bad_request`, `unauthorized`, `rate_limited`, `csrf` (a page of another web origin asks).",
  request: { body: body(SignIn) },
  responses: { 201: json("Who is signed in.", SessionBody), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/session",
  tags,
  summary: "Read who is signed in, by whatever credential",
  responses: { 200: json("Who is signed in.", SessionBody), ...problems },
});

const close = adminRoute({
  role: "viewer",
  method: "delete",
  path: "/session",
  tags,
  summary: "Sign a browser out",
  description: "Without a session, as with a bearer token, nothing ends.",
  responses: { 204: { description: "The session has ended." }, ...problems },
});

/** To be called before sign-in is required of what follows. */
export function addSignInRoute(app: OpenAPIHono<AdminEnv>): void {
  app.use("/session", async (c, next) => {
    if (c.req.method !== "POST") return next();
    if (isSameOrigin(c) === false) return problemResponse(c, "csrf");
    return bodyLimit({ maxSize: MAX_SIGN_IN_BYTES, onError: tooLarge })(c, next);
  });
  app.openapi(open, async (c) => {
    const { token } = c.req.valid("json");
    const registry = c.get("registry");
    const settings = c.get("settings");
    const judge = { registry, settings, now: Date.now() };
    const found = await databaseErrors(() =>
      attempt(token, c.req.raw.headers, settings, () => judgeToken(token, judge)),
    );
    if (found === null) throw new Problem("unauthorized");
    if ("wait" in found) return throttledResponse(c, found) as never;
    const secret = newSessionSecret();
    const hashes = await sessionHashes(secret, settings.adminToken);
    const sha256 = found.token === null ? (hashes.ofBootstrap ?? hashes.ofOperator) : hashes.ofOperator;
    const { id, expiresAt } = await createSession(registry, actingAs(c, found.actor), sha256, found.token);
    writeSessionCookie(c, secret, Math.floor((expiresAt - Date.now()) / 1000));
    return c.json(await showSession(c, { ...found, ambient: secret, sessionId: id, expiresAt }), 201);
  });
}

export function addSessionRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(read, async (c) => c.json(await showSession(c, c.get("signedIn")), 200));
  app.openapi(close, async (c) => {
    const { sessionId } = c.get("signedIn");
    if (sessionId !== null) {
      await endSession(c.get("registry"), actingNow(c), sessionId);
      writeSessionCookie(c, null, 0);
    }
    return c.body(null, 204);
  });
}

async function showSession(c: AdminContext, { operator: { id, name, role }, ambient, expiresAt }: SignedIn) {
  const isBehindAccess = c.get("settings").access !== null && c.req.header("Cf-Access-Jwt-Assertion") !== undefined;
  return {
    operator: { id, name, role },
    csrfToken: ambient === null ? null : await csrfTokenOf(ambient),
    expiresAt,
    accessLogout: isBehindAccess ? ACCESS_LOGOUT : null,
  };
}

function tooLarge(): never {
  throw new Problem("too_large", { detail: `The body has more than ${MAX_SIGN_IN_BYTES} bytes.` });
}
