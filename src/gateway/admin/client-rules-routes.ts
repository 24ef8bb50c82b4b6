import { type OpenAPIHono, z } from "@hono/zod-openapi";
import {
  listClientLimits,
  listClientTools,
  type OriginLimit,
  type OriginTools,
  replaceClientLimits,
  replaceClientTools,
} from "../registry/client-rules.ts";
import type { AdminEnv } from "./environment.ts";
import { changed, one } from "./frame.ts";
import { adminRoute } from "./roles.ts";
import { body, ClientId, MAX_RPM, OriginId, problems, row } from "./shapes.ts";

/** Rules of one client, all origins together: every row of the audit log that changes them holds them all. */
const MAX_NAMES = 1_000;
const MAX_ORIGINS = 500;

const TOO_MANY = `must be at most ${MAX_ORIGINS} entries with at most ${MAX_NAMES} names in all, each entry once`;
const NAME_SENTENCE = "must be the public name of a tool: 1 to 128 of the characters A-Z a-z 0-9 _ . -";
const RPM_SENTENCE = `must be a whole number from 0 to ${MAX_RPM}`;

const ToolName = z
  .string({ error: NAME_SENTENCE })
  .regex(/^[A-Za-z0-9_.-]{1,128}$/, { error: NAME_SENTENCE })
  .openapi({ example: "shop__search" });

const Tools = z
  .strictObject({
    originId: OriginId,
    allow: z.array(ToolName).nullable().openapi({ description: "Only these; null: every tool that is not denied." }),
    deny: z.array(ToolName).openapi({ description: "Goes before `allow`." }),
  })
  .openapi("ClientTools");

const ToolRules = z
  .strictObject({
    items: z
      .array(Tools)
      .max(MAX_ORIGINS, { error: TOO_MANY })
      .refine((items) => isOnce(items.map(({ originId }) => originId)), { error: TOO_MANY })
      .refine(
        (items) => items.reduce((sum, { allow, deny }) => sum + (allow?.length ?? 0) + deny.length, 0) <= MAX_NAMES,
        {
          error: TOO_MANY,
        },
      ),
  })
  .openapi("ClientToolRules");

const Limit = z
  .strictObject({
    originId: OriginId,
    tool: ToolName.nullable().openapi({ description: "null: all requests to the origin together." }),
    rpm: z
      .int({ error: RPM_SENTENCE })
      .min(0, { error: RPM_SENTENCE })
      .max(MAX_RPM, { error: RPM_SENTENCE })
      .openapi({ description: "Calls a minute; 0 blocks.", example: 60 }),
  })
  .openapi("ClientLimit");

const Limits = z
  .strictObject({
    items: z
      .array(Limit)
      .max(MAX_NAMES, { error: `must be at most ${MAX_NAMES} entries` })
      .refine((items) => isOnce(items.map(({ originId, tool }) => `${originId} ${tool ?? ""}`)), {
        error: "must name each pair of origin and tool once",
      }),
  })
  .openapi("ClientLimits");

const params = z.object({ id: ClientId.openapi({ param: { name: "id", in: "path" } }) });
const tags = ["clients"];

const readTools = adminRoute({
  role: "viewer",
  method: "get",
  path: "/clients/{id}/tools",
  tags,
  summary: "Which tools a client may see",
  description: "Origins that are not listed show it every tool. Problems: `not_found`.",
  request: { params },
  responses: { 200: row("The rules, in order of origin.", ToolRules), ...problems },
});

const writeTools = adminRoute({
  role: "admin",
  conditional: true,
  method: "put",
  path: "/clients/{id}/tools",
  tags,
  summary: "Replace which tools a client may see",
  description:
    "By public name, whether or not such a tool exists today. What is hidden is in no list, its recipe neither, and to call it is answered as an unknown tool is. Rules grant nothing: see `grants`. `get_skill_guide` is offered unless it is denied. In force within 5 seconds. Problems: `bad_request`, `unknown_origin`, `not_found`.",
  request: { params, body: body(ToolRules) },
  responses: { 200: row("The rules as they are now.", ToolRules), ...problems },
});

const readLimits = adminRoute({
  role: "viewer",
  method: "get",
  path: "/clients/{id}/limits",
  tags,
  summary: "A client's limits on origins and tools",
  description: "Beside its own `rpm` and `dailyQuota`. Problems: `not_found`.",
  request: { params },
  responses: { 200: row("The limits, in order of origin and tool.", Limits), ...problems },
});

const writeLimits = adminRoute({
  role: "admin",
  conditional: true,
  method: "put",
  path: "/clients/{id}/limits",
  tags,
  summary: "Replace a client's limits on origins and tools",
  description:
    "A call must be within all limits that apply to it; the refusal is 429 `rate_limited` and says which limit it was. In force within 5 seconds. Problems: `bad_request`, `unknown_origin`, `not_found`.",
  request: { params, body: body(Limits) },
  responses: { 200: row("The limits as they are now.", Limits), ...problems },
});

export function addClientRulesRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(readTools, async (c) => {
    return one(c, await listClientTools(c.get("registry"), c.req.valid("param").id), showTools);
  });
  app.openapi(writeTools, (c) => {
    const registry = c.get("registry");
    const { id } = c.req.valid("param");
    const { items } = c.req.valid("json");
    return changed(
      c,
      () => listClientTools(registry, id),
      (acting) => replaceClientTools(registry, acting, id, items),
      showTools,
    );
  });
  app.openapi(readLimits, async (c) => {
    return one(c, await listClientLimits(c.get("registry"), c.req.valid("param").id), showLimits);
  });
  app.openapi(writeLimits, (c) => {
    const registry = c.get("registry");
    const { id } = c.req.valid("param");
    const { items } = c.req.valid("json");
    return changed(
      c,
      () => listClientLimits(registry, id),
      (acting) => replaceClientLimits(registry, acting, id, items),
      showLimits,
    );
  });
}

function showTools(rules: readonly OriginTools[]) {
  const items = rules.map(({ originId, allow, deny }) => {
    return { originId, allow: allow === null ? null : [...allow], deny: [...deny] };
  });
  return { items };
}

function showLimits(limits: readonly OriginLimit[]) {
  return { items: [...limits] };
}

function isOnce(keys: readonly string[]): boolean {
  return new Set(keys).size === keys.length;
}
