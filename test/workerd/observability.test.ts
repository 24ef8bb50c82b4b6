import { beforeAll, describe, expect, it, vi } from "vitest";
import { adminFailures } from "../../src/gateway/auth/failures.ts";
import { addClient, addOrigin, callTool, env, mcp, migrate, rpc, send } from "./gateway-fixture.ts";

const ADMIN_TOKEN = "observability-admin-token";
const operator = { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } };
const bindings = { ADMIN_TOKEN };

beforeAll(async () => {
  await migrate();
  adminFailures.clear();
});

async function readMetrics(): Promise<ReadonlyMap<string, number>> {
  const response = await send("/metrics", operator, bindings);
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

describe("GET /metrics", () => {
  it("counts requests, refusals, tool calls and gas of all clients, and names none of them", async () => {
    const { origin } = await addOrigin();
    const { id, token } = await addClient();
    const before = await readMetrics();
    for (let index = 0; index < 3; index++) await callTool(mcp(origin), token, "sum_numbers", { a: index, b: 1 });
    await rpc(mcp(origin), "ping", { token: "sg_junk" });
    const after = await readMetrics();
    const grown = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0);
    expect(grown('skillgate_requests_total{route="/mcp",status="200"}')).toBe(3);
    expect(grown('skillgate_requests_total{route="/mcp",status="401"}')).toBe(1);
    expect(grown('skillgate_refusals_total{code="unauthorized"}')).toBe(1);
    expect(grown('skillgate_tool_calls_total{outcome="ok"}')).toBe(3);
    expect(grown("skillgate_tool_gas_total")).toBeGreaterThan(0);
    const text = [...after.keys()].join("\n");
    for (const secret of [id, token, origin, "sum_numbers"]) expect(text).not.toContain(secret);
  });

  it("[code:unauthorized] is for operators alone, and for nobody while there is no operator", async () => {
    const { token } = await addClient();
    for (const authorization of [undefined, `Bearer ${token}`, `Bearer ${ADMIN_TOKEN}x`]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
      expect((await send("/metrics", { headers }, bindings)).status).toBe(401);
    }
    expect((await send("/metrics", operator, { ADMIN_TOKEN: "" })).status).toBe(401);
  });

  it("[code:not_found] is on the operators' host alone", async () => {
    expect((await send("/metrics", operator, { ...bindings, ADMIN_HOST: "admin.example" })).status).toBe(404);
    const there = await send("https://admin.example/metrics", operator, { ...bindings, ADMIN_HOST: "admin.example" });
    expect(there.status).toBe(200);
  });

  it("[code:method_not_allowed] is only read", async () => {
    const response = await send("/metrics", { method: "POST", ...operator }, bindings);
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("[code:metrics_unavailable] says that its Durable Object fails, and loses nothing meanwhile", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const before = await readMetrics();
    await send("/", {}, bindings);
    const down = await send("/metrics", operator, { ...bindings, METRICS: env.BROKEN_OBJECT });
    expect([down.status, down.headers.get("Retry-After")]).toEqual([503, "5"]);
    expect(await down.json()).toMatchObject({ error: "metrics_unavailable" });
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
    const series = 'skillgate_requests_total{route="/",status="200"}';
    expect(((await readMetrics()).get(series) ?? 0) - (before.get(series) ?? 0)).toBe(1);
  });
});

describe("Server-Timing", () => {
  it("tells an operator how long each step took where the setting is on, and nobody else", async () => {
    const { origin } = await addOrigin();
    const { token } = await addClient();
    const call = { token, params: { name: "sum_numbers", arguments: { a: 1, b: 2 } } };
    const on = { ...bindings, SERVER_TIMING: "true" };
    const asOperator = { "X-Gw-Operator": bindings.ADMIN_TOKEN };
    const timing = async (options: object) =>
      (await rpc(mcp(origin), "tools/call", { ...call, ...options })).headers.get("Server-Timing");
    expect(await timing({})).toBeNull();
    expect(await timing({ bindings, headers: asOperator })).toBeNull();
    expect(await timing({ bindings: on })).toBeNull();
    expect(await timing({ bindings: on, headers: { "X-Gw-Operator": "x".repeat(40) } })).toBeNull();
    expect(await timing({ bindings: { SERVER_TIMING: "true" }, headers: asOperator })).toBeNull();
    const told = await timing({ bindings: on, headers: asOperator });
    for (const step of ["auth", "limiter", "body", "policy", "release", "sandbox", "serve", "total"]) {
      expect(told).toMatch(new RegExp(`(?:^|, )${step};dur=\\d+(?:,|$)`));
    }
    const refused = await rpc(mcp(origin), "ping", { bindings: on, headers: asOperator });
    expect(refused.headers.get("Server-Timing")).toMatch(/^auth;dur=\d+, total;dur=\d+$/);
  });
});

describe("traceparent", () => {
  const TRACE = "0af7651916cd43dd8448eb211c80319c";

  it.each([
    [`00-${TRACE}-b7ad6b7169203331-01`, TRACE],
    [`00-${TRACE}-b7ad6b7169203331-01 secret`, undefined],
  ])("of _meta is in the log where it is one (%s)", async (traceparent, logged) => {
    const { origin } = await addOrigin();
    const { token } = await addClient();
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    await rpc(mcp(origin), "tools/list", { token, params: { _meta: { traceparent } } });
    log.mockRestore();
    expect(JSON.parse(lines[0] ?? "{}").traceId).toBe(logged);
    expect(lines.join()).not.toContain("secret");
  });
});
