import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { attestationEntry } from "../../core/attestation/attestation.ts";
import { calendarDateOf, isCalendarDate } from "../../core/attestation/calendar-date.ts";
import { publishableAttestations } from "../../core/attestation/sign.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { type CanonicalOrigin, parseOrigin } from "../../core/origin.ts";
import {
  ATTESTATION_STATES,
  type ExpiryKey,
  isOfDays,
  listAttestations,
  listAttestationsByExpiry,
} from "../registry/attestation-list.ts";
import { attestationsOf, getAttestation, type StoredAttestation } from "../registry/attestations.ts";
import type { Acting } from "../registry/database.ts";
import { isCreatedKey } from "../registry/page.ts";
import { createRevocation } from "../registry/revocations.ts";
import { readTrust } from "../registry/trust.ts";
import { AttestationResult, recordAttestations } from "./attestation-import.ts";
import type { AdminEnv } from "./environment.ts";
import { created, one, recorded } from "./frame.ts";
import { judge, skillOf } from "./judging.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { RevocationBody, showRevocation } from "./revocation-routes.ts";
import { adminRoute } from "./roles.ts";
import { body, Hash, json, Moment, problems, queryText, queryWord, Reason, RevocationId, row } from "./shapes.ts";

const Entry = z.record(z.string(), z.any()).openapi({
  description: "As in a publisher's attestations.json.",
  example: { origin: "https://publisher.example", skill: "sum", attester: "human:ada" },
});

// What an entry may be is judged one by one: a wrong one is refused by its index and harms no other.
const Entries = z
  .union([z.array(z.any()), z.record(z.string(), z.any())], { error: "must be an entry or a list of entries" })
  .openapi("AttestationEntries", { description: "One entry, or a list of them as in attestations.json." });

const AttestationBody = z
  .object({
    id: z.string().openapi({ description: "SHA-256 of what counts of the entry: all but its note." }),
    origin: z.string(),
    skill: z.string(),
    toolSha256: z.string(),
    attester: z.string(),
    signedOn: z.string().openapi({ example: "2026-11-30" }),
    validUntil: z.string(),
    kind: z.enum(["ed25519", "sigstore"]),
    note: z.string().nullable(),
    storedAt: Moment,
    storedBy: z.string().openapi({
      description: "`publisher`: taken from its own attestations.json when the version was approved.",
    }),
    revocationId: RevocationId.nullable().openapi({ description: "The revocation of it that is in force." }),
  })
  .openapi("Attestation");

const JudgedAttestation = AttestationBody.extend({
  entry: Entry,
  standing: z.string().openapi({ description: "How it counts today.", example: "attested" }),
}).openapi("JudgedAttestation");

// parseOrigin's refusals are `bad_origin` with a better sentence.
const OriginParameter = z
  .string({ error: "must be given once" })
  .openapi({ param: { name: "origin", in: "query" }, example: "https://publisher.example" });
const DAY_SENTENCE = "must be a day such as 2026-12-31";
const queryDay = (name: string, description: string) =>
  z
    .string({ error: DAY_SENTENCE })
    .refine(isCalendarDate, { error: DAY_SENTENCE })
    .optional()
    .openapi({ param: { name, in: "query" }, example: "2026-12-31", description });
const ofAttestation = z.object({ id: Hash.openapi({ param: { name: "id", in: "path" } }) });
const tags = ["attestations"];

const create = adminRoute({
  role: "reviewer",
  creates: true,
  method: "post",
  path: "/attestations",
  tags,
  summary: "Store attestations",
  description:
    "Beside those that publishers ship. Every entry is judged alone: accepted with its standing today, or refused with a code. What is accepted is stored in one transaction. An entry whose proof fails under a registered key is refused. Problems: `bad_request`, `too_many_attestations` (then none is stored).",
  request: { body: body(Entries) },
  responses: {
    200: json("What became of each entry.", z.object({ results: z.array(AttestationResult) })),
    ...problems,
  },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/attestations",
  tags,
  summary: "List stored attestations",
  request: {
    query: PageQuery.extend({
      origin: OriginParameter.optional(),
      toolSha256: Hash.optional().openapi({ param: { name: "toolSha256", in: "query" } }),
      attester: queryText("attester", 1_200, "As entries name it: `human:ada`."),
      state: queryWord("state", ATTESTATION_STATES, "Today. One that is revoked is not said to be expired."),
      revoked: queryWord("revoked", ["true", "false"], "Whether a revocation of it is in force."),
      expiresFrom: queryDay("expiresFrom", "Only those whose last day is this one or a later one."),
      expiresBefore: queryDay("expiresBefore", "Only those whose last day is an earlier one."),
      sort: queryWord(
        "sort",
        ["stored", "expiry"],
        "expiry: the ones that expire first. Left out: expiry with `state=in_force`, `state=expired`, `expiresFrom` or `expiresBefore`, else stored.",
      ),
    }),
  },
  responses: { 200: json("A page of attestations.", pageOf("AttestationPage", AttestationBody)), ...problems },
});

const exported = adminRoute({
  role: "viewer",
  method: "get",
  path: "/attestations/export",
  tags,
  summary: "Export an origin's attestations as the file to publish",
  description:
    "All that are stored and not revoked, as `/.well-known/agent-skills/attestations.json`. Problems: `bad_origin`.",
  request: { query: z.strictObject({ origin: OriginParameter }) },
  responses: { 200: json("The file.", z.array(Entry)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/attestations/{id}",
  tags,
  summary: "Read a stored attestation, and how it counts today",
  request: { params: ofAttestation },
  responses: { 200: row("The attestation.", JudgedAttestation), ...problems },
});

const revoke = adminRoute({
  role: "reviewer",
  creates: true,
  method: "post",
  path: "/attestations/{id}/revoke",
  tags,
  summary: "Revoke a stored attestation",
  description:
    "Wherever the same one comes from, it counts for nothing; so does every other Sigstore bundle of its attester about the same five values. One that only a publisher ships is revoked by its id at `/revocations`. In force within 5 seconds. Problems: `bad_request`, `not_found`, `already_exists`.",
  request: { params: ofAttestation, body: body(z.strictObject({ reason: Reason })) },
  responses: { 201: row("The revocation.", RevocationBody), ...problems },
});

export function addAttestationRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, (c) => {
    const given = c.req.valid("json") as JsonObject | readonly Json[];
    const entries = Array.isArray(given) ? (given as readonly Json[]) : [given as JsonObject];
    const record = (acting: Acting) => recordAttestations(c.get("registry"), acting, entries);
    return recorded(c, record, (results) => ({ results: [...results] }));
  });
  app.openapi(list, async (c) => {
    const { limit, cursor, origin, revoked, sort, ...given } = c.req.valid("query");
    const filter = {
      ...given,
      origin: origin === undefined ? undefined : anyOrigin(origin),
      isRevoked: revoked === undefined ? undefined : revoked === "true",
      today: calendarDateOf(Date.now()),
    };
    const registry = c.get("registry");
    const page =
      (sort ?? (isOfDays(filter) ? "expiry" : "stored")) === "expiry"
        ? await listAttestationsByExpiry(registry, filter, await pageRequest(c, { limit, cursor }, isExpiryKey))
        : await listAttestations(registry, filter, await pageRequest(c, { limit, cursor }, isCreatedKey));
    return c.json(await pageBody(c, page, showAttestation), 200);
  });
  app.openapi(exported, async (c) => {
    const stored = await attestationsOf(c.get("registry"), anyOrigin(c.req.valid("query").origin));
    const valid = stored.filter(({ revocationId }) => revocationId === null);
    const file = publishableAttestations(valid.map(({ attestation }) => attestation));
    return c.json(
      file.map((entry) => ({ ...entry })),
      200,
    );
  });
  app.openapi(read, async (c) => {
    const registry = c.get("registry");
    const stored = await getAttestation(registry, c.req.valid("param").id);
    const { attestation } = stored;
    const [judgement] = await judge([skillOf(attestation)], [stored], await readTrust(registry), Date.now());
    const standing = judgement?.because[0]?.standing ?? "unverified";
    const shown = { ...showAttestation(stored), entry: { ...attestationEntry(attestation) }, standing };
    return one(c, shown, (body) => body);
  });
  app.openapi(revoke, async (c) => {
    const registry = c.get("registry");
    const { attestation } = await getAttestation(registry, c.req.valid("param").id);
    const { reason } = c.req.valid("json");
    const wanted = { kind: "attestation" as const, subject: attestation.id, reason };
    return created(c, (acting) => createRevocation(registry, acting, wanted), showRevocation);
  });
}

function isExpiryKey(key: unknown): key is ExpiryKey {
  return Array.isArray(key) && key.length === 2 && key.every((part) => typeof part === "string");
}

/** Attestations may be stored before their origin is registered, and for one that this gateway will not serve. */
function anyOrigin(text: string): CanonicalOrigin {
  return parseOrigin(text, { allowLoopbackHttp: true, ownHosts: [] });
}

function showAttestation({ attestation, storedAt, storedBy, revocationId }: StoredAttestation) {
  const { proof, ...about } = attestation;
  return { ...about, kind: proof.kind, storedAt, storedBy, revocationId };
}
