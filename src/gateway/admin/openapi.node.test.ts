import { Validator } from "@seriousme/openapi-schema-validator";
import { type Handler, Hono } from "hono";
import { expect, it } from "vitest";

const ADMIN_TOKEN = "test-admin-token-0123456789";

interface GatewayModules {
  readonly createAdminApp: () => Hono;
  readonly trackRequest: Handler;
  readonly requireSettings: Handler;
}

/** Loaded at run time only: the validator needs Node's files, and the type checker's Node project knows no Workers globals. */
async function gatewayModules(): Promise<GatewayModules> {
  const load = (path: string) => import(new URL(path, import.meta.url).href);
  return { ...(await load("./app.ts")), ...(await load("../request-context.ts")) };
}

it("the served OpenAPI document is valid OpenAPI 3.1 and has no dangling reference", async () => {
  const { createAdminApp, trackRequest, requireSettings } = await gatewayModules();
  const gateway = new Hono().use(trackRequest).use(requireSettings).route("/admin/api/v1", createAdminApp());
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  // The document needs no database: no other binding is touched.
  const response = await gateway.request("/admin/api/v1/openapi.json", { headers }, { ADMIN_TOKEN });
  const document = (await response.json()) as { components: { schemas: object } };

  const validator = new Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  const names = Object.keys(document.components.schemas);
  for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
    expect(names).toContain(name);
  }
}, 60_000);
