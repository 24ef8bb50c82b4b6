import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { isCreatedKey } from "../registry/page.ts";
import {
  createRevocation,
  getRevocation,
  liftRevocation,
  listRevocations,
  type Revocation,
} from "../registry/revocations.ts";
import type { AdminEnv } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { body, Hash, json, Moment, problems, queryWord, Reason, RevocationId, row } from "./shapes.ts";

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

const create = adminRoute({
  role: "reviewer",
  creates: true,
  method: "post",
  path: "/revocations",
  tags,
  summary: "Revoke an attestation, or a hash everywhere",
  description:
    "A revoked attestation counts for nothing; a Sigstore attestation is revoked in every bundle of its attester about the same five values. A revoked hash runs on no origin, approved or attested, until the revocation is lifted. Neither need be known here. In force within 5 seconds. Problems: `bad_request`, `already_exists` (with the `id` of the one in force).",
  request: { body: body(NewRevocation) },
  responses: { 201: row("The revocation.", RevocationBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/revocations",
  tags,
  summary: "List revocations, newest first, lifted ones included",
  request: {
    query: PageQuery.extend({ inForce: queryWord("inForce", ["true", "false"], "false: only lifted ones.") }),
  },
  responses: { 200: json("A page of revocations.", pageOf("RevocationPage", RevocationBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/revocations/{id}",
  tags,
  summary: "Read a revocation",
  request: { params: ofRevocation },
  responses: { 200: row("The revocation.", RevocationBody), ...problems },
});

const lift = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/revocations/{id}/lift",
  tags,
  summary: "Lift a revocation",
  description:
    "In force within 5 seconds, but for a hash that a discovery left unread while it was revoked: its code is served again after the origin's next discovery. Problems: `bad_request`, `not_found`, `bad_state` (lifted already).",
  request: { params: ofRevocation, body: body(z.strictObject({ reason: Reason })) },
  responses: { 200: row("The revocation, lifted.", RevocationBody), ...problems },
});

export function addRevocationRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, (c) => {
    const wanted = c.req.valid("json");
    return created(c, (acting) => createRevocation(c.get("registry"), acting, wanted), showRevocation);
  });
  app.openapi(list, async (c) => {
    const { inForce, ...query } = c.req.valid("query");
    const wanted = inForce === undefined ? undefined : inForce === "true";
    const page = await listRevocations(c.get("registry"), wanted, await pageRequest(c, query, isCreatedKey));
    return c.json(await pageBody(c, page, showRevocation), 200);
  });
  app.openapi(read, async (c) =>
    one(c, await getRevocation(c.get("registry"), c.req.valid("param").id), showRevocation),
  );
  app.openapi(lift, (c) => {
    const { reason } = c.req.valid("json");
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    return changed(
      c,
      () => getRevocation(registry, id),
      (acting) => liftRevocation(registry, acting, id, reason),
      showRevocation,
    );
  });
}

export function showRevocation(revocation: Revocation) {
  return { ...revocation };
}
