import { beforeEach, describe, expect, it } from "vitest";
import { call, freshDatabase, newClient, register, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

describe("a client's tools", () => {
  it("are all until rules are set, which replace those before, in a fixed order", async () => {
    const client = await newClient();
    const [a, b] = [await register("https://a.example"), await register("https://b.example")].sort();
    const path = `/clients/${client}/tools`;
    expect((await call("GET", path)).body).toEqual({ items: [] });
    const wanted = [
      { originId: b, allow: [], deny: [] },
      { originId: a, allow: ["x", "shop__x", "x"], deny: ["y"] },
    ];
    const put = await call("PUT", path, { items: wanted });
    const kept = [
      { originId: a, allow: ["shop__x", "x"], deny: ["y"] },
      { originId: b, allow: [], deny: [] },
    ];
    expect([put.status, put.body]).toEqual([200, { items: kept }]);
    expect((await call("GET", path)).body).toEqual({ items: kept });
    const [row] = (await call("GET", "/audit")).body.items;
    expect(row).toMatchObject({ action: "client.tools", subject: client, detail: { tools: kept } });
    // The same again changes nothing, and an origin without a list is none.
    await call("PUT", path, { items: kept });
    expect((await call("GET", "/audit")).body.items[0].seq).toBe(row.seq);
    const none = { items: [{ originId: a, allow: null, deny: [] }] };
    expect((await call("PUT", path, none)).body).toEqual({ items: [] });
    expect((await testEnv.DB.prepare("SELECT count(*) AS n FROM client_tools").first())?.n).toBe(0);
  });

  it.each([
    [{}, "items"],
    [{ items: [{ originId: "x", allow: null, deny: [] }] }, "items.0.originId"],
    [{ items: [{ originId: `org_${"0".repeat(24)}`, deny: [] }] }, "items.0.allow"],
    [{ items: [{ originId: `org_${"0".repeat(24)}`, allow: [""], deny: [] }] }, "items.0.allow.0"],
    [{ items: [{ originId: `org_${"0".repeat(24)}`, allow: null, deny: ["a b"] }] }, "items.0.deny.0"],
    [{ items: Array(2).fill({ originId: `org_${"0".repeat(24)}`, allow: null, deny: [] }) }, "items"],
    [
      {
        items: [
          { originId: `org_${"0".repeat(24)}`, allow: null, deny: Array.from({ length: 1_001 }, (_, i) => `t${i}`) },
        ],
      },
      "items",
    ],
  ])("[code:bad_request] %j names %s", async (body, field) => {
    const answer = await call("PUT", `/clients/${await newClient()}/tools`, body);
    expect(answer.body).toMatchObject({ status: 400, code: "bad_request", errors: [{ field }] });
  });

  it("[code:unknown_origin] name registered origins, and belong to a client that exists", async () => {
    const items = [{ originId: `org_${"0".repeat(24)}`, allow: null, deny: ["x"] }];
    const client = await newClient();
    expect((await call("PUT", `/clients/${client}/tools`, { items })).body.code).toBe("unknown_origin");
    for (const list of ["tools", "limits"]) {
      const path = `/clients/cli_${"0".repeat(24)}/${list}`;
      expect((await call("GET", path)).body.code).toBe("not_found");
      expect((await call("PUT", path, { items: [] })).body.code).toBe("not_found");
    }
  });
});

describe("a client's limits on origins and tools", () => {
  it("replace those before, and are in the audit log", async () => {
    const client = await newClient();
    const origin = await register("https://a.example");
    const path = `/clients/${client}/limits`;
    const items = [
      { originId: origin, tool: "x", rpm: 0 },
      { originId: origin, tool: null, rpm: 1_000_000 },
    ];
    const kept = [items[1], items[0]];
    expect((await call("PUT", path, { items })).body).toEqual({ items: kept });
    expect((await call("GET", path)).body).toEqual({ items: kept });
    expect((await call("GET", "/audit")).body.items[0]).toMatchObject({
      action: "client.limits",
      detail: { limits: kept },
    });
    expect((await call("PUT", path, { items: [] })).body).toEqual({ items: [] });
  });

  it.each([
    [{ tool: null, rpm: null }, "items.0.rpm"],
    [{ tool: null, rpm: -1 }, "items.0.rpm"],
    [{ tool: null, rpm: 1_000_001 }, "items.0.rpm"],
    [{ tool: "", rpm: 1 }, "items.0.tool"],
  ])("[code:bad_request] %j names %s", async (limit, field) => {
    const items = [{ originId: `org_${"0".repeat(24)}`, ...limit }];
    const answer = await call("PUT", `/clients/${await newClient()}/limits`, { items });
    expect(answer.body).toMatchObject({ code: "bad_request", errors: [{ field }] });
  });
});

describe("a client", () => {
  it("[code:bad_state] is suspended and resumed, each from the other state alone", async () => {
    const client = await newClient();
    const step = (name: string, body?: object) => call("POST", `/clients/${client}/${name}`, body);
    expect((await step("resume")).body).toMatchObject({ status: 409, code: "bad_state", id: client });
    expect((await step("suspend", { reason: "Too loud." })).body.status).toBe("suspended");
    expect((await step("suspend")).body.code).toBe("bad_state");
    expect((await call("GET", "/audit")).body.items[0]).toMatchObject({
      action: "client.suspend",
      detail: { reason: "Too loud." },
    });
    expect((await step("resume")).body.status).toBe("active");
  });
});

describe("inspection tokens", () => {
  it("live for five minutes, are the operator's in the audit log, and take no place of the client's own", async () => {
    const client = await newClient();
    const before = Date.now();
    const { status, body } = await call("POST", `/clients/${client}/inspection-tokens`);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      kind: "inspection",
      label: null,
      lastUsedAt: null,
      token: expect.stringMatching(/^sg_/),
    });
    expect(body.expiresAt - body.createdAt).toBe(300_000);
    expect(body.createdAt).toBeGreaterThanOrEqual(before);
    expect((await call("GET", "/audit")).body.items[0]).toMatchObject({
      action: "client.token.inspect",
      actor: "admin-token",
      subject: body.id,
    });
    expect((await call("POST", `/clients/${client}/tokens`, { label: " CI " })).body).toMatchObject({
      kind: "client",
      label: "CI",
    });
  });

  it("[code:too_many_tokens] [code:bad_state] are 50 a client at once, of active clients, and forgotten a day after their end", async () => {
    const client = await newClient();
    const path = `/clients/${client}/inspection-tokens`;
    const insert = testEnv.DB.prepare(
      "INSERT INTO client_tokens (id, client_id, token_sha256, created_at, expires_at, kind) VALUES (?1, ?2, ?1, 0, ?3, 'inspection')",
    );
    const rows = Array.from({ length: 50 }, (_, i) => insert.bind(`tok_${i}`, client, Date.now() + 60_000));
    await testEnv.DB.batch([insert.bind("old", client, Date.now() - 86_500_000), ...rows.slice(1)]);
    expect((await call("POST", path)).status).toBe(201);
    expect(await testEnv.DB.prepare("SELECT 1 FROM client_tokens WHERE id = 'old'").first()).toBeNull();
    expect((await call("POST", path)).body.code).toBe("too_many_tokens");
    await call("POST", `/clients/${client}/suspend`);
    expect((await call("POST", path)).body.code).toBe("bad_state");
  });
});
