import { beforeAll, describe, expect, it, vi } from "vitest";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import {
  addClient,
  addOrigin,
  become,
  callTool,
  env,
  mcp,
  migrate,
  result,
  rpc,
  seen,
  send,
} from "./gateway-fixture.ts";

beforeAll(migrate);

describe("a call", () => {
  it("goes from a bearer token to a verified tool's result", async () => {
    const { token, id } = await addClient();
    const { origin } = await addOrigin();
    const response = await callTool(mcp(origin), token, "sum_numbers", { a: 2, b: 40 });
    expect(response.status).toBe(200);
    expect(response.headers.get("X-Gw-Client")).toBe(id);
    expect(response.headers.get("X-Gw-Discovery")).toBe("miss");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await result(response)).toMatchObject({ structuredContent: { result: 42 }, isError: false });
  });

  it("answers the path form and the query form alike", async () => {
    const { token } = await addClient();
    const { origin, host } = await addOrigin();
    const lists = [];
    for (const path of [
      mcp(origin),
      `/mcp/${host}`,
      `/mcp/${host}?origin=${encodeURIComponent(origin)}`,
      mcp(`${origin.toUpperCase().replace("HTTPS", "https")}/`),
    ]) {
      lists.push(JSON.stringify(await result(await rpc(path, "tools/list", { token }))));
    }
    expect(new Set(lists).size).toBe(1);
  });

  it("[10.1-A] may fetch from its origin more than once", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const answer = await result(await callTool(mcp(origin), token, "fetch_twice"));
    expect(answer).toMatchObject({ structuredContent: { result: ["/api/one", "/api/two"] } });
  });

  it("is answered to notifications with 202 and nothing else", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const response = await send(mcp(origin), {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    });
    expect([response.status, await response.text()]).toEqual([202, ""]);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
  });

  it("takes the scheme of the Authorization header in any case", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const headers = { Authorization: `bEARER ${token}` };
    expect((await rpc(mcp(origin), "ping", { headers })).status).toBe(200);
  });

  it("[10.2-client-id-header] identifies the client by our id, never by text that somebody chose", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const response = await rpc(mcp(origin), "ping", { token });
    expect(response.headers.get("X-Gw-Client")).toMatch(/^cli_[0-9a-z_]+$/);
  });

  it("[10.2-client-id-header] survives an id in the database that no header can hold", async () => {
    const { id, token } = await addClient();
    const { origin } = await addOrigin();
    const odd = "cli_odd\r\nX-Evil: 1\u0000é";
    await env.DB.batch([
      env.DB.prepare(
        "INSERT INTO clients SELECT ?, name, status, rpm, daily_quota, grant_all, created_at, updated_at FROM clients WHERE id = ?",
      ).bind(odd, id),
      env.DB.prepare("UPDATE client_tokens SET client_id = ? WHERE client_id = ?").bind(odd, id),
    ]);
    const response = await rpc(mcp(origin), "ping", { token });
    expect(response.status).toBe(200);
    expect([response.headers.has("X-Gw-Client"), response.headers.has("X-Evil")]).toEqual([false, false]);
  });

  it("writes when the origin was last called, once a minute", async () => {
    const { token } = await addClient();
    const { origin, id } = await addOrigin();
    const read = async () => {
      const row = await env.DB.prepare("SELECT last_called_at AS at FROM origins WHERE id = ?")
        .bind(id)
        .first<{ at: number | null }>();
      return row?.at ?? null;
    };
    await rpc(mcp(origin), "ping", { token });
    const first = await read();
    expect(first).toBeGreaterThan(Date.now() - 10_000);
    await rpc(mcp(origin), "ping", { token });
    expect(await read()).toBe(first);
  });
});

describe("both eras", () => {
  const META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const modern = (method: string, name?: string) => ({
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": method,
    ...(name === undefined ? {} : { "Mcp-Name": name }),
  });

  it("are served at one address: initialize and server/discover", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    expect(await result(await rpc(mcp(origin), "initialize", { token, params }))).toMatchObject({
      protocolVersion: "2025-11-25",
      serverInfo: { name: "skillgate" },
    });
    const headers = modern("server/discover");
    const discovered = await rpc(mcp(origin), "server/discover", { token, headers, params: { _meta: META } });
    expect(await result(discovered)).toMatchObject({ resultType: "complete", cacheScope: "private" });
  });

  it("[code:bad_header] a modern request whose headers contradict its body is refused", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const params = { name: "sum_numbers", arguments: { a: 1, b: 2 }, _meta: META };
    const headers = modern("tools/call", "fetch_twice");
    const response = await rpc(mcp(origin), "tools/call", { token, headers, params });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020, data: { code: "bad_header" } } });
  });

  it("[10.2-batch] a batch is 400 and not executed", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const message = { jsonrpc: "2.0", id: 1, method: "ping" };
    const response = await send(mcp(origin), {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify([message, message]),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
  });

  it.each([
    ["modern", "cancelled"],
    ["legacy", "ok"],
  ])("a %s client that disconnects leaves its call %s", async (era, outcome) => {
    const { token } = await addClient();
    const { origin } = await addOrigin("slow");
    await rpc(mcp(origin), "ping", { token });
    const lines: string[] = [];
    const spy = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
    const controller = new AbortController();
    const params = { name: "slow", arguments: {}, ...(era === "modern" ? { _meta: META } : {}) };
    const headers = era === "modern" ? modern("tools/call", "slow") : {};
    const pending = rpc(mcp(origin), "tools/call", { token, headers, params, signal: controller.signal });
    setTimeout(() => controller.abort(), 200);
    await pending;
    spy.mockRestore();
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ tool: "slow", outcome });
  });
});

describe("policy", () => {
  it("is in force at once in the isolate that changed it", async () => {
    const { token, id } = await addClient();
    const { origin } = await addOrigin();
    expect((await rpc(mcp(origin), "ping", { token })).status).toBe(200);
    await env.DB.prepare("UPDATE client_tokens SET revoked_at = 1 WHERE client_id = ?").bind(id).run();
    expect((await rpc(mcp(origin), "ping", { token })).status).toBe(200);
    forgetPolicy();
    expect((await rpc(mcp(origin), "ping", { token })).status).toBe(401);
  });

  it.each([
    ["a token that was revoked", "UPDATE client_tokens SET revoked_at = 1 WHERE client_id = ?1", 401],
    ["an origin that was suspended", "UPDATE origins SET status = 'suspended' WHERE id = ?2", 403],
  ])("is asked again after a discovery: %s meanwhile is refused", async (_what, statement, status) => {
    const { token, id } = await addClient();
    const { origin, host, id: originId } = await addOrigin("waiting");
    const waiting = rpc(mcp(origin), "tools/list", { token });
    while ((await seen(host, "/llms.txt")) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await env.DB.prepare(`${statement} AND (?1 = ?1 OR ?2 = ?2)`).bind(id, originId).run();
    forgetPolicy();
    await become(host, "good");
    expect((await waiting).status).toBe(status);
  });

  it("costs no read of D1 when warm", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    const prepare = vi.spyOn(env.DB, "prepare");
    for (let i = 0; i < 20; i++)
      expect((await callTool(mcp(origin), token, "sum_numbers", { a: i, b: 1 })).status).toBe(200);
    // The hub may still be keeping, in the background, what the origin publishes; a request would ask for these.
    const asked = prepare.mock.calls.flat().filter((sql) => /from "(?:client_tokens|origins)"/.test(sql));
    expect(asked).toEqual([]);
    prepare.mockRestore();
  });
});

describe("the log", () => {
  it("has one line a request, without tokens, arguments, results or bodies", async () => {
    const { token, id } = await addClient({ rpm: 100 });
    const { origin } = await addOrigin();
    const lines: string[] = [];
    const spies = (["log", "warn", "error", "info", "debug"] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation((...args) => void lines.push(args.map(String).join(" "))),
    );
    const response = await callTool(mcp(origin), token, "sum_numbers", { a: 31337, b: 11 });
    await callTool(mcp(origin), token, "sum_numbers", { a: "swordfish", b: 11 });
    await callTool(mcp(origin), token, "swordfish");
    await callTool(mcp(`${origin}?swordfish`), token, "sum_numbers");
    await rpc("/mcp?origin=swordfish", "swordfish", { token: "sg_swordfish" });
    await send("/swordfish?token=swordfish");
    for (const spy of spies) spy.mockRestore();
    expect(lines.length).toBe(6);
    const text = lines.join("\n");
    for (const secret of [token, token.slice(3, 20), "31337", "31348", "swordfish"]) expect(text).not.toContain(secret);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      event: "request",
      requestId: response.headers.get("X-Request-Id"),
      route: "/mcp",
      status: 200,
      client: id,
      origin,
      method: "tools/call",
      tool: "sum_numbers",
      toolSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      outcome: "ok",
      discovery: "miss",
      gasUsed: expect.any(Number),
      ms: {
        total: expect.any(Number),
        auth: expect.any(Number),
        limiter: expect.any(Number),
        serve: expect.any(Number),
      },
    });
  });
});
