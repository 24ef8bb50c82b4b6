import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { DAY_MS } from "../../core/durations.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { GatewayError } from "../errors.ts";
import { grantedClients } from "../registry/grants.ts";
import { getOrigin, type OriginRow } from "../registry/origins.ts";
import { usageByCalls } from "../registry/usage.ts";
import { discoveryHistory } from "../releases/hub-client.ts";
import { flushUsage } from "../usage/usage.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { describeSkills, readHeldRelease } from "./held-release.ts";
import { RejectionBody, showRejection } from "./rejection-shape.ts";
import { adminRoute } from "./roles.ts";
import { ClientId, json, Moment, OriginId, ofOrigin, problems } from "./shapes.ts";

/** Clients named in the answer about an impact. */
const MAX_CLIENTS = 200;

const Failure = z.object({ at: Moment, code: z.string(), message: z.string() }).openapi("DiscoveryFailure");

const ReleaseBody = z
  .object({
    id: OriginId,
    origin: z.string(),
    fetchedAt: Moment.nullable().openapi({ description: "When the origin last confirmed it; null: nothing is held." }),
    state: z.enum(["current", "failing", "none"]).openapi({
      description: "failing: the last discovery failed, and what is held is served as long as it may be.",
    }),
    failure: z.union([Failure.extend({ rejected: z.array(RejectionBody) }), z.null()]),
    skills: z.array(
      z.object({
        scope: z.string().nullable(),
        name: z.string(),
        publicName: z.string(),
        description: z.string(),
        version: z.string().nullable(),
        toolSha256: z.string(),
        bytes: z.int().openapi({ description: "Of the script." }),
        definition: z.record(z.string(), z.any()).openapi({ description: "What the script registers." }),
        recipe: z.object({ sha256: z.string(), verified: z.boolean() }).nullable(),
        verdict: z.enum(["attested", "expired", "invalid", "unattested"]),
        pinState: z.enum(["served", "flagged", "held", "waiting", "withheld"]).openapi({
          description:
            "What clients get of this version: served as it is, or flagged as not approved; held: it is the approved one in place of a changed one; waiting: it is the changed one; withheld: nothing of the skill is served, see `code`.",
        }),
        code: z.string().nullable(),
        message: z.string().nullable(),
        fetches: z
          .object({ paths: z.array(z.string()), complete: z.boolean() })
          .openapi({ description: "Literals that the script gives to host.fetchOrigin: a hint, not a bound." }),
      }),
    ),
    rejected: z.array(RejectionBody),
    prose: z.int().openapi({ description: "Links for people, which are no skills." }),
    memories: z.array(z.object({ scope: z.string().nullable(), sha256: z.string(), bytes: z.int() })),
  })
  .openapi("Release");

const Outcome = z
  .object({
    at: Moment.openapi({ description: "When it came last." }),
    firstAt: Moment,
    times: z.int().openapi({ description: "How often it came without another outcome between." }),
    outcome: z.enum(["release", "failure"]),
    code: z.string().nullable(),
    message: z.string().nullable(),
    version: z.string().nullable().openapi({ description: "SHA-256 of the release." }),
    skills: z.int().nullable(),
    held: z.int().nullable().openapi({ description: "Approved versions beside changed ones." }),
    rejected: z.int().nullable(),
  })
  .openapi("DiscoveryOutcome");

const Outcomes = z
  .object({ items: z.array(Outcome), nextCursor: z.string().nullable() })
  .openapi("DiscoveryOutcomePage");

const ImpactBody = z
  .object({
    id: OriginId,
    origin: z.string(),
    status: z.enum(["pending", "active", "suspended", "revoked"]),
    clients: z
      .array(
        z.object({ id: ClientId, name: z.string(), status: z.enum(["active", "suspended"]), callsLastDay: z.int() }),
      )
      .openapi({ description: `Those that may use it, most calls first; at most ${MAX_CLIENTS}.` }),
    clientsTotal: z.int(),
    tools: z.array(z.string()).nullable().openapi({
      description: "Public names that clients without rules see; null: the origin's hub does not answer.",
    }),
    callsLastDay: z.int(),
  })
  .openapi("Impact");

const tags = ["releases"];

const release = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/release",
  tags,
  summary: "What the origin's hub holds, and what clients get of it",
  description:
    "Without a question to the origin: probe it for that. Problems: `not_found`, `discovery_failed` (the hub itself does not answer).",
  request: { params: ofOrigin },
  responses: { 200: json("The release.", ReleaseBody), ...problems },
});

const releases = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/releases",
  tags,
  summary: "How the origin's last 50 discoveries ended, newest first",
  description: "The same outcome many times on end is one item. Problems: `not_found`, `discovery_failed`.",
  request: { params: ofOrigin },
  responses: { 200: json("The outcomes, all on one page.", Outcomes), ...problems },
});

const impact = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/impact",
  tags,
  summary: "Whom the end of an origin would concern",
  description: "To look at before you suspend or revoke it. Problems: `not_found`.",
  request: { params: ofOrigin },
  responses: { 200: json("Its clients, tools and calls.", ImpactBody), ...problems },
});

export function addReleaseRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(release, async (c) => {
    const row = await getOrigin(c.get("registry"), c.req.valid("param").id);
    const found = await readHeldRelease(c, canonical(row));
    const held = found.held?.release;
    const skills = await describeSkills(c, found);
    return c.json(
      {
        ...{ id: row.id, origin: row.origin, fetchedAt: held?.fetchedAt ?? null },
        state:
          held === undefined ? ("none" as const) : found.failure === null ? ("current" as const) : ("failing" as const),
        failure: found.failure && { ...found.failure, rejected: found.failure.rejected.map(showRejection) },
        skills,
        rejected: (held?.rejected ?? []).map(showRejection),
        prose: held?.prose.length ?? 0,
        memories: (held?.memories ?? []).map(({ scope, sha256 }, i) => {
          return { scope, sha256, bytes: found.held?.memoryBytes[i] ?? 0 };
        }),
      },
      200,
    );
  });
  app.openapi(releases, async (c) => {
    const row = await getOrigin(c.get("registry"), c.req.valid("param").id);
    const past = await discoveryHistory(c.env, canonical(row));
    const items = past.map(({ firstAt, lastAt, times, ...one }) => ({
      ...{ at: lastAt, firstAt, times, outcome: one.outcome },
      ...(one.outcome === "release"
        ? { ...NO_FAILURE, version: one.version, skills: one.skills, held: one.held, rejected: one.rejected }
        : { ...NO_RELEASE, code: one.code, message: one.message }),
    }));
    return c.json({ items, nextCursor: null }, 200);
  });
  app.openapi(impact, async (c) => c.json(await impactOf(c, c.req.valid("param").id), 200));
}

const NO_FAILURE = { code: null, message: null };
const NO_RELEASE = { version: null, skills: null, held: null, rejected: null };

async function impactOf(c: AdminContext, id: string) {
  const registry = c.get("registry");
  const row = await getOrigin(registry, id);
  await flushUsage(c.env);
  const to = Date.now();
  const [lastDay, tools] = await Promise.all([
    usageByCalls(registry, { by: "client", from: to - DAY_MS, to, originId: id }, MAX_CLIENTS),
    toolsOf(c, row),
  ]);
  const callers = lastDay.items.map(({ clientId }) => clientId ?? "");
  const granted = await grantedClients(registry, id, callers, MAX_CLIENTS);
  const calls = new Map(lastDay.items.map((sum) => [sum.clientId, sum.calls]));
  const clients = granted.clients.map((client) => ({ ...client, callsLastDay: calls.get(client.id) ?? 0 }));
  return {
    ...{ id, origin: row.origin, status: row.status },
    clients: clients.sort((a, b) => b.callsLastDay - a.callsLastDay),
    clientsTotal: granted.total,
    tools,
    callsLastDay: lastDay.items.reduce((sum, { calls }) => sum + calls, lastDay.rest?.calls ?? 0),
  };
}

/** An origin may have to end though its hub does not answer. */
async function toolsOf(c: AdminContext, row: OriginRow): Promise<string[] | null> {
  try {
    const { held } = await readHeldRelease(c, canonical(row));
    return (held?.catalog.skills ?? []).map(({ skill }) => skill.publicName);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "discovery_failed") return null;
    throw error;
  }
}

/** Rows hold what parseOrigin returned. */
function canonical({ origin }: OriginRow): CanonicalOrigin {
  return origin as CanonicalOrigin;
}
