import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { bootstrapRetiredAt, retireBootstrap } from "../registry/bootstrap.ts";
import { type AdminEnv, actingNow } from "./environment.ts";
import { Problem } from "./problem.ts";
import { adminRoute } from "./roles.ts";
import { json, Moment, problems } from "./shapes.ts";

const BootstrapBody = z
  .object({ retiredAt: Moment.nullable().openapi({ description: "null: ADMIN_TOKEN, where it is set, lets in." }) })
  .openapi("Bootstrap");
const tags = ["operators"];

const read = adminRoute({
  role: "viewer",
  method: "get",
  path: "/bootstrap",
  tags,
  summary: "Read whether ADMIN_TOKEN is retired",
  responses: { 200: json("Since when.", BootstrapBody), ...problems },
});

const retire = adminRoute({
  role: "admin",
  method: "post",
  path: "/bootstrap/retire",
  tags,
  summary: "Retire ADMIN_TOKEN",
  description:
    "From then on it lets nobody in, nor does a session opened with it. An admin who signed in without it does this, which shows that there is another way in; a row of the database brings it back. Again: nothing changes. Problems: `bad_state` (signed in with ADMIN_TOKEN).",
  responses: { 200: json("Since when.", BootstrapBody), ...problems },
});

export function addBootstrapRoutes(app: OpenAPIHono<AdminEnv>): void {
  app.openapi(read, async (c) => c.json({ retiredAt: await bootstrapRetiredAt(c.get("registry")) }, 200));
  app.openapi(retire, async (c) => {
    const { operator } = c.get("signedIn");
    if (operator.id === null) {
      throw new Problem("bad_state", { detail: "Sign in as an operator with the role admin, and retire it then." });
    }
    return c.json({ retiredAt: await retireBootstrap(c.get("registry"), actingNow(c), operator.id) }, 200);
  });
}
