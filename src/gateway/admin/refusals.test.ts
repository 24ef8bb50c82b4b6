import { beforeAll, describe, expect, it } from "vitest";
import { createAdminApp } from "./app.ts";
import { openApiDocument } from "./document.ts";
import { call, freshDatabase, newClient, register } from "./fixture.ts";

interface Described {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { example?: unknown };
  }[];
}

/** Of every route with a JSON body: its method, and its path with ids that could be ones. */
const ROUTES = Object.entries(openApiDocument(createAdminApp()).paths ?? {}).flatMap(([path, operations]) =>
  Object.entries(operations as Readonly<Record<string, Described>>)
    .filter(([, { requestBody }]) => requestBody !== undefined && "application/json" in requestBody.content)
    .map(([method, { parameters = [] }]) => {
      const idOf = (name: string) =>
        String(parameters.find((one) => one.name === name)?.schema.example ?? "0".repeat(64));
      return [method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idOf(name)), path] as const;
    }),
);

/** Their body is of any members, each judged by itself. */
const FREE = new Set(["/attestations", "/trust-root"]);

beforeAll(freshDatabase);

describe("whatever is wrong with a body, the refusal names the member and what it may be", () => {
  it("there are routes to try", () => expect(ROUTES.length).toBeGreaterThan(25));

  it.each(ROUTES)("%s %s", async (method, path, template) => {
    const refused = async (what: string, raw: string, type = "application/json") => {
      const { status, body } = await call(method, path, undefined, { raw, headers: { "Content-Type": type } });
      const [first] = body?.errors ?? [];
      const shown = `${method} ${path} ${what}: ${JSON.stringify(body)}`;
      expect([400, 415], shown).toContain(status);
      expect(first?.field, shown).toMatch(/./);
      expect(first?.message, shown).toMatch(/\w/);
      for (const { message } of body.errors) expect(message, shown).not.toMatch(/^(?:Invalid|Too |Unrec)/);
      return { field: first.field, message: first.message, code: body.code, status };
    };
    expect(await refused("no JSON", "{")).toMatchObject({ code: "bad_json", field: "body" });
    expect(await refused("a text", '"x"')).toMatchObject({ code: "bad_request", field: "body" });
    expect(await refused("null", "null")).toMatchObject({ code: "bad_request", field: "body" });
    expect(await refused("another type", "{}", "text/plain")).toMatchObject({ status: 415, field: "Content-Type" });
    if (template !== "/attestations") {
      expect(await refused("a list", "[]")).toMatchObject({ code: "bad_request", field: "body" });
    }
    if (!FREE.has(template)) {
      const unknown = await call(method, path, { unheardOf: 1 });
      expect(unknown.body.errors).toContainEqual({ field: "unheardOf", message: "is not known here" });
    }
  });
});

describe("what a body names that is not there is named by its place", () => {
  const NOBODY = `org_${"0".repeat(24)}`;
  let client = "";
  let origin = "";

  beforeAll(async () => {
    client = await newClient();
    origin = await register("https://publisher.example");
  });

  const rule = (originId: string, deny: readonly string[]) => ({ originId, allow: null, deny });

  it.each([
    ["PATCH", "", () => ({ grants: [origin, NOBODY] }), "grants.1"],
    ["PUT", "/tools", () => ({ items: [rule(origin, ["a"]), rule(NOBODY, ["a"])] }), "items.1.originId"],
    ["PUT", "/tools", () => ({ items: [rule(NOBODY, [])] }), "items.0.originId"],
    ["PUT", "/limits", () => ({ items: [{ originId: NOBODY, tool: null, rpm: 1 }] }), "items.0.originId"],
  ] as const)("[code:unknown_origin] %s /clients/{id}%s", async (method, path, body, field) => {
    const kept = { items: [rule(origin, ["x"])] };
    expect((await call("PUT", `/clients/${client}/tools`, kept)).status).toBe(200);
    const answer = await call(method, `/clients/${client}${path}`, body());
    expect(answer.body).toMatchObject({ status: 400, code: "unknown_origin", errors: [{ field }], id: NOBODY });
    expect((await call("GET", `/clients/${client}/tools`)).body).toEqual(kept);
  });

  it.each([
    ["POST", "/origins", { origin: "ftp://a.example" }, "bad_origin", "origin"],
    ["POST", "/origins", { origin: "https://publisher.example" }, "already_exists", "origin"],
    ["PUT", "/clients/{id}/tools", { items: 5 }, "bad_request", "items"],
    ["PUT", "/clients/{id}/tools", { items: [{}] }, "bad_request", "items.0.originId"],
    ["PUT", "/clients/{id}/limits", { items: [5] }, "bad_request", "items.0"],
    ["PUT", "/clients/{id}/limits", {}, "bad_request", "items"],
  ])("%s %s %j", async (method, path, body, code, field) => {
    const answer = await call(method, path.replace("{id}", client), body);
    expect({ code: answer.body.code, field: answer.body.errors[0].field }).toEqual({ code, field });
    expect(answer.body.errors[0].message).not.toMatch(/^(?:Invalid|Too |Unrec)/);
  });

  it("[code:bad_origin] in a query, too", async () => {
    const { body } = await call("GET", "/attestations?origin=nowhere");
    expect(body).toMatchObject({ status: 400, code: "bad_origin", errors: [{ field: "origin" }] });
  });
});
