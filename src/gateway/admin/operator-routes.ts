import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { DAY_MS } from "../../core/durations.ts";
import { createToken, tokenSha256 } from "../auth/token.ts";
import {
  createOperatorToken,
  listOperatorTokens,
  MAX_OPERATOR_TOKENS,
  type OperatorToken,
  revokeOperatorToken,
} from "../registry/operator-tokens.ts";
import {
  createOperator,
  getOperator,
  listOperators,
  type Operator,
  ROLES,
  updateOperator,
} from "../registry/operators.ts";
import { isCreatedKey } from "../registry/page.ts";
import { type AdminContext, type AdminEnv, actingNow } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { badMember } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { body, json, Moment, Name, OperatorId, OperatorTokenId, problems, queryWord, row, Sought } from "./shapes.ts";

const MAX_LIFETIME_MS = 366 * DAY_MS;
const DEFAULT_LIFETIME_MS = 90 * DAY_MS;
const EXPIRY_SENTENCE = "must be epoch milliseconds in the future, at most a year ahead";

const Role = z.enum(ROLES, { error: "must be viewer, reviewer or admin" }).openapi({
  description:
    "viewer: reads everything. reviewer: also registers and probes origins, decides about versions, stores attestations, revokes hashes and attestations, suspends origins. admin: everything.",
});
const Status = z.enum(["active", "suspended"], { error: "must be active or suspended" });
const EMAIL_SENTENCE = "must be null or an e-mail address of at most 254 characters";
const AccessEmail = z
  .string({ error: EMAIL_SENTENCE })
  .trim()
  .toLowerCase()
  .max(254, { error: EMAIL_SENTENCE })
  .regex(/^[!-?A-~]+@[!-?A-~]+$/, { error: EMAIL_SENTENCE })
  .nullable()
  .openapi({
    description: "Who signs in through Cloudflare Access with this address, in any case, is this operator.",
    example: "ada@example.com",
  });

const OperatorBody = z
  .object({
    id: OperatorId,
    name: z.string(),
    role: Role,
    status: Status,
    accessEmail: z.string().nullable(),
    createdAt: Moment,
    updatedAt: Moment,
  })
  .openapi("Operator");

const NewOperator = z
  .strictObject({ name: Name, role: Role, accessEmail: AccessEmail.optional() })
  .openapi("NewOperator");

const OperatorChange = z
  .strictObject({
    name: Name.optional(),
    role: Role.optional(),
    status: Status.optional(),
    accessEmail: AccessEmail.optional(),
  })
  .openapi("OperatorChange");

const TokenBody = z
  .object({
    id: OperatorTokenId,
    operatorId: OperatorId,
    status: z.enum(["active", "expired", "revoked"]),
    createdAt: Moment,
    expiresAt: Moment,
    revokedAt: Moment.nullable(),
    lastUsedAt: Moment.nullable().openapi({ description: "To the minute." }),
  })
  .openapi("OperatorToken");

const IssuedToken = TokenBody.extend({
  token: z.string().openapi({ description: "The bearer token. Shown this once; only its SHA-256 is kept." }),
}).openapi("IssuedOperatorToken");

const NewToken = z
  .strictObject({
    expiresAt: z.int({ error: EXPIRY_SENTENCE }).optional().openapi({ description: "Left out: in 90 days." }),
  })
  .openapi("NewOperatorToken");

const ofOperator = z.object({ id: OperatorId.openapi({ param: { name: "id", in: "path" } }) });
const ofToken = ofOperator.extend({ tokenId: OperatorTokenId.openapi({ param: { name: "tokenId", in: "path" } }) });
const tags = ["operators"];

const create = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/operators",
  tags,
  summary: "Create an operator",
  description: "Problems: `bad_request`, `already_exists` (with the `id` of the operator who has the accessEmail).",
  request: { body: body(NewOperator) },
  responses: { 201: row("The operator, active, without tokens.", OperatorBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/operators",
  tags,
  summary: "List operators, oldest first",
  request: {
    query: PageQuery.extend({
      status: queryWord("status", ["active", "suspended"]),
      role: queryWord("role", ROLES),
      q: Sought,
    }),
  },
  responses: { 200: json("A page of operators.", pageOf("OperatorPage", OperatorBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/operators/{id}",
  tags,
  summary: "Read an operator",
  request: { params: ofOperator },
  responses: { 200: row("The operator.", OperatorBody), ...problems },
});

const change = adminRoute({
  role: "admin",
  conditional: true,
  method: "patch",
  path: "/operators/{id}",
  tags,
  summary: "Change an operator",
  description:
    "Absent members stay as they are. In force at the operator's next request; with another role or status the inspection tokens end that they made. Problems: `bad_request`, `not_found`, `already_exists`, `precondition_failed`, `last_admin` (ADMIN_TOKEN is retired, and nobody else could sign in as admin).",
  request: { params: ofOperator, body: body(OperatorChange) },
  responses: { 200: row("The operator as it is now.", OperatorBody), ...problems },
});

const issue = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/operators/{id}/tokens",
  tags,
  summary: "Issue an operator's token",
  description: `An operator may hold several, for overlapping rotation. Problems: \`bad_request\`, \`not_found\`, \`too_many_tokens\` (${MAX_OPERATOR_TOKENS} usable ones), \`already_exists\` (the same request was carried out before).`,
  request: { params: ofOperator, body: { required: false, content: { "application/json": { schema: NewToken } } } },
  responses: { 201: json("The token, shown once.", IssuedToken), ...problems },
});

const listTokens = adminRoute({
  role: "viewer",
  method: "get",
  path: "/operators/{id}/tokens",
  tags,
  summary: "List an operator's tokens, oldest first",
  description: "Neither tokens nor hashes. Problems: `not_found`.",
  request: { params: ofOperator, query: PageQuery },
  responses: { 200: json("A page of tokens.", pageOf("OperatorTokenPage", TokenBody)), ...problems },
});

const revoke = adminRoute({
  role: "admin",
  method: "delete",
  path: "/operators/{id}/tokens/{tokenId}",
  tags,
  summary: "Revoke an operator's token",
  description:
    "At once, with the sessions opened with it. Revoking again answers 204 too and changes nothing. Problems: `not_found`, also for another operator's token; `last_admin`.",
  request: { params: ofToken },
  responses: { 204: { description: "The token is revoked." }, ...problems },
});

export function addOperatorRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, (c) => {
    const { accessEmail = null, ...wanted } = c.req.valid("json");
    return created(c, (acting) => createOperator(c.get("registry"), acting, { ...wanted, accessEmail }), showOperator);
  });
  app.openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid("query");
    const page = await listOperators(c.get("registry"), filter, await pageRequest(c, { limit, cursor }, isCreatedKey));
    return c.json(await pageBody(c, page, showOperator), 200);
  });
  app.openapi(read, async (c) => one(c, await getOperator(c.get("registry"), c.req.valid("param").id), showOperator));
  app.openapi(change, (c) => {
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    const wanted = c.req.valid("json");
    return changed(
      c,
      () => getOperator(registry, id),
      (acting) => updateOperator(registry, acting, id, wanted, isAccessInUse(c)),
      showOperator,
    );
  });
  app.openapi(issue, async (c) => {
    const expiresAt = expiryOf(c.req.valid("json").expiresAt, Date.now());
    const token = createToken("sgo");
    const stored = { tokenSha256: await tokenSha256(token), expiresAt };
    const { id } = c.req.valid("param");
    return created(
      c,
      (acting) => createOperatorToken(c.get("registry"), acting, id, stored),
      (row) => ({ ...row, token }),
      { isSecret: true },
    );
  });
  app.openapi(listTokens, async (c) => {
    const request = await pageRequest(c, c.req.valid("query"), isCreatedKey);
    const page = await listOperatorTokens(c.get("registry"), c.req.valid("param").id, Date.now(), request);
    return c.json(await pageBody(c, page, showToken), 200);
  });
  app.openapi(revoke, async (c) => {
    const { id, tokenId } = c.req.valid("param");
    await revokeOperatorToken(c.get("registry"), actingNow(c), id, tokenId, isAccessInUse(c));
    return c.body(null, 204);
  });
}

/** @throws Problem `bad_request`. */
function expiryOf(wanted: number | undefined, now: number): number {
  const expiresAt = wanted ?? now + DEFAULT_LIFETIME_MS;
  if (expiresAt > now && expiresAt <= now + MAX_LIFETIME_MS) return expiresAt;
  throw badMember("expiresAt", EXPIRY_SENTENCE);
}

export function isAccessInUse(c: AdminContext): boolean {
  return c.get("settings").access !== null;
}

function showOperator(operator: Operator) {
  return { ...operator };
}

function showToken(token: OperatorToken) {
  return { ...token };
}
