import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { listQueue, type QueueKey } from "../registry/skill-queue.ts";
import type { AdminEnv } from "./environment.ts";
import { pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { json, OriginId, problems } from "./shapes.ts";
import { SkillFilterQuery, SkillVersionBody, showVersion } from "./skill-shape.ts";

const QueuedVersionBody = SkillVersionBody.extend({ originId: OriginId, origin: z.string() }).openapi("QueuedVersion");

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/skills",
  tags: ["skills"],
  summary: "List skill versions of all origins, first seen latest first",
  description:
    "Revoked origins are left out. With `state=waiting&current=true`: what there is to review, approved versions that are `changedSinceApproval` included.",
  request: {
    query: SkillFilterQuery,
  },
  responses: { 200: json("A page of skill versions.", pageOf("QueuedVersionPage", QueuedVersionBody)), ...problems },
});

export function addSkillQueueRoute(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(list, async (c) => {
    const { state, current, q, ...query } = c.req.valid("query");
    const filter = { state, isCurrent: current === "true", q };
    const page = await listQueue(c.get("registry"), filter, await pageRequest(c, query, isQueueKey));
    return c.json(
      await pageBody(c, page, ({ origin, originId, ...version }) => ({ ...showVersion(version), originId, origin })),
      200,
    );
  });
}

function isQueueKey(key: unknown): key is QueueKey {
  return (
    Array.isArray(key) &&
    key.length === 5 &&
    Number.isSafeInteger(key[0]) &&
    key.slice(1).every((part) => typeof part === "string")
  );
}
