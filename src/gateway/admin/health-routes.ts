import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { VERSION } from "../../core/version.ts";
import { withDeadline } from "../deadline.ts";
import type { HubStatus } from "../durable/hub-answer.ts";
import { type Env, effectiveSettings } from "../env.ts";
import type { Registry } from "../registry/database.ts";
import { countOrigins, latestCalled, listOrigins, type OriginRow } from "../registry/origins.ts";
import { type CreatedKey, encodeCursor, isCreatedKey, type Page } from "../registry/page.ts";
import { HUB_WAIT_MS, hubStatus } from "../releases/hub-client.ts";
import type { AdminEnv } from "./environment.ts";
import { PageQuery, pageBody, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, OriginId, problems } from "./shapes.ts";

/** Active origins whose hubs are asked, those called last. */
const MAX_ASKED = 50;
/** Hubs asked at once. */
const BATCH = 10;

const State = z.enum(["ok", "failed"]);

const HealthBody = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    parts: z.object({ settings: State, database: State, rate_limiter: State, origin_hub: State, sandbox: State }),
    version: z.string(),
    origins: z.object({ pending: z.int(), active: z.int(), suspended: z.int(), revoked: z.int() }),
    asked: z.int().openapi({
      description: `Active origins whose hubs were asked: the ${MAX_ASKED} called last; with \`cursor\`, the next ${MAX_ASKED} of all, in the order of their registration.`,
    }),
    notAsked: z.int().openapi({ description: "Active origins of which this answer knows nothing." }),
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: "Leads through all active origins; null: no more follow." }),
    failing: z
      .array(
        z.object({
          id: OriginId,
          origin: z.string(),
          fetchedAt: Moment.nullable().openapi({ description: "Of what is served meanwhile; null: nothing is." }),
          failure: z
            .object({ at: Moment, code: z.string(), message: z.string() })
            .nullable()
            .openapi({ description: "Of the last discovery; null: the hub itself does not answer." }),
        }),
      )
      .openapi({ description: "Those of them whose last discovery failed." }),
    refusing: z
      .array(
        z.object({
          id: OriginId,
          origin: z.string(),
          rejected: z
            .int()
            .openapi({ description: "Skills that break a rule: `GET /origins/{id}/release` says which." }),
          held: z
            .int()
            .openapi({ description: "Skills whose approved version stays in service in place of a changed one." }),
        }),
      )
      .openapi({
        description: "Those of them whose last release has skills that are not served as they are published.",
      }),
  })
  .openapi("Health");

const PolicyBody = z
  .object({
    items: z.array(
      z.object({
        name: z.string(),
        value: z.union([z.string(), z.number()]).openapi({ description: "Of a secret: `set`, or empty." }),
        isDefault: z.boolean(),
      }),
    ),
  })
  .openapi("Policy");

const health = adminRoute({
  role: "viewer",
  method: "get",
  path: "/health",
  tags: ["health"],
  summary: "How the gateway and its origins fare",
  description: `At most ${MAX_ASKED} hubs are asked for one answer; \`notAsked\` tells how many were not, and \`nextCursor\` leads to all of them in turn.`,
  request: { query: PageQuery.omit({ limit: true }) },
  responses: { 200: json("Each part, and the origins that fail.", HealthBody), ...problems },
});

const policy = adminRoute({
  role: "viewer",
  method: "get",
  path: "/policy",
  tags: ["health"],
  summary: "The settings in force",
  description: "Those of the deployment, by their names in wrangler.toml. No secret is shown.",
  responses: { 200: json("Every setting, in order of name.", PolicyBody), ...problems },
});

export function addHealthRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(health, async (c) => {
    const registry = c.get("registry");
    // It loads the sandbox's WebAssembly, which whoever only reads this API's document need not be able to.
    const { readiness } = await import("../health.ts");
    const { after } = await pageRequest(c, c.req.valid("query"), isCreatedKey);
    const [parts, origins, looked] = await Promise.all([
      readiness(c.env),
      countOrigins(registry),
      after === null ? lastCalled(registry) : listOrigins(registry, { status: "active" }, { limit: MAX_ASKED, after }),
    ]);
    const { items: latest, nextCursor } = await pageBody(c, looked, (row) => row);
    const failing: z.infer<typeof HealthBody>["failing"] = [];
    const refusing: z.infer<typeof HealthBody>["refusing"] = [];
    for (let start = 0; start < latest.length; start += BATCH) {
      const batch = latest.slice(start, start + BATCH);
      const statuses = await Promise.all(batch.map(({ origin }) => statusOf(c.env, origin as CanonicalOrigin)));
      for (const [i, { id, origin }] of batch.entries()) {
        const found = statuses[i];
        if (found === undefined) continue;
        const { fetchedAt = null, failure = null, rejected = 0, held = 0 } = found ?? {};
        if (found === null || failure !== null) failing.push({ id, origin, fetchedAt, failure });
        if (rejected + held > 0) refusing.push({ id, origin, rejected, held });
      }
    }
    const status = Object.values(parts).every((state) => state === "ok") ? ("ready" as const) : ("not_ready" as const);
    const asked = latest.length;
    const notAsked = Math.max(0, origins.active - asked);
    const shown = { origins, asked, notAsked, nextCursor, failing, refusing };
    return c.json({ status, parts: { ...parts }, version: VERSION, ...shown }, 200);
  });
  app.openapi(policy, (c) => c.json({ items: effectiveSettings(c.env) }, 200));
}

/** Before the first page of all active origins stand those that matter most; where they are all, no page follows. */
async function lastCalled(registry: Registry): Promise<Page<Pick<OriginRow, "id" | "origin">>> {
  const rows = await latestCalled(registry, MAX_ASKED + 1);
  const fromStart: CreatedKey = [0, ""];
  return {
    items: rows.slice(0, MAX_ASKED),
    nextCursor: rows.length > MAX_ASKED ? encodeCursor(fromStart) : null,
  };
}

/** `null`: the hub does not answer. */
async function statusOf(env: Env, origin: CanonicalOrigin): Promise<HubStatus | null> {
  try {
    return await withDeadline(hubStatus(env, origin), HUB_WAIT_MS);
  } catch {
    return null;
  }
}
