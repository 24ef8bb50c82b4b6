import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { JsonObject } from "../../core/json.ts";
import { type AuditRow, listAudit } from "../registry/audit.ts";
import type { AdminEnv } from "./environment.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, PageQuery, pageBody, pageOf, pageRequest, problems } from "./shapes.ts";

const AuditEntry = z
  .object({
    seq: z.int(),
    at: Moment,
    actor: z.string(),
    action: z.string().openapi({ example: "origin.create" }),
    subject: z.string(),
    detail: z.record(z.string(), z.any()),
    requestId: z.string(),
    prevHash: z.string(),
    hash: z.string(),
  })
  .openapi("AuditEntry");

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/audit",
  tags: ["audit"],
  summary: "Every change, newest first",
  description:
    "Append-only. `hash` is the SHA-256 of `prevHash` followed by the row's other members as JSON with sorted keys, `detail` as stored text.",
  request: { query: PageQuery },
  responses: { 200: json("A page of audit rows.", pageOf("AuditPage", AuditEntry)), ...problems },
});

const isSeq = (key: unknown): key is number => Number.isSafeInteger(key);

export function addAuditRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(list, async (c) => {
    const page = await listAudit(c.get("registry"), pageRequest(c.req.valid("query"), isSeq));
    return c.json(pageBody(page, showEntry), 200);
  });
}

function showEntry(row: AuditRow) {
  return { ...row, detail: JSON.parse(row.detail) as JsonObject };
}
