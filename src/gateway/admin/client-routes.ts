import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { type Client, createClient, getClient, listClients, stepClient, updateClient } from "../registry/clients.ts";
import { isCreatedKey } from "../registry/page.ts";
import type { AdminContext, AdminEnv } from "./environment.ts";
import { changed, created, one } from "./frame.ts";
import { PageQuery, pageBody, pageOf, pageRequest } from "./paging.ts";
import { adminRoute } from "./roles.ts";
import {
  body,
  ClientId,
  DailyQuota,
  Grants,
  json,
  Moment,
  Name,
  problems,
  queryWord,
  Reason,
  Rpm,
  row,
  Sought,
} from "./shapes.ts";

const ClientStatus = z.enum(["active", "suspended"], { error: "must be active or suspended" });

const ClientBody = z
  .object({
    id: ClientId,
    name: z.string(),
    status: ClientStatus,
    rpm: Rpm,
    dailyQuota: DailyQuota,
    grants: Grants,
    createdAt: Moment,
    updatedAt: Moment,
  })
  .openapi("Client");

const NewClient = z
  .strictObject({ name: Name, rpm: Rpm, dailyQuota: DailyQuota.optional(), grants: Grants })
  .openapi("NewClient");

const ClientChange = z
  .strictObject({
    name: Name.optional(),
    status: ClientStatus.optional(),
    rpm: Rpm.optional(),
    dailyQuota: DailyQuota.optional(),
    grants: Grants.optional(),
  })
  .openapi("ClientChange");

const params = z.object({ id: ClientId.openapi({ param: { name: "id", in: "path" } }) });
const tags = ["clients"];

const create = adminRoute({
  role: "admin",
  creates: true,
  method: "post",
  path: "/clients",
  tags,
  summary: "Create a client",
  description: "Problems: `bad_request`, `unknown_origin`.",
  request: { body: body(NewClient) },
  responses: { 201: row("The client, active, without tokens.", ClientBody), ...problems },
});

const list = adminRoute({
  role: "viewer",
  method: "get",
  path: "/clients",
  tags,
  summary: "List clients, oldest first",
  request: { query: PageQuery.extend({ status: queryWord("status", ["active", "suspended"]), q: Sought }) },
  responses: { 200: json("A page of clients.", pageOf("ClientPage", ClientBody)), ...problems },
});

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/clients/{id}",
  tags,
  summary: "Read a client",
  request: { params },
  responses: { 200: row("The client.", ClientBody), ...problems },
});

const change = adminRoute({
  role: "admin",
  conditional: true,
  method: "patch",
  path: "/clients/{id}",
  tags,
  summary: "Change a client",
  description:
    "Absent members stay as they are; `grants` replaces all grants. A suspended client's tokens are refused. In force within 5 seconds. Problems: `bad_request`, `unknown_origin`, `not_found`.",
  request: { params, body: body(ClientChange) },
  responses: { 200: row("The client as it is now.", ClientBody), ...problems },
});

const Step = z.strictObject({ reason: Reason.optional() }).openapi("ClientStep");
const optionalStep = { required: false, content: { "application/json": { schema: Step } } };

const suspend = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/clients/{id}/suspend",
  tags,
  summary: "Suspend a client",
  description: "Its tokens are refused. In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params, body: optionalStep },
  responses: { 200: row("The client, suspended.", ClientBody), ...problems },
});

const resume = adminRoute({
  role: "admin",
  conditional: true,
  method: "post",
  path: "/clients/{id}/resume",
  tags,
  summary: "Let a suspended client go on",
  description: "In force within 5 seconds. Problems: `bad_request`, `not_found`, `bad_state`.",
  request: { params, body: optionalStep },
  responses: { 200: row("The client, active.", ClientBody), ...problems },
});

export function addClientRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(create, async (c) => {
    const { dailyQuota = null, ...wanted } = c.req.valid("json");
    return created(c, (acting) => createClient(c.get("registry"), acting, { ...wanted, dailyQuota }), showClient);
  });
  app.openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid("query");
    const page = await listClients(c.get("registry"), filter, await pageRequest(c, { limit, cursor }, isCreatedKey));
    return c.json(await pageBody(c, page, showClient), 200);
  });
  app.openapi(read, async (c) => {
    return one(c, await getClient(c.get("registry"), c.req.valid("param").id), showClient);
  });
  app.openapi(change, (c) => {
    const { id } = c.req.valid("param");
    const registry = c.get("registry");
    const wanted = c.req.valid("json");
    return changed(
      c,
      () => getClient(registry, id),
      (acting) => updateClient(registry, acting, id, wanted),
      showClient,
    );
  });
  app.openapi(suspend, (c) => step(c, c.req.valid("param").id, "suspend", c.req.valid("json").reason));
  app.openapi(resume, (c) => step(c, c.req.valid("param").id, "resume", c.req.valid("json").reason));
}

function step(c: AdminContext, id: string, name: "suspend" | "resume", reason: string | undefined) {
  const registry = c.get("registry");
  return changed(
    c,
    () => getClient(registry, id),
    (acting) => stepClient(registry, acting, id, name, reason ?? null),
    showClient,
  );
}

function showClient({ id, name, status, rpm, dailyQuota, grants, createdAt, updatedAt }: Client) {
  const shown = grants === "all" ? grants : [...grants];
  return { id, name, status, rpm, dailyQuota, grants: shown, createdAt, updatedAt };
}
