import { beforeEach, describe, expect, it } from "vitest";
import { MAX_ADMIN_BODY_BYTES } from "./app.ts";
import { adminGateway, call, freshDatabase, newClient, register, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

describe("every refusal is a problem", () => {
  it("with type, title, status, detail, code and request id", async () => {
    const { headers, body } = await call("POST", "/clients", { name: "", rpm: null, grants: "all" });
    expect(body).toEqual({
      type: "about:blank",
      title: "A parameter or a member of the body is not valid.",
      status: 400,
      detail: "name must not be empty.",
      code: "bad_request",
      errors: [{ field: "name", message: "must not be empty" }],
      requestId: headers.get("X-Request-Id"),
    });
  });

  it("[code:not_found] for an unknown path", async () => {
    for (const path of ["", "/", "/origin", "/origins/", "/clients/x/tokens/y/z"]) {
      expect((await call("GET", path)).body).toMatchObject({ status: 404, code: "not_found" });
    }
  });

  it("[code:not_found] for an id that cannot be one of ours", async () => {
    for (const id of ["x", "org_", `org_${"g".repeat(24)}`, `cli_${"0".repeat(24)}`, "%2e%2e", "a".repeat(5000)]) {
      expect((await call("GET", `/origins/${id}`)).body).toMatchObject({ status: 404, code: "not_found" });
    }
  });

  it.each([
    ["PUT", "/origins", "POST, GET, HEAD"],
    ["DELETE", "/clients/cli_1", "GET, HEAD, PATCH"],
    ["GET", "/origins/org_1/probe", "POST"],
    ["OPTIONS", "/audit", "GET, HEAD"],
    ["POST", "/openapi.json", "GET, HEAD"],
  ])("[code:method_not_allowed] for %s %s", async (method, path, allow) => {
    const { status, headers, body } = await call(method, path);
    expect({ status, code: body.code, allow: headers.get("Allow") }).toEqual({
      status: 405,
      code: "method_not_allowed",
      allow,
    });
    expect(headers.get("Cache-Control")).toBe("no-store");
  });

  it("answers HEAD like GET, without a body", async () => {
    const { status, body } = await call("HEAD", "/origins");
    expect({ status, body }).toEqual({ status: 200, body: null });
  });

  it.each(["{", " ", "nul", '{"a":1}}', "[".repeat(60_000)])(
    "[code:bad_json] for a body that is not JSON",
    async (raw) => {
      const { body } = await call("POST", "/origins", undefined, {
        raw,
        headers: { "Content-Type": "application/json" },
      });
      expect(body).toMatchObject({ status: 400, code: "bad_json" });
    },
  );

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data"])(
    "[code:unsupported_media_type] for %s",
    async (type) => {
      for (const path of ["/origins", "/clients", "/clients/cli_0123456789abcdef01234567/tokens"]) {
        const { body } = await call("POST", path, undefined, { raw: "{}", headers: { "Content-Type": type } });
        expect(body).toMatchObject({ status: 415, code: "unsupported_media_type" });
      }
    },
  );

  it("takes an empty body for no body, whatever its media type", async () => {
    const headers = { "Content-Type": "application/json" };
    const token = await call("POST", `/clients/${await newClient()}/tokens`, undefined, { raw: "", headers });
    expect(token.status).toBe(201);
    const origin = await call("POST", "/origins", undefined, { raw: "", headers });
    expect(origin.body).toMatchObject({ status: 400, code: "bad_request", detail: "origin must be a string." });
  });

  it("takes a charset after the media type", async () => {
    const headers = { "Content-Type": "Application/JSON; charset=utf-8" };
    expect((await call("POST", "/origins", { origin: "https://a.example" }, { headers })).status).toBe(201);
  });

  it.each([
    [-1, 400],
    [0, 400],
    [1, 413],
  ])("[code:too_large] [budget:admin body] %i bytes past the limit", async (past, status) => {
    const raw = JSON.stringify({ name: "x" }).padEnd(MAX_ADMIN_BODY_BYTES + past, " ");
    const headers = { "Content-Type": "application/json" };
    expect((await call("POST", "/clients", undefined, { raw, headers })).status).toBe(status);
    expect((await call("POST", "/clients", undefined, { raw: streamOf(raw), headers })).status).toBe(status);
  });

  it("[code:internal] tells an unexpected failure by its request id alone", async () => {
    await testEnv.DB.prepare("DROP TABLE client_tokens").run();
    const { status, headers, body } = await call("GET", `/clients/${await newClient()}/tokens`);
    expect({ status, code: body.code, requestId: body.requestId }).toEqual({
      status: 500,
      code: "internal",
      requestId: headers.get("X-Request-Id"),
    });
    expect(JSON.stringify(body)).not.toMatch(/client_tokens|SELECT|D1_|SQLITE/);
  });

  it("no answer lets another web origin read it", async () => {
    const headers = { Origin: "https://evil.example" };
    for (const [method, path] of [
      ["GET", "/origins"],
      ["OPTIONS", "/origins"],
      ["GET", "/x"],
    ] as const) {
      const answer = await call(method, path, undefined, { headers });
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
    }
  });
});

describe("pages", () => {
  it("walk through a list once, in order, whatever is created meanwhile", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await register(`https://s${i}.example`));
    const first = await call("GET", "/origins?limit=2");
    expect(first.body.items.map((item: { id: string }) => item.id).length).toBe(2);
    ids.push(await register("https://late.example"));
    const seen = [...first.body.items];
    for (let cursor = first.body.nextCursor; cursor !== null; ) {
      const { body } = await call("GET", `/origins?limit=2&cursor=${cursor}`);
      seen.push(...body.items);
      cursor = body.nextCursor;
    }
    expect(seen.map((item) => item.id).sort()).toEqual([...ids].sort());
    expect(new Set(seen.map((item) => item.id)).size).toBe(6);
    expect(seen).toEqual(seen.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)));
  });

  it("a page that ends with the list has no cursor", async () => {
    await register("https://a.example");
    expect((await call("GET", "/origins?limit=1")).body.nextCursor).toBeNull();
    expect((await call("GET", "/clients")).body).toEqual({ items: [], nextCursor: null });
  });

  it("the audit comes newest first and hides nothing but the order", async () => {
    for (let i = 0; i < 3; i++) await register(`https://s${i}.example`);
    const first = await call("GET", "/audit?limit=2");
    expect(first.body.items.map((row: { seq: number }) => row.seq)).toEqual([3, 2]);
    const second = await call("GET", `/audit?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({
      items: [{ seq: 1, actor: "admin-token", action: "origin.create", detail: { origin: "https://s0.example" } }],
      nextCursor: null,
    });
  });

  it.each(["limit=0", "limit=201", "limit=1e1", "limit=-1", "limit=", "limit=1&limit=2", "limit=1.5"])(
    "[code:bad_request] refuses %s naming the field and the limit",
    async (query) => {
      const { body } = await call("GET", `/audit?${query}`);
      expect(body).toMatchObject({ status: 400, code: "bad_request", errors: [{ field: "limit" }] });
      expect(body.detail).toBe("limit must be a whole number from 1 to 200.");
    },
  );

  it.each([
    "x",
    "!!!",
    btoa("[1]"),
    btoa("5.5"),
    btoa('{"a":1}'),
    btoa('["1","2"]'),
    "a".repeat(2000),
    "",
    ".",
    "WzEsIngiXQ.",
  ])("refuses the cursor %s", async (cursor) => {
    for (const path of ["/origins", "/audit", "/clients"]) {
      const { body } = await call("GET", `${path}?cursor=${encodeURIComponent(cursor)}`);
      expect(body).toMatchObject({ status: 400, errors: [{ field: "cursor" }] });
    }
  });

  it("[code:bad_request] refuses an unknown parameter by its name", async () => {
    expect((await call("GET", "/origins?limmit=5")).body.detail).toBe("limmit is not known here.");
  });
});

describe("the OpenAPI document", () => {
  it("is OpenAPI 3.1 and describes every route", async () => {
    const { body } = await call("GET", "/openapi.json");
    expect(body.openapi).toBe("3.1.0");
    const described = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = adminGateway()
      .routes.filter(({ method, path }) => method !== "ALL" && path.startsWith("/admin/api/v1/"))
      .map(({ method, path }) => `${method} ${path.slice("/admin/api/v1".length).replace(/:(\w+)/g, "{$1}")}`);
    expect([...described, "GET /openapi.json", "GET /docs"].sort()).toEqual([...new Set(served)].sort());
  });

  it("names the parameters of every path, a summary and a problem for every operation", async () => {
    const { body } = await call("GET", "/openapi.json");
    for (const [path, item] of Object.entries<Record<string, Operation>>(body.paths)) {
      for (const operation of Object.values(item)) {
        const inPath = (operation.parameters ?? []).filter((p) => p.in === "path" && p.required);
        expect(inPath.map((p) => p.name)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
        expect(operation.summary).toBeTruthy();
        expect(Object.keys(operation.responses).length).toBe(2);
        expect(operation.responses.default?.content).toHaveProperty(["application/problem+json"]);
      }
    }
    expect(Object.keys(body.components.securitySchemes)).toEqual(["bearer", "session", "access"]);
    expect(body.security).toEqual([{ bearer: [] }, { session: [] }, { access: [] }]);
  });
});

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

function streamOf(text: string): ReadableStream {
  return new Blob([text]).stream();
}
