import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { readPublicKey } from "../../core/attestation/ed25519.ts";
import { isAttester } from "../../core/attestation/read.ts";
import { isNamedByIdentity } from "../../core/attestation/reviewer.ts";
import { isCreatedKey } from "../registry/page.ts";
import {
  createReviewer,
  getReviewer,
  listReviewers,
  type RegisteredReviewer,
  retireReviewer,
  revokeReviewer,
} from "../registry/reviewers.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { badMember } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { body, json, Moment, Note, problems, queryWord, Reason, ReviewerId, row } from "./shapes.ts";

const MAX_IDENTITY_CHARS = 1_024;
const IDENTITY_SENTENCE = `must be 1 to ${MAX_IDENTITY_CHARS} visible ASCII characters`;
const Identity = z
  .string({ error: IDENTITY_SENTENCE })
  .regex(new RegExp(`^[!-~]{1,${MAX_IDENTITY_CHARS}}$`), { error: IDENTITY_SENTENCE });

export const Attester = z
  .string({ error: "must be a string" })
  .refine(isAttester, { error: "must be type:name, a lower-case type and a name of visible ASCII characters" })
  .openapi({ example: "human:ada" });

export const PublicKey = z
  .string({ error: "must be a string" })
  .superRefine((text, context) => {
    const key = readPublicKey(text);
    if (typeof key === "string") context.addIssue({ code: "custom", message: `must be 32 bytes of base64: ${key}` });
  })
  .openapi({ description: "The 32 raw bytes of an Ed25519 key in standard base64." });

const Key = z
  .discriminatedUnion(
    "kind",
    [
      z.strictObject({ kind: z.literal("ed25519"), publicKey: PublicKey }),
      z.strictObject({ kind: z.literal("sigstore"), issuer: Identity, identity: Identity }),
    ],
    { error: "must be {kind: ed25519, publicKey} or {kind: sigstore, issuer, identity}" },
  )
  .openapi({ description: "sigstore: both are compared exactly with the certificate." });

const REVIEWER_STATUSES = ["active", "retired", "revoked"] as const;

const ReviewerBody = z
  .object({
    id: ReviewerId,
    attester: z.string(),
    key: Key,
    status: z.enum(REVIEWER_STATUSES),
    registeredAt: Moment.openapi({
      description:
        "What was signed on an earlier UTC day does not count, nor a Sigstore bundle that a log saw before this moment.",
    }),
    retiredAt: Moment.nullable().openapi({
      description: "From then on only what the gateway had stored before counts.",
    }),
    revokedAt: Moment.nullable().openapi({ description: "From then on nothing of this key counts." }),
    reason: z.string().nullable(),
    note: z.string().nullable(),
  })
  .openapi("Reviewer");

const NewReviewer = z
  .strictObject({
    attester: Attester,
    key: Key,
    registeredAt: z
      .int({ error: "must be epoch milliseconds" })
      .min(0, { error: "must be epoch milliseconds" })
      .optional()
      .openapi({
        description:
          "Not in the future. Left out: now. What was signed on an earlier UTC day does not count, nor a Sigstore bundle that a log saw before this moment.",
      }),
    note: Note.optional(),
  })
  .refine(({ attester, key }) => attester.startsWith("sigstore:") === (key.kind === "sigstore"), {
    path: ["key"],
    error: "must be of kind sigstore for an attester `sigstore:…`, and of kind ed25519 for all others",
  })
  .refine(isNamedByIdentity, { path: ["attester"], error: "must be `sigstore:` and the key's identity" })
  .openapi("NewReviewer");

const WithReason = z.strictObject({ reason: Reason });

const ofReviewer = z.object({ id: ReviewerId.openapi({ param: { name: "id", in: "path" } }) });
const tags = ["reviewers"];

const create = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/reviewers",
  tags,
  summary: "Register a reviewer's key",
  description:
    "From then on its attestations count. An attester may have several keys over time, of which one is active. Problems: `bad_request`, `already_exists`, `bad_state` (the key was revoked).",
  request: { body: body(NewReviewer) },
  responses: { 201: row("The reviewer.", ReviewerBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/reviewers",
  tags,
  summary: "List reviewers, registered earliest first",
  request: { query: PageQuery.extend({ status: queryWord("status", REVIEWER_STATUSES) }) },
  responses: { 200: json("A page of reviewers.", pageOf("ReviewerPage", ReviewerBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/reviewers/{id}",
  tags,
  summary: "Read a reviewer",
  request: { params: ofReviewer },
  responses: { 200: row("The reviewer.", ReviewerBody), ...problems },
});

const retire = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/reviewers/{id}/retire",
  tags,
  summary: "Retire a reviewer's key",
  description:
    "For a key that is used no more: what the gateway had stored of it before counts until it expires. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params: ofReviewer, body: body(WithReason) },
  responses: { 200: row("The reviewer.", ReviewerBody), ...problems },
});

const revoke = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/reviewers/{id}/revoke",
  tags,
  summary: "Revoke a reviewer's key",
  description:
    "For a key that somebody else may have: nothing it ever signed counts, since dates can be forged. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params: ofReviewer, body: body(WithReason) },
  responses: { 200: row("The reviewer.", ReviewerBody), ...problems },
});

export function addReviewerRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, (c) => {
    const { attester, key, registeredAt = null, note = null } = c.req.valid("json");
    if (registeredAt !== null && registeredAt > Date.now()) {
      throw badMember("registeredAt", "must not be in the future");
    }
    const wanted = { attester, key, registeredAt, note };
    return created(c, (acting) => createReviewer(c.get("registry"), acting, wanted), showReviewer);
  });
  app.openapi(list, async (c) => {
    const { status, ...query } = c.req.valid("query");
    const page = await listReviewers(c.get("registry"), status, await pageRequest(c, query, isCreatedKey));
    return c.json(await pageBody(c, page, showReviewer), 200);
  });
  app.openapi(read, async (c) => {
    return one(c, await getReviewer(c.get("registry"), c.req.valid("param").id), showReviewer);
  });
  app.openapi(retire, (c) => end(c, c.req.valid("param").id, c.req.valid("json").reason, retireReviewer));
  app.openapi(revoke, (c) => end(c, c.req.valid("param").id, c.req.valid("json").reason, revokeReviewer));
}

function end(c: AdminContext, id: string, reason: string, step: typeof retireReviewer) {
  const registry = c.get("registry");
  return changed(
    c,
    () => getReviewer(registry, id),
    (acting) => step(registry, acting, id, reason),
    showReviewer,
  );
}

function showReviewer({ key, ...reviewer }: RegisteredReviewer) {
  return { ...reviewer, key: { ...key } };
}
