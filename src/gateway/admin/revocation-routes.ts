import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { forgetPolicy } from "../auth/policy.ts";
import { isCreatedKey } from "../registry/page.ts";
import { createRevocation, liftRevocation, listRevocations, type Revocation } from "../registry/revocations.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import {
  body,
  Hash,
  json,
  Moment,
  PageQuery,
  pageBody,
  pageOf,
  pageRequest,
  problems,
  Reason,
  RevocationId,
} from "./shapes.ts";

export const RevocationBody = z
  .object({
    id: RevocationId,
    kind: z.enum(["attestation", "hash"]),
    subject: z.string().openapi({ description: "An attestation's id, or a tool_sha256." }),
    reason: z.string(),
    revokedAt: Moment,
    revokedBy: z.string(),
    liftedAt: Moment.nullable().openapi({ description: "null: it is in force." }),
    liftedBy: z.string().nullable(),
    liftReason: z.string().nullable(),
  })
  .openapi("Revocation");

const NewRevocation = z
  .strictObject({
    kind: z.enum(["attestation", "hash"], { error: "must be attestation or hash" }),
    subject: Hash,
    reason: Reason,
  })
  .openapi("NewRevocation");

const ofRevocation = z.object({ id: RevocationId.openapi({ param: { name: "id", in: "path" } }) });
const tags = ["revocations"];

const create = createRoute({
  method: "post",
  path: "/revocations",
  tags,
  summary: "Revoke an attestation, or a hash everywhere",
  description:
    "A revoked attestation counts for nothing; a Sigstore attestation is revoked in every bundle of its attester about the same five values. A revoked hash runs on no origin, approved or attested, until the revocation is lifted. Neither need be known here. In force within 5 seconds. Problems: `bad_request`, `already_exists` (with the `id` of the one in force).",
  request: { body: body(NewRevocation) },
  responses: { 201: json("The revocation.", RevocationBody), ...problems },
});

const list = createRoute({
  method: "get",
  path: "/revocations",
  tags,
  summary: "List revocations, newest first, lifted ones included",
  request: { query: PageQuery },
  responses: { 200: json("A page of revocations.", pageOf("RevocationPage", RevocationBody)), ...problems },
});

const lift = createRoute({
  method: "post",
  path: "/revocations/{id}/lift",
  tags,
  summary: "Lift a revocation",
  description: "In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state` (lifted already).",
  request: { params: ofRevocation, body: body(z.strictObject({ reason: Reason })) },
  responses: { 200: json("The revocation, lifted.", RevocationBody), ...problems },
});

export function addRevocationRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, async (c) => {
    const revocation = await createRevocation(c.get("registry"), actingNow(c), c.req.valid("json"));
    forgetPolicy();
    return c.json(showRevocation(revocation), 201);
  });
  app.openapi(list, async (c) => {
    const page = await listRevocations(c.get("registry"), pageRequest(c.req.valid("query"), isCreatedKey));
    return c.json(pageBody(page, showRevocation), 200);
  });
  app.openapi(lift, async (c) => {
    const { reason } = c.req.valid("json");
    const revocation = await liftRevocation(c.get("registry"), actingNow(c), c.req.valid("param").id, reason);
    forgetPolicy();
    return c.json(showRevocation(revocation), 200);
  });
}

export function showRevocation(revocation: Revocation) {
  return { ...revocation };
}
