import { abortAllDurableObjects, createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { ColoCache } from "../../src/gateway/releases/colo-cache.ts";
import { probeOrigin } from "../../src/gateway/releases/hub-client.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { wakeRecent } from "../../src/gateway/wake.ts";
import worker from "../../src/gateway/worker.ts";
import { expectPlain } from "./expect-refusal.ts";
import {
  addClient,
  addOrigin,
  become,
  callTool,
  env,
  hubHasWritten,
  mcp,
  migrate,
  result,
  rpc,
  seen,
  send,
} from "./gateway-fixture.ts";

beforeAll(migrate);

describe("discovery", () => {
  it("says where the release came from: miss, then hit, then l2, then hub", async () => {
    const { token } = await addClient();
    const { origin, host } = await addOrigin();
    const states = [];
    for (let i = 0; i < 4; i++) {
      if (i >= 2) releases.clear();
      if (i === 3) await new ColoCache().forget(origin as CanonicalOrigin);
      states.push((await rpc(mcp(origin), "ping", { token })).headers.get("X-Gw-Discovery"));
    }
    expect(states).toEqual(["miss", "hit", "l2", "hub"]);
    expect(await seen(host, "/llms.txt")).toBe(1);
  });

  it("[10.2-stampede] makes one discovery for 50 concurrent cold requests", async () => {
    const { token } = await addClient();
    const { origin, host } = await addOrigin("lazy");
    const responses = await Promise.all(Array.from({ length: 50 }, () => rpc(mcp(origin), "tools/list", { token })));
    expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(await seen(host, "/llms.txt")).toBe(1);
    expect(await seen(host, "/tools/sum_numbers.js")).toBe(1);
    // One asked the hub; the others took what it brought into the isolate, not copies of their own.
    const states = responses.map(({ headers }) => headers.get("X-Gw-Discovery")).sort();
    expect(states).toEqual([...Array(49).fill("hit"), "miss"]);
  });

  it("[10.2-stampede] asks a failing origin once in ten seconds, however many call", async () => {
    const { token } = await addClient();
    const { origin, host } = await addOrigin("down");
    for (let round = 0; round < 3; round++) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => rpc(mcp(origin), "ping", { token })));
      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(502));
    }
    expect(await seen(host, "/llms.txt")).toBe(1);
  });

  it("[10.4-T40] survives the hub's restart without asking the origin again", async () => {
    const { token } = await addClient();
    const { origin, host } = await addOrigin();
    await rpc(mcp(origin), "ping", { token });
    releases.clear();
    await new ColoCache().forget(origin as CanonicalOrigin);
    await hubHasWritten(origin);
    await abortAllDurableObjects();
    const response = await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 2 });
    expect(response.headers.get("X-Gw-Discovery")).toBe("hub");
    expect(await result(response)).toMatchObject({ structuredContent: { result: 3 } });
    expect(await seen(host, "/llms.txt")).toBe(1);
  });

  it("is forced by a probe", async () => {
    const { origin, host } = await addOrigin();
    for (const times of [1, 2]) {
      const probe = await probeOrigin(env, origin as CanonicalOrigin);
      expect(await seen(host, "/llms.txt")).toBe(times);
      expect(probe).toMatchObject({ ok: true, attestations: [] });
      expect(probe.rejected.map(({ subject, code }) => `${subject} ${code}`)).toEqual(
        Array(2).fill("recipe no_declared_hash"),
      );
      expect(probe.ok && probe.skills.map(({ publicName }) => publicName)).toEqual(["sum_numbers", "fetch_twice"]);
    }
    await become(host, "down");
    expect(await probeOrigin(env, origin as CanonicalOrigin)).toMatchObject({ ok: false, code: "discovery_failed" });
  });

  it("is kept up by the cron for origins called lately, and for no others", async () => {
    const { token } = await addClient();
    const called = await addOrigin();
    const idle = await addOrigin();
    await rpc(mcp(called.origin), "ping", { token });
    await env.DB.prepare("UPDATE origins SET last_called_at = ? WHERE id = ?")
      .bind(Date.now() - 1_860_000, idle.id)
      .run();
    const before = await wakeRecent(env, Date.now());
    expect(before.failed).toBe(0);
    expect(before.woken).toBeGreaterThanOrEqual(1);
    expect(await seen(idle.host, "/llms.txt")).toBe(0);
  });
});

describe("browsers", () => {
  const allowed = { ALLOWED_BROWSER_ORIGINS: "https://app.example, http://localhost:3000" };
  const from = { Origin: "https://app.example" };

  it("[10.2-preflight] of an allowed web origin get their preflight answered, and only the headers that MCP needs", async () => {
    const headers = {
      ...from,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization, content-type, mcp-param-region, x-evil",
    };
    const response = await send("/mcp/shop.example", { method: "OPTIONS", headers }, allowed);
    expect(response.status).toBe(204);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("https://app.example");
    expect(response.headers.get("Access-Control-Allow-Methods")).toBe("GET, POST, OPTIONS");
    const names = response.headers.get("Access-Control-Allow-Headers")?.toLowerCase().split(", ") ?? [];
    expect(names).toEqual(
      expect.arrayContaining(["authorization", "content-type", "mcp-protocol-version", "mcp-param-region"]),
    );
    expect(names).not.toContain("x-evil");
    expect(response.headers.get("Vary")).toContain("Origin");
    expect(response.headers.has("Access-Control-Allow-Credentials")).toBe(false);
  });

  it("[10.2-cors-exposed] may read X-Gw-* and the status on every answer: 200, 202, 401, 403, 405, 415, 502", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const down = await addOrigin("down");
    const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const json = { "Content-Type": "application/json", Authorization: `Bearer ${token}`, ...from };
    const answers = [
      await rpc(mcp(origin), "ping", { token, headers: from, bindings: allowed }),
      await send(mcp(origin), { method: "POST", headers: json, body: notification }, allowed),
      await rpc(mcp(origin), "ping", { headers: from, bindings: allowed }),
      await rpc(mcp("https://unknown.example"), "ping", { token, headers: from, bindings: allowed }),
      await send("/mcp", { method: "GET", headers: from }, allowed),
      await send("/mcp", { method: "POST", headers: { ...json, "Content-Type": "text/plain" }, body: "x" }, allowed),
      await rpc(mcp(down.origin), "ping", { token, headers: from, bindings: allowed }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 202, 401, 403, 405, 415, 502]);
    for (const { headers } of answers) {
      expect(headers.get("Access-Control-Allow-Origin")).toBe("https://app.example");
      expect(headers.get("Access-Control-Expose-Headers")).toMatch(/X-Gw-Client.*X-Gw-Discovery.*X-Gw-RateLimit-Limit/);
      expect(headers.get("Vary")).toContain("Origin");
    }
  });

  it.each([
    ["https://gate.example/mcp", "https://gate.example", { PUBLIC_HOSTS: "gate.example" }, 401],
    ["https://gate.example/mcp", "https://gate.example", {}, 403],
    ["http://localhost:8787/mcp", "http://localhost:8787", {}, 401],
    ["http://localhost:8787/mcp", "http://localhost:3000", {}, 403],
    ["http://127.0.0.1:8787/mcp", "http://localhost:8787", {}, 403],
    ["https://gate.example/mcp", "null", { ALLOWED_BROWSER_ORIGINS: "https://app.example" }, 403],
    [
      "https://gate.example/mcp",
      "https://app.example.evil.example",
      { ALLOWED_BROWSER_ORIGINS: "https://app.example" },
      403,
    ],
    ["https://gate.example/mcp", "https://gate.example/", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "https://user@gate.example", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "https://gate.example:443", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "HTTPS://GATE.EXAMPLE", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "https://gate.example, https://app.example", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "", { PUBLIC_HOSTS: "gate.example" }, 403],
    ["https://gate.example/mcp", "http://app.example", { ALLOWED_BROWSER_ORIGINS: "https://app.example" }, 403],
  ])("at %s from %s with %j get %i", async (url, origin, bindings, status) => {
    expect((await send(url, { method: "POST", headers: { Origin: origin } }, bindings)).status).toBe(status);
  });

  it("answers without CORS headers to callers that are no pages", async () => {
    const { headers } = await send("/mcp", { method: "POST" });
    expect(headers.has("Access-Control-Allow-Origin")).toBe(false);
    expect(headers.get("Vary")).toContain("Origin");
  });
});

describe("pages for people and probes", () => {
  it("[10.2-help-page] GET and HEAD / say what this is, and nothing of the deployment", async () => {
    await addClient();
    const response = await send("/");
    const text = await response.text();
    expect([response.status, response.headers.get("Content-Type")]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; ?charset=utf-8$/i),
    ]);
    expect(text).toMatch(/^Skillgate\n/);
    expect(text.replace(/v1/g, "")).not.toMatch(/\d|sg_|cli_|advisory/);
    const head = await send("/", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("/healthz answers whatever the settings and the database are", async () => {
    const response = await send("/healthz", {}, { ATTESTATION_MODE: "nonsense", DB: env.EMPTY_DB });
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });

  it("/readyz is 200 when every part works", async () => {
    const response = await send("/readyz");
    const parts = { settings: "ok", database: "ok", rate_limiter: "ok", origin_hub: "ok", sandbox: "ok" };
    expect([response.status, await response.json()]).toEqual([200, { status: "ready", parts }]);
  });

  it.each([
    ["database", { DB: env.EMPTY_DB }],
    ["rate_limiter", { RATE_LIMITER: env.BROKEN_OBJECT }],
    ["origin_hub", { ORIGIN_HUB: env.BROKEN_OBJECT }],
  ])("/readyz is 503 and names the part when the %s fails", async (part, bindings) => {
    const response = await send("/readyz", {}, bindings);
    const body = (await response.json()) as { status: string; parts: Record<string, string> };
    expect([response.status, body.status]).toEqual([503, "not_ready"]);
    expect(Object.entries(body.parts).filter(([, state]) => state === "failed")).toEqual([[part, "failed"]]);
  });

  it("/readyz asked 30 times at once probes once", async () => {
    const bindings = { ...env };
    const prepare = vi.spyOn(env.DB, "prepare");
    const ready = async () => {
      const ctx = createExecutionContext();
      return (await worker.fetch(new Request("https://gate.example/readyz"), bindings, ctx)).status;
    };
    const statuses = await Promise.all(Array.from({ length: 30 }, ready));
    expect(statuses).toEqual(Array(30).fill(200));
    // What an earlier request left to do in the background may ask the database too.
    expect(prepare.mock.calls.filter(([query]) => query.startsWith("SELECT 1 FROM "))).toHaveLength(1);
    prepare.mockRestore();
  });

  it("/readyz is 503 bad_setting with a setting that is not understood", async () => {
    const response = await send("/readyz", {}, { SANDBOX_ENGINE: "v8" });
    const body = (await response.json()) as Record<string, unknown>;
    expect([response.status, body.error]).toEqual([503, "bad_setting"]);
    expect(body.parts).toMatchObject({ settings: "failed", sandbox: "failed", database: "ok" });
  });
});

describe("the operators' addresses", () => {
  it("exist on ADMIN_HOST alone where that is set", async () => {
    const bindings = { ADMIN_HOST: "admin.example" };
    expect((await send("https://gate.example/admin/api/v1/origins", {}, bindings)).status).toBe(404);
    expect((await send("https://admin.example/admin/api/v1/origins", {}, bindings)).status).toBe(401);
    expect((await send("https://admin.example.evil.example/admin/api/v1/origins", {}, bindings)).status).toBe(404);
    expect((await send("https://gate.example/%61dmin/api/v1/origins", {}, bindings)).status).toBe(404);
  });

  it.each([
    ["[code:bad_setting]", 503, "bad_setting", { ATTESTATION_MODE: "Enforcing" }],
    ["[code:not_found] on another host than ADMIN_HOST", 404, "not_found", { ADMIN_HOST: "admin.example" }],
  ])("%s is a problem (RFC 9457) below /admin/api/v1, and plain elsewhere", async (_, status, code, bindings) => {
    for (const path of ["/admin/api/v1", "/admin/api/v1/origins", "/admin/api/v1/nothing", "/%61dmin/api/v1/origins"]) {
      const response = await send(path, { headers: { Authorization: "Bearer x" } }, bindings);
      expect([response.status, response.headers.get("Content-Type")]).toEqual([status, "application/problem+json"]);
      expect(response.headers.get("Cache-Control")).toBe("no-store");
      expect(response.headers.has("Retry-After")).toBe(status === 503);
      const requestId = response.headers.get("X-Request-Id");
      const body = await response.json();
      expect(body).toMatchObject({ type: "about:blank", status, code, requestId, title: expect.any(String) });
    }
    for (const path of ["/admin", "/admin/api/v1x", "/admin/api"]) {
      await expectPlain(await send(path, {}, bindings), status, code);
    }
  });

  it("[code:discovery_failed] say so when an origin's hub does not answer a probe, and record nothing", async () => {
    const { id } = await addOrigin("good", "pending");
    const ours = `org_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    await env.DB.prepare("UPDATE origins SET id = ? WHERE id = ?").bind(ours, id).run();
    const ADMIN_TOKEN = "test-admin-token-0123456789";
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const bindings = { ADMIN_TOKEN, ORIGIN_HUB: env.BROKEN_OBJECT };
    for (const step of ["probe", "activate"]) {
      const response = await send(`/admin/api/v1/origins/${ours}/${step}`, { method: "POST", headers }, bindings);
      const body = await response.json();
      expect(body).toMatchObject({ status: 502, code: "discovery_failed", detail: "The origin's hub did not answer." });
    }
    const read = await send(`/admin/api/v1/origins/${ours}`, { headers }, { ADMIN_TOKEN });
    expect(await read.json()).toMatchObject({ status: "pending", probedAt: null });
  });
});
