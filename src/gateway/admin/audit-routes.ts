import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { JsonObject } from "../../core/json.ts";
import { describeFailure } from "../log.ts";
import {
  type AuditFilter,
  auditStretch,
  getAuditRow,
  lastAuditSeq,
  listAudit,
  type NamedAuditRow,
} from "../registry/audit-list.ts";
import type { Registry } from "../registry/database.ts";
import type { AdminEnv } from "./environment.ts";
import { one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, problems, queryMoment, queryText, row } from "./shapes.ts";

/** Rows that are in memory at a time while the log is exported. */
const EXPORT_ROWS = 500;

const AuditEntry = z
  .object({
    seq: z.int(),
    at: Moment,
    actor: z.string(),
    actorName: z.string().nullable().openapi({
      description:
        "What the actor is called today, for people: no part of what `hash` covers. null: nobody is known by that id.",
    }),
    action: z.string().openapi({ example: "origin.create" }),
    subject: z.string(),
    detail: z.record(z.string(), z.any()),
    requestId: z.string(),
    prevHash: z.string(),
    hash: z.string(),
  })
  .openapi("AuditEntry");

const Filter = z.strictObject({
  actor: queryText("actor", 64, "`admin-token`, or an operator's id."),
  action: queryText("action", 64, "An action, or all that begin with it up to a dot: `client.token`."),
  subject: queryText("subject", 256, "The id of what was changed."),
  from: queryMoment("from", "Not before this moment."),
  to: queryMoment("to", "Not after this moment."),
});

const tags = ["audit"];

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/audit",
  tags,
  summary: "Every change, newest first",
  description:
    "Append-only. `hash` is the SHA-256 of `prevHash` followed by the row's other members, but for `actorName`, as JSON with sorted keys, `detail` as stored text.",
  request: { query: PageQuery.extend(Filter.shape) },
  responses: { 200: json("A page of audit rows.", pageOf("AuditPage", AuditEntry)), ...problems },
});

const exported = adminRoute({
  role: "viewer",
  method: "get",
  path: "/audit.ndjson",
  tags,
  summary: "Export the audit log, oldest first",
  description:
    "One row a line, as it was when the export began. A line that is cut, or a connection that ends with an error, says that rows are missing.",
  request: { query: Filter },
  responses: {
    200: { description: "The rows.", content: { "application/x-ndjson": { schema: z.string() } } },
    ...problems,
  },
});

const SEQ = /^[1-9]\d{0,14}$/;

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/audit/{seq}",
  tags,
  summary: "Read one change",
  request: {
    params: z.object({
      seq: z
        .string()
        .regex(SEQ)
        .transform(Number)
        .openapi({ param: { name: "seq", in: "path" }, type: "integer", example: 1 }),
    }),
  },
  responses: { 200: row("The row.", AuditEntry), ...problems },
});

const isSeq = (key: unknown): key is number => Number.isSafeInteger(key);

/** To be called after what else is below `/audit/` is registered. */
export function addAuditRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid("query");
    const page = await listAudit(c.get("registry"), filter, await pageRequest(c, { limit, cursor }, isSeq));
    return c.json(await pageBody(c, page, showEntry), 200);
  });
  app.openapi(exported, async (c) => {
    const registry = c.get("registry");
    const toSeq = await lastAuditSeq(registry);
    const lines = exportLines(registry, c.req.valid("query"), toSeq);
    const headers = {
      "Content-Type": "application/x-ndjson; charset=utf-8",
      "Content-Disposition": 'attachment; filename="skillgate-audit.ndjson"',
    };
    return c.body(lines, 200, headers) as never;
  });
  app.openapi(read, async (c) => one(c, await getAuditRow(c.get("registry"), c.req.valid("param").seq), showEntry));
}

/** Reads on only as fast as the caller takes what was read. */
function exportLines(registry: Registry, filter: AuditFilter, toSeq: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let afterSeq = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const rows = await auditStretch(registry, filter, { afterSeq, toSeq, limit: EXPORT_ROWS });
        afterSeq = rows.at(-1)?.seq ?? toSeq;
        const text = rows.map((row) => `${JSON.stringify(showEntry(row))}\n`).join("");
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (rows.length < EXPORT_ROWS) controller.close();
      } catch (error) {
        console.error(JSON.stringify({ event: "audit_export_failed", error: describeFailure(error) }));
        controller.error(new Error("The audit log could not be read on."));
      }
    },
  });
}

function showEntry(row: NamedAuditRow) {
  return { ...row, detail: JSON.parse(row.detail) as JsonObject };
}
