import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { parseOrigin } from "../../core/origin.ts";
import type { Acting, Registry } from "../registry/database.ts";
import { idPattern } from "../registry/ids.ts";
import {
  createOrigin,
  getOrigin,
  listOrigins,
  type OriginRow,
  revokeOrigin,
  suspendOrigin,
  updateOrigin,
} from "../registry/origins.ts";
import { isCreatedKey } from "../registry/page.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { activateProbed, type Prober, probeAndRecord } from "./probe.ts";
import { ProbeBody } from "./probe-shape.ts";
import { streamProbe, wantsStream } from "./probe-stream.ts";
import { Problem } from "./problem.ts";
import { registrableOrigins } from "./registrable.ts";
import { adminRoute } from "./roles.ts";
import {
  body,
  ClientId,
  json,
  Moment,
  OriginId,
  ofOrigin,
  problems,
  queryWord,
  Reason,
  row,
  Sought,
} from "./shapes.ts";
import { keepShippedAttestations } from "./shipped-attestations.ts";
import { tellHub } from "./tell-hub.ts";

const AttestationMode = z.enum(["off", "advisory", "enforcing"], { error: "must be off, advisory, enforcing or null" });
const Pin = z.enum(["off", "warn", "hold"], { error: "must be off, warn or hold" }).openapi({
  description:
    "What clients get of code that nobody approved: off, it is served; warn, it is served and flagged; hold, the last approved version stays.",
});

const AgentSkillsPointer = z
  .enum(["string", "object", "off"], { error: "must be string, object, off or null" })
  .openapi({
    description:
      "How `initialize` names the manifest of Agent Skills under `capabilities.experimental`: string, `agentSkillsUrl`; object, `agentSkills`; off, not at all. Clients made with the official SDK 1.22.0 to 1.24.0 ask for 2025-06-18 and take objects alone.",
  });

const ORIGIN_STATUSES = ["pending", "active", "suspended", "revoked"] as const;

const OriginBody = z
  .object({
    id: OriginId,
    origin: z.string().openapi({ example: "https://publisher.example" }),
    status: z.enum(ORIGIN_STATUSES),
    createdAt: Moment,
    updatedAt: Moment,
    probedAt: Moment.nullable().openapi({ description: "When the last successful probe was recorded." }),
    lastCalledAt: Moment.nullable(),
    attestationMode: AttestationMode.nullable().openapi({ description: "null: the gateway's own, ATTESTATION_MODE." }),
    pin: Pin,
    forwardTrace: z.boolean().openapi({ description: "Whether this publisher is told the caller's traceparent." }),
    agentSkills: z.boolean().openapi({
      description:
        "Whether the Agent Skills that this publisher's index.json names are read and served as MCP resources, and the publisher may have no tool at all. A site that the gateway hosts needs no such word.",
    }),
    agentSkillsPointer: AgentSkillsPointer.nullable().openapi({
      description:
        "null: as the revision of MCP that is agreed on wants it, a string up to 2025-06-18, an object from 2025-11-25 on.",
    }),
  })
  .openapi("Origin");

// No length here: parseOrigin caps it at 2,048 characters, and its refusals are `bad_origin` with a better sentence.
const NewOrigin = z
  .strictObject({
    origin: z
      .string({ error: "must be a string" })
      .openapi({ maxLength: 2048, example: "https://publisher.example", description: "`https://host[:port][/base]`" }),
    confirmServiceBinding: z.literal(true, { error: "must be true, or left out" }).optional().openapi({
      description:
        "Needed for an origin that SERVICE_ORIGINS binds: its Worker is asked without the public network, so nothing that guards its address (Access, firewall rules) stands before it.",
    }),
  })
  .openapi("NewOrigin");

const OriginChange = z
  .strictObject({
    attestationMode: AttestationMode.nullable().optional(),
    pin: Pin.optional(),
    forwardTrace: z.boolean({ error: "must be true or false" }).optional(),
    agentSkills: z.boolean({ error: "must be true or false" }).optional(),
    agentSkillsPointer: AgentSkillsPointer.nullable().optional(),
  })
  .openapi("OriginChange");

const Activation = z
  .strictObject({
    probedAt: Moment.optional().openapi({
      description: "`probedAt` of the probe that was reviewed; a later probe then refuses the activation.",
    }),
  })
  .openapi("Activation");

const Suspension = z.strictObject({ reason: Reason.optional() }).openapi("Suspension");

const MAX_IDS = 100;
const IDS_SENTENCE = `must be 1 to ${MAX_IDS} ids of origins, with commas between`;
const ORIGIN_ID = idPattern("org");
const OriginIds = z
  .string({ error: IDS_SENTENCE })
  .transform((text) => text.split(","))
  .refine((ids) => ids.length <= MAX_IDS && ids.every((id) => ORIGIN_ID.test(id)), { error: IDS_SENTENCE })
  .optional()
  .openapi({
    param: { name: "ids", in: "query" },
    type: "string",
    description: `Only those with these ids, at most ${MAX_IDS}, with commas between.`,
  });

const tags = ["origins"];

const PROBE_CONTENT = {
  "application/json": { schema: ProbeBody },
  "text/event-stream": { schema: z.string() },
};

const create = adminRoute({
  role: "reviewer",
  creates: true,
  method: "post",
  path: "/origins",
  tags,
  summary: "Register an origin",
  description:
    "Problems: `bad_request`, `bad_origin`, `service_binding_unconfirmed`, `already_exists` (with the `id` of the origin, whatever its status).",
  request: { body: body(NewOrigin) },
  responses: { 201: row("The origin in its canonical form, pending.", OriginBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins",
  tags,
  summary: "List origins, oldest first",
  request: {
    query: PageQuery.extend({
      status: queryWord("status", ORIGIN_STATUSES),
      q: Sought,
      ids: OriginIds,
      grantedTo: ClientId.optional().openapi({
        param: { name: "grantedTo", in: "query" },
        description: 'Only those that this client is granted by their ids: none, where its grants are "all".',
      }),
    }),
  },
  responses: { 200: json("A page of origins.", pageOf("OriginPage", OriginBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}",
  tags,
  summary: "Read an origin",
  request: { params: ofOrigin },
  responses: { 200: row("The origin.", OriginBody), ...problems },
});

const update = adminRoute({
  role: "admin",
  conditional: true,
  method: "patch",
  path: "/origins/{id}",
  tags,
  summary: "Change how an origin is served",
  description:
    "An absent member stays as it is. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state` (revoked).",
  request: { params: ofOrigin, body: body(OriginChange) },
  responses: { 200: row("The origin.", OriginBody), ...problems },
});

const probe = adminRoute({
  role: "reviewer",
  method: "post",
  path: "/origins/{id}/probe",
  tags,
  summary: "Discover the origin now",
  description:
    "Reads the origin afresh and records the hashes seen. A discovery that fails is a result too: 200 with `error` set and no skills; then what was probed before stays. With `Accept: text/event-stream` the answer is a stream of `fetch` (url, status, bytes, ms, code), `hash` (scope, name, file, ok, expected, actual) and `rejected` as they come, and at the end `result` with that very body, or `problem`. Problems: `not_found`, `bad_state` (revoked).",
  request: { params: ofOrigin },
  responses: { 200: { description: "What was found, or why nothing was.", content: PROBE_CONTENT }, ...problems },
});

const activate = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/origins/{id}/activate",
  tags,
  summary: "Activate an origin, approving the hashes just probed",
  description:
    "From pending or suspended. Approves exactly the skill versions of the latest probe. Where that is older than 15 minutes, or there is none, the origin is probed first, and unless that finds just what the earlier probe found, recipes, descriptions and definitions included, the answer is `probe_changed`: review and activate again. Of the publisher's own attestations those that count today are stored with the gateway's. A hash that was revoked since the probe must be rejected first. Problems: `not_found`, `bad_state`, `probe_changed`, `discovery_failed`, `no_skills`, `hash_revoked`.",
  request: { params: ofOrigin, body: { required: false, content: { "application/json": { schema: Activation } } } },
  responses: { 200: row("The origin, active.", OriginBody), ...problems },
});

const suspend = adminRoute({
  role: "reviewer",
  conditional: true,
  method: "post",
  path: "/origins/{id}/suspend",
  tags,
  summary: "Suspend an active origin",
  description:
    "No client may call it until it is activated again. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params: ofOrigin, body: { required: false, content: { "application/json": { schema: Suspension } } } },
  responses: { 200: row("The origin, suspended.", OriginBody), ...problems },
});

const revoke = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/origins/{id}/revoke",
  tags,
  summary: "Revoke an origin for ever",
  description:
    "Final: it can never be activated, probed or registered again. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params: ofOrigin, body: body(z.strictObject({ reason: Reason })) },
  responses: { 200: row("The origin, revoked.", OriginBody), ...problems },
});

/** @param prober how an origin is discovered afresh: its hub. */
export function addOriginRoutes(app: OpenAPIHono<AdminEnv>, prober: Prober): void {
  app.openapi(create, async (c) => {
    const { origin: text, confirmServiceBinding } = c.req.valid("json");
    const origin = parseOrigin(text, registrableOrigins(c));
    const serviceBinding = c.get("settings").serviceOrigins.get(new URL(origin).origin) ?? null;
    if (serviceBinding !== null && confirmServiceBinding !== true) {
      throw new Problem("service_binding_unconfirmed", {
        detail: `The origin is reached through the service binding ${serviceBinding}; confirm it with confirmServiceBinding: true.`,
      });
    }
    return created(c, (acting) => createOrigin(c.get("registry"), acting, origin, serviceBinding), showOrigin);
  });
  app.openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid("query");
    const page = await listOrigins(c.get("registry"), filter, await pageRequest(c, { limit, cursor }, isCreatedKey));
    return c.json(await pageBody(c, page, showOrigin), 200);
  });
  app.openapi(read, async (c) => {
    return one(c, await getOrigin(c.get("registry"), c.req.valid("param").id), showOrigin);
  });
  app.openapi(update, (c) => {
    const wanted = c.req.valid("json");
    return step(c, c.req.valid("param").id, (registry, acting, id) => updateOrigin(registry, acting, id, wanted));
  });
  app.openapi(probe, async (c) => {
    const { id } = c.req.valid("param");
    if (wantsStream(c)) return streamProbe(c, prober, id);
    return c.json(await probeAndRecord(c, prober, id), 200);
  });
  app.openapi(activate, async (c) => {
    const reviewed = c.req.valid("json").probedAt ?? null;
    const { id } = c.req.valid("param");
    const answer = await step(c, id, (_, acting, id) => activateProbed(c, prober, acting, id, reviewed, showOrigin));
    await keepShippedAttestations(c, id, null);
    await tellHub(c, id);
    return answer;
  });
  app.openapi(suspend, (c) => {
    const { reason = null } = c.req.valid("json");
    return end(c, c.req.valid("param").id, (registry, acting, id) => suspendOrigin(registry, acting, id, reason));
  });
  app.openapi(revoke, (c) => {
    const { reason } = c.req.valid("json");
    return end(c, c.req.valid("param").id, (registry, acting, id) => revokeOrigin(registry, acting, id, reason));
  });
}

type Change = (registry: Registry, acting: Acting, id: string) => Promise<OriginRow>;

/** After it the hub asks the origin for nothing more. */
async function end(c: AdminContext, id: string, change: Change) {
  const answer = await step(c, id, change);
  await tellHub(c, id);
  return answer;
}

function step(c: AdminContext, id: string, change: Change) {
  const registry = c.get("registry");
  return changed(
    c,
    () => getOrigin(registry, id),
    (acting) => change(registry, acting, id),
    showOrigin,
  );
}

function showOrigin({ policyVersion: _, ...row }: OriginRow) {
  return row;
}
