import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { DAY_MS } from "../../core/durations.ts";
import { EDGES_MS, percentile } from "../../core/latency-buckets.ts";
import { USAGE_GROUPS, type UsageSum, usageByCalls, usageByHour } from "../registry/usage.ts";
import { flushUsage } from "../usage/usage.ts";
import type { AdminEnv } from "./environment.ts";
import { PageQuery, pageBody, pageRequest } from "./paging.ts";
import { badMember } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { ClientId, json, Moment, OriginId, problems, queryMoment, queryText, queryWord } from "./shapes.ts";

const MAX_DAYS = 92;
const UsageQuery = PageQuery.extend({
  from: queryMoment("from", "Default: a day before `to`. Whole hours (UTC) are summed."),
  to: queryMoment("to", `Default: now. At most ${MAX_DAYS} days after \`from\`.`),
  by: queryWord("by", USAGE_GROUPS, "Default: hour."),
  client: ClientId.optional().openapi({ param: { name: "client", in: "query" } }),
  origin: OriginId.optional().openapi({ param: { name: "origin", in: "query" } }),
  tool: queryText("tool", 128, "Public name."),
});

const EDGES = EDGES_MS.join(", ");

const UsageBody = z
  .object({
    hour: Moment.nullable().openapi({ description: "Its begin, where `by` is hour; else null." }),
    clientId: z.string().nullable(),
    originId: z.string().nullable().openapi({ description: "Empty: refused before the origin was known." }),
    tool: z.string().nullable().openapi({
      description:
        "Public name. Empty: refused before the tool was known. `(other)`: past 200 names of an origin an hour.",
    }),
    calls: z.int().openapi({ description: "Tool calls, and refused requests." }),
    errors: z
      .record(z.string(), z.int())
      .openapi({ description: "By kind: a code of the sandbox or of the gateway.", example: { rate_limited: 2 } }),
    p50Ms: z.number().nullable().openapi({ description: "Estimated from `buckets`; null: nothing was timed." }),
    p95Ms: z.number().nullable(),
    buckets: z.array(z.int()).openapi({
      description: `How many calls took at most ${EDGES} milliseconds, and longer; each counted once. Refused ones are not in it.`,
    }),
    gas: z.int().openapi({ description: "Sandbox gas." }),
  })
  .openapi("Usage");

const Answer = z
  .object({
    items: z.array(UsageBody),
    nextCursor: z.string().nullable(),
    rest: z.object({ groups: z.int(), calls: z.int() }).nullable().openapi({
      description: "What is left out of those with most calls: how many, and their calls together. null: nothing.",
    }),
  })
  .openapi("UsagePage");

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/usage",
  tags: ["usage"],
  summary: "Calls, errors and latencies, by hour, client, origin or tool",
  description:
    "Of tool calls and of refused requests of known clients; no argument and no result. Hours come in their order and in pages; hours without calls are left out. All else is one list of those with most calls, `limit` of them, without a cursor (a place in it moves with every call), and `rest` tells what the others have. Isolates write down what they counted every 10 seconds; kept for 90 days. Problems: `bad_request`.",
  request: { query: UsageQuery },
  responses: { 200: json("The sums.", Answer), ...problems },
});

export function addUsageRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(read, async (c) => {
    const { by = "hour", client, origin, tool, from, to = Date.now(), ...asked } = c.req.valid("query");
    const begin = from ?? Math.max(0, to - DAY_MS);
    if (begin >= to || to - begin > MAX_DAYS * DAY_MS) {
      throw badMember("from", `must be before \`to\`, at most ${MAX_DAYS} days`);
    }
    await flushUsage(c.env);
    const registry = c.get("registry");
    const query = { from: begin, to, clientId: client, originId: origin, tool };
    const { limit, after } = await pageRequest(c, asked, isHour);
    if (by === "hour") {
      const page = await usageByHour(registry, query, { limit, after });
      return c.json({ ...(await pageBody(c, page, showUsage)), rest: null }, 200);
    }
    const { items, rest } = await usageByCalls(registry, { ...query, by }, limit);
    return c.json({ items: items.map(showUsage), nextCursor: null, rest }, 200);
  });
}

function showUsage({ buckets, errors, ...sum }: UsageSum) {
  return {
    ...sum,
    errors: { ...errors },
    p50Ms: percentile(buckets, 0.5),
    p95Ms: percentile(buckets, 0.95),
    buckets: [...buckets],
  };
}

function isHour(key: unknown): key is number {
  return Number.isSafeInteger(key);
}
