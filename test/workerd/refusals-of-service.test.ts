import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { junkFailures, unknownFailures } from "../../src/gateway/auth/failures.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import { createToken } from "../../src/gateway/auth/token.ts";
import { expectPlain, expectRpc } from "./expect-refusal.ts";
import { addClient, addOrigin, env, mcp, migrate, rpc, send } from "./gateway-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

/** What is counted by minutes and seconds must not come upon the next one. */
const stopClock = () => vi.useFakeTimers({ toFake: ["Date"] });

describe("429", () => {
  it("[code:rate_limited] with the limit's headers", async () => {
    const { token, id } = await addClient({ rpm: 2 });
    const { origin } = await addOrigin();
    for (const remaining of ["1", "0"]) {
      const response = await rpc(mcp(origin), "ping", { token });
      expect(response.status).toBe(200);
      expect(response.headers.get("X-Gw-RateLimit-Limit")).toBe("2");
      expect(response.headers.get("X-Gw-RateLimit-Remaining")).toBe(remaining);
      expect(response.headers.get("RateLimit-Policy")).toBe('"minute";q=2;w=60');
      expect(response.headers.get("RateLimit")).toMatch(new RegExp(`^"minute";r=${remaining};t=\\d+$`));
    }
    const refused = await rpc(mcp(origin), "ping", { token });
    expect(refused.headers.get("X-Gw-Client")).toBe(id);
    expect(Number(refused.headers.get("Retry-After"))).toBeLessThanOrEqual(61);
    expect(Number(refused.headers.get("X-Gw-RateLimit-Reset")) * 1000).toBeGreaterThan(Date.now());
    await expectPlain(refused, 429, "rate_limited");
  });

  it("[10.2-rpm-zero] [code:rate_limited] rpm 0 blocks, without a server error", async () => {
    const { token } = await addClient({ rpm: 0 });
    const response = await rpc("/mcp", "ping", { token, bindings: { RATE_LIMITER: env.BROKEN_OBJECT } });
    expect(response.headers.get("X-Gw-RateLimit-Limit")).toBe("0");
    await expectPlain(response, 429, "rate_limited");
  });

  it("rpm null is no limit, and costs no Durable Object", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const response = await rpc(mcp(origin), "ping", { token, bindings: { RATE_LIMITER: env.BROKEN_OBJECT } });
    expect(response.status).toBe(200);
    expect(response.headers.has("RateLimit")).toBe(false);
  });

  it("[code:quota_exhausted] until UTC midnight", async () => {
    const { token } = await addClient({ dailyQuota: 1 });
    const { origin } = await addOrigin();
    expect((await rpc(mcp(origin), "ping", { token })).status).toBe(200);
    const refused = await rpc(mcp(origin), "ping", { token });
    expect(Number(refused.headers.get("Retry-After"))).toBeLessThanOrEqual(86_400);
    await expectPlain(refused, 429, "quota_exhausted");
  });

  it("[code:rate_limited] an address that fails too often gets 429, a neighbour and a known token do not", async () => {
    stopClock();
    junkFailures.clear();
    unknownFailures.clear();
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const limits = { AUTH_FAILURES_PER_MINUTE: "5" };
    const from = { "CF-Connecting-IP": "203.0.113.9" };
    expect((await rpc(mcp(origin), "ping", { token, headers: from, bindings: limits })).status).toBe(200);
    for (const bearer of ["junk", createToken]) {
      const statuses = [];
      for (let i = 0; i < 7; i++) {
        const guess = typeof bearer === "string" ? bearer : bearer();
        statuses.push((await rpc("/mcp", "ping", { token: guess, headers: from, bindings: limits })).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    }
    const neighbour = { "CF-Connecting-IP": "203.0.113.10" };
    expect((await rpc("/mcp", "ping", { token: "junk", headers: neighbour, bindings: limits })).status).toBe(401);
    expect((await rpc(mcp(origin), "ping", { token, headers: from, bindings: limits })).status).toBe(200);
    junkFailures.clear();
    unknownFailures.clear();
  });
});

describe("a flood of junk tokens", () => {
  it("shares lines of the log, and every refusal is counted and has its id", async () => {
    stopClock();
    junkFailures.clear();
    const lines = vi.spyOn(console, "log").mockImplementation(() => {});
    const from = { "CF-Connecting-IP": "203.0.113.88" };
    const bindings = { AUTH_FAILURES_PER_MINUTE: "1" };
    const refused = Array.from({ length: 20 }, () => rpc("/mcp", "ping", { token: "junk", headers: from, bindings }));
    const answers = await Promise.all(refused);
    expect(answers.map(({ status }) => status)).toEqual([401, ...Array(19).fill(429)]);
    expect(new Set(answers.map(({ headers }) => headers.get("X-Request-Id"))).size).toBe(20);
    const written = lines.mock.calls.map(([line]) => JSON.parse(line));
    expect(written.map(({ status, address, alike }) => ({ status, address, alike }))).toEqual([
      { status: 401 },
      { status: 429, address: "203.0.113.88", alike: 0 },
    ]);
    lines.mockRestore();
    junkFailures.clear();
  });
});

describe("guesses at once", () => {
  const from = { "CF-Connecting-IP": "203.0.113.77" };
  const bindings = { AUTH_FAILURES_PER_MINUTE: "5" };

  it("[code:rate_limited] reach the database no oftener than guesses one after the other", async () => {
    stopClock();
    const prepare = vi.spyOn(env.DB, "prepare");
    const guesses = Array.from({ length: 40 }, () =>
      rpc("/mcp", "ping", { token: createToken(), headers: from, bindings }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401).length).toBe(5);
    expect(statuses.filter((status) => status === 429).length).toBe(35);
    // What others left to be written behind their answers is no read of tokens.
    expect(prepare.mock.calls.filter(([query]) => query.includes("client_tokens")).length).toBe(5);
    prepare.mockRestore();
    unknownFailures.clear();
  });

  it("are not what one client's first calls are, however many", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const calls = Array.from({ length: 40 }, () => rpc(mcp(origin), "ping", { token, headers: from, bindings }));
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(40).fill(200));
  });
});

describe("500, 502, 503", () => {
  it("[code:internal] says nothing of what failed", async () => {
    const { token } = await addClient();
    // A deployment without its database binding: a fault that no code expects.
    const response = await rpc("/mcp", "ping", { token, bindings: { DB: undefined } });
    const { message } = await expectPlain(response, 500, "internal");
    expect(message).not.toMatch(/DB|undefined|TypeError|WeakMap/);
  });

  it("[code:discovery_failed] for an origin that is down, without the publisher's words", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin("down");
    const response = await rpc(mcp(origin), "initialize", { token });
    expect(response.headers.get("X-Gw-Discovery")).toBe("miss");
    const body = await expectRpc(response, 502, "discovery_failed");
    expect(JSON.stringify(body)).not.toContain("hunter2");
  });

  it.each(["prose", "bad"])("[code:no_skills] for an origin of kind %s", async (kind) => {
    const { token } = await addClient();
    const { origin } = await addOrigin(kind);
    await expectRpc(await rpc(mcp(origin), "tools/list", { token }), 502, "no_skills");
  });

  it("[code:limiter_unavailable] when the client's Durable Object fails: the call is refused", async () => {
    const { token } = await addClient({ rpm: 100 });
    const { origin } = await addOrigin();
    const response = await rpc(mcp(origin), "ping", { token, bindings: { RATE_LIMITER: env.BROKEN_OBJECT } });
    await expectPlain(response, 503, "limiter_unavailable");
  });

  it("[code:discovery_failed] when the origin's hub fails", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const response = await rpc(mcp(origin), "ping", { token, bindings: { ORIGIN_HUB: env.BROKEN_OBJECT } });
    await expectRpc(response, 502, "discovery_failed");
  });

  it("[code:policy_unavailable] when D1 cannot be read: nobody gets in", async () => {
    const { token } = await addClient();
    forgetPolicy();
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const response = await rpc("/mcp", "ping", { token, bindings: { DB: env.EMPTY_DB } });
    const lines = errors.mock.calls.flat().join("\n");
    errors.mockRestore();
    await expectPlain(response, 503, "policy_unavailable");
    // The log says why, and quotes no parameter of the query.
    expect(lines).toContain("no such table");
    expect(lines).toContain(response.headers.get("X-Request-Id"));
    expect(lines).not.toMatch(/params:|[0-9a-f]{64}/);
  });

  it("[code:pool_exhausted] when no sandbox comes free in time", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin("slow");
    const bindings = { WASM_POOL_SIZE: "1", POOL_WAIT_MS: "50" };
    await rpc(mcp(origin), "tools/list", { token, bindings });
    const call = (name: string) =>
      rpc(mcp(origin), "tools/call", { token, bindings, params: { name, arguments: { a: 1, b: 2 } } });
    const [slow, refused] = await Promise.all([call("slow"), call("sum_numbers")]);
    expect(slow.status).toBe(200);
    await expectRpc(refused, 503, "pool_exhausted");
  });

  it.each(["/", "/mcp", "/nothing"])("[10.1-J] [code:bad_setting] for %s, naming the setting", async (path) => {
    const response = await send(path, { method: path === "/mcp" ? "POST" : "GET" }, { ATTESTATION_MODE: "Enforcing" });
    const { message } = await expectPlain(response, 503, "bad_setting");
    expect(message).toContain("ATTESTATION_MODE");
  });
});
