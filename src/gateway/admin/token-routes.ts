import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { createToken, tokenSha256 } from "../auth/token.ts";
import { isCreatedKey } from "../registry/page.ts";
import {
  type ClientToken,
  createClientToken,
  createInspectionToken,
  listClientTokens,
  MAX_INSPECTION_TOKENS,
  revokeClientToken,
} from "../registry/tokens.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import { created } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { badMember } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { ClientId, json, Moment, Name, problems, TokenId } from "./shapes.ts";

const MAX_LIFETIME_MS = 10 * 365 * 24 * 3600 * 1000;
const EXPIRY_SENTENCE = "must be null or epoch milliseconds in the future, at most ten years ahead";

const TokenBody = z
  .object({
    id: TokenId,
    clientId: ClientId,
    status: z.enum(["active", "expired", "revoked"]),
    createdAt: Moment,
    expiresAt: Moment.nullable(),
    revokedAt: Moment.nullable(),
    imported: z.boolean().openapi({
      description: "Issued by another gateway and moved in by its hash: replace it, since it may be easier to guess.",
    }),
    kind: z.enum(["client", "inspection"]).openapi({
      description: "inspection: an operator's own, for five minutes, to see what the client sees.",
    }),
    label: z.string().nullable(),
    lastUsedAt: Moment.nullable().openapi({ description: "About a minute late; null: never." }),
  })
  .openapi("ClientToken");

const IssuedToken = TokenBody.extend({
  token: z.string().openapi({ description: "The bearer token. Shown this once; only its SHA-256 is kept." }),
}).openapi("IssuedToken");

const NewToken = z
  .strictObject({
    expiresAt: z.int({ error: EXPIRY_SENTENCE }).nullable().optional(),
    label: Name.optional().openapi({ description: "What you call it, such as where it is used." }),
  })
  .openapi("NewToken");

const ofClient = z.object({ id: ClientId.openapi({ param: { name: "id", in: "path" } }) });
const ofToken = ofClient.extend({ tokenId: TokenId.openapi({ param: { name: "tokenId", in: "path" } }) });
const tags = ["tokens"];

const create = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/clients/{id}/tokens",
  tags,
  summary: "Issue a token",
  description:
    "A client may hold several, for overlapping rotation. Problems: `bad_request`, `not_found`, `too_many_tokens` (50 usable ones).",
  request: {
    params: ofClient,
    body: { required: false, content: { "application/json": { schema: NewToken } } },
  },
  responses: { 201: json("The token, shown once.", IssuedToken), ...problems },
});

const inspect = adminRoute({
  role: "admin",
  method: "post",
  path: "/clients/{id}/inspection-tokens",
  tags,
  summary: "Issue a token to see for five minutes what a client sees",
  description: `For calls at \`/mcp\`: they are the client's own, count against its limits, and are answered with \`Server-Timing\`. The audit log keeps who had it. Problems: \`not_found\`, \`bad_state\` (suspended), \`too_many_tokens\` (${MAX_INSPECTION_TOKENS} at once).`,
  request: { params: ofClient },
  creates: true,
  responses: { 201: json("The token, shown once.", IssuedToken), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/clients/{id}/tokens",
  tags,
  summary: "List a client's tokens, oldest first",
  description: "Neither tokens nor hashes. Problems: `not_found`.",
  request: { params: ofClient, query: PageQuery },
  responses: { 200: json("A page of tokens.", pageOf("ClientTokenPage", TokenBody)), ...problems },
});

const revoke = adminRoute({
  role: "admin",
  method: "delete",
  path: "/clients/{id}/tokens/{tokenId}",
  tags,
  summary: "Revoke a token",
  description:
    "In force within 5 seconds. Revoking again answers 204 too and changes nothing. Problems: `not_found`, also for another client's token.",
  request: { params: ofToken },
  responses: { 204: { description: "The token is revoked." }, ...problems },
});

export function addTokenRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, async (c) => {
    const now = Date.now();
    const expiresAt = c.req.valid("json").expiresAt ?? null;
    if (expiresAt !== null && (expiresAt <= now || expiresAt > now + MAX_LIFETIME_MS)) {
      throw badMember("expiresAt", EXPIRY_SENTENCE);
    }
    const token = createToken();
    const stored = { tokenSha256: await tokenSha256(token), expiresAt, label: c.req.valid("json").label ?? null };
    const { id } = c.req.valid("param");
    return created(
      c,
      (acting) => createClientToken(c.get("registry"), acting, id, stored),
      (row) => ({ ...showToken(row), token }),
      { isSecret: true },
    );
  });
  app.openapi(inspect, async (c) => {
    const token = createToken();
    const sha256 = await tokenSha256(token);
    const { id } = c.req.valid("param");
    return created(
      c,
      (acting) => createInspectionToken(c.get("registry"), acting, id, sha256),
      (row) => ({ ...showToken(row), token }),
      { isSecret: true },
    );
  });
  app.openapi(list, async (c) => {
    const request = await pageRequest(c, c.req.valid("query"), isCreatedKey);
    const page = await listClientTokens(c.get("registry"), c.req.valid("param").id, Date.now(), request);
    return c.json(await pageBody(c, page, showToken), 200);
  });
  app.openapi(revoke, async (c) => {
    const { id, tokenId } = c.req.valid("param");
    await revokeClientToken(c.get("registry"), actingNow(c), id, tokenId);
    return c.body(null, 204);
  });
}

function showToken(token: ClientToken) {
  return { ...token };
}
