import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { getOrigin } from "../registry/origins.ts";
import { listVerdicts, type VerdictKey } from "../registry/verdicts.ts";
import type { AdminEnv } from "./environment.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, ofOrigin, problems } from "./shapes.ts";

const VerdictChange = z
  .object({
    scope: z.string().nullable(),
    name: z.string(),
    toolSha256: z.string(),
    verdict: z.enum(["attested", "expired", "invalid", "unattested"]),
    at: Moment.openapi({ description: "When a discovery noticed it." }),
  })
  .openapi("VerdictChange");

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/origins/{id}/verdicts",
  tags: ["skills"],
  summary: "List how the verdicts of an origin's skills changed, newest first",
  description: "A history for people: what decides is computed at every call.",
  request: { params: ofOrigin, query: PageQuery },
  responses: { 200: json("A page of changes.", pageOf("VerdictChangePage", VerdictChange)), ...problems },
});

export function addVerdictRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(list, async (c) => {
    const { id } = c.req.valid("param");
    await getOrigin(c.get("registry"), id);
    const page = await listVerdicts(c.get("registry"), id, await pageRequest(c, c.req.valid("query"), isVerdictKey));
    return c.json(await pageBody(c, page, (change) => ({ ...change })), 200);
  });
}

function isVerdictKey(key: unknown): key is VerdictKey {
  return (
    Array.isArray(key) &&
    key.length === 4 &&
    Number.isSafeInteger(key[0]) &&
    key.slice(1).every((part) => typeof part === "string")
  );
}
