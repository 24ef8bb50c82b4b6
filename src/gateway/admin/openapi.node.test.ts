import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";

interface AdminModules {
  readonly createAdminApp: () => object;
  readonly openApiDocument: (app: object) => { readonly components: { readonly schemas: object } };
}

/** Loaded at run time only: the validator needs Node's files, and the type checker's Node project knows no Workers globals. */
async function adminModules(): Promise<AdminModules> {
  const load = (path: string) => import(new URL(path, import.meta.url).href);
  return { ...(await load("./app.ts")), ...(await load("./document.ts")) };
}

it("the OpenAPI document is valid OpenAPI 3.1 and has no dangling reference", async () => {
  const { createAdminApp, openApiDocument } = await adminModules();
  // As it is served.
  const document = JSON.parse(JSON.stringify(openApiDocument(createAdminApp())));

  const validator = new Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  const names = Object.keys(document.components.schemas);
  for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
    expect(names).toContain(name);
  }
  // What a reference says beside it still holds, so that null is taken by none of both: it has to be the other part of an `anyOf`.
  const alongside = nodesOf(document).flatMap(({ allOf }) => (Array.isArray(allOf) ? allOf : []));
  expect(alongside.length).toBeGreaterThan(0);
  expect(alongside.filter(({ type }) => Array.isArray(type) && type.includes("null"))).toEqual([]);
}, 60_000);

interface Node {
  readonly allOf?: readonly { readonly type?: unknown }[];
}

function nodesOf(value: unknown): readonly Node[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(nodesOf)];
}
