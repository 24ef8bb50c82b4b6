import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { HOUR_MS } from "../../src/core/durations.ts";
import { openLiveStream, publishLive } from "../../src/gateway/live/live-feed.ts";
import { openRegistry } from "../../src/gateway/registry/database.ts";
import { addUsage, removeOldUsage, USAGE_KEPT_MS } from "../../src/gateway/registry/usage.ts";
import { flushUsage } from "../../src/gateway/usage/usage.ts";
import { addClient, addOrigin, callTool, env, mcp, migrate, rpc, send } from "./gateway-fixture.ts";

const ADMIN_TOKEN = "usage-admin-token-0123";
const bindings = { ADMIN_TOKEN };
const registry = openRegistry(env.DB);

beforeAll(migrate);

beforeEach(async () => {
  await flushUsage(env);
  await env.DB.batch([env.DB.prepare("DELETE FROM usage_hourly"), env.DB.prepare("DELETE FROM usage_errors")]);
});

afterEach(() => void vi.useRealTimers());

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the answer holds.
async function usage(query: string): Promise<any> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  return (await send(`/admin/api/v1/usage?${query}`, { headers }, bindings)).json();
}

/** An id as the admin API knows ids. */
const id = (prefix: string, letter: string) => `${prefix}_${letter.repeat(24)}`;

function row(hour: number, fields: { clientId?: string; originId?: string; tool?: string; calls?: number } = {}) {
  const { clientId = id("cli", "a"), originId = id("org", "a"), tool = "t", calls = 1 } = fields;
  const buckets = Array.from({ length: 15 }, (_, i) => (i === 2 ? calls : 0));
  return { hour, clientId, originId, tool, calls, gas: calls * 10, errors: new Map([["timeout", 1]]), buckets };
}

/** As one isolate writes it down. */
const add = (rows: readonly ReturnType<typeof row>[], flush: string = crypto.randomUUID()) =>
  addUsage(registry, { id: flush, rows }, Date.now());

describe("usage", () => {
  it("counts tool calls and refusals of known clients by client, origin, tool and hour, and nothing of what they said", async () => {
    // All of it in one hour.
    vi.useFakeTimers({ toFake: ["Date"] });
    const { origin, id: originId } = await addOrigin();
    const { id: clientId, token } = await addClient({ rpm: 5 });
    await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 41 });
    await callTool(mcp(origin), token, "sum_numbers", { a: "seventeen", b: 1 });
    await callTool(mcp(origin), token, "no_such_tool_anywhere");
    await rpc(mcp("https://elsewhere.example"), "tools/list", { token });
    await rpc(mcp(origin), "tools/list", { token });
    for (let call = 0; call < 3; call++) await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    await rpc(mcp(origin), "ping", { token: "sg_junk" });
    const { items } = await usage("by=tool");
    expect(items).toEqual([
      expect.objectContaining({
        originId: "",
        tool: "",
        calls: 4,
        errors: { origin_forbidden: 1, rate_limited: 3 },
        p50Ms: null,
      }),
      expect.objectContaining({ originId, tool: "sum_numbers", calls: 2, errors: { invalid_arguments: 1 } }),
    ]);
    expect(items[1].gas).toBeGreaterThan(0);
    expect(items[1].buckets.reduce((sum: number, count: number) => sum + count, 0)).toBe(2);
    expect((await usage("by=client")).items).toMatchObject([{ clientId, hour: null, originId: null, calls: 6 }]);
    expect((await usage("")).items).toMatchObject([{ hour: Math.floor(Date.now() / HOUR_MS) * HOUR_MS, calls: 6 }]);
    const stored = JSON.stringify((await env.DB.prepare("SELECT * FROM usage_hourly").all()).results);
    for (const said of ["seventeen", "no_such_tool"]) expect(stored).not.toContain(said);
  });

  it("sums what several isolates write of the same hour", async () => {
    await add([row(10), row(11)]);
    await add([row(10, { calls: 4 })]);
    const { items } = await usage(`by=hour&from=0&to=${20 * HOUR_MS}`);
    expect(items).toMatchObject([
      { hour: 10 * HOUR_MS, calls: 5, gas: 50, errors: { timeout: 2 }, p50Ms: 3.5 },
      { hour: 11 * HOUR_MS, calls: 1 },
    ]);
  });

  it("is filtered, and comes with most calls first, in one list that says what it leaves out", async () => {
    const clients = ["a", "b", "c", "d"].map((letter) => id("cli", letter));
    await add(clients.map((clientId, i) => row(10, { clientId, calls: i < 2 ? 7 : i, tool: `t${i % 2}` })));
    const range = `from=0&to=${20 * HOUR_MS}`;
    const first = await usage(`by=client&limit=3&${range}`);
    expect(first.items.map((item: { clientId: string; calls: number }) => [item.clientId, item.calls])).toEqual([
      [clients[0], 7],
      [clients[1], 7],
      [clients[3], 3],
    ]);
    expect(first).toMatchObject({ nextCursor: null, rest: { groups: 1, calls: 2 } });
    expect((await usage(`by=client&limit=4&${range}`)).rest).toBeNull();
    const hours = await usage(`by=hour&limit=1&${range}&client=${clients[3]}&origin=${id("org", "a")}&tool=t1`);
    expect(hours).toMatchObject({ items: [{ calls: 3, errors: { timeout: 1 } }], nextCursor: null, rest: null });
    expect((await usage(`by=client&${range}&tool=nothing`)).items).toEqual([]);
  });

  it("comes hour by hour in pages, each with its own errors, whatever is called between them", async () => {
    await add([row(10), row(11, { calls: 2 }), row(11, { tool: "u" }), row(13)]);
    const range = `from=0&to=${14 * HOUR_MS}`;
    const first = await usage(`limit=2&${range}`);
    expect(first.items).toMatchObject([
      { hour: 10 * HOUR_MS, calls: 1, errors: { timeout: 1 } },
      { hour: 11 * HOUR_MS, calls: 3, errors: { timeout: 2 } },
    ]);
    await add([row(10, { calls: 9 }), row(13)]);
    expect(await usage(`limit=2&${range}&cursor=${first.nextCursor}`)).toMatchObject({
      items: [{ hour: 13 * HOUR_MS, calls: 2, errors: { timeout: 2 } }],
      nextCursor: null,
    });
    expect(await usage(`by=tool&${range}&cursor=${first.nextCursor}`)).toMatchObject({
      code: "bad_cursor",
      errors: [{ field: "cursor" }],
    });
  });

  it.each([
    ["by=week", "by"],
    ["from=yesterday", "from"],
    ["from=5&to=5", "from"],
    [`from=0&to=${93 * 24 * HOUR_MS}`, "from"],
    ["client=x", "client"],
    ["origin=org_1", "origin"],
    [`tool=${"x".repeat(129)}`, "tool"],
    ["limit=101x", "limit"],
  ])("[code:bad_request] refuses ?%s, naming %s", async (query, field) => {
    expect(await usage(query)).toMatchObject({ code: "bad_request", errors: [{ field }] });
  });

  it("tells operators who watch of nothing that a reader had written down, or they would read again and again", async () => {
    const { origin } = await addOrigin();
    const { token } = await addClient({});
    const reader = (await openLiveStream(env, "opr_watching", null)).body?.getReader();
    const next = async () => new TextDecoder().decode((await reader?.read())?.value);
    const toldUntil = async (calls: number) => {
      await publishLive(env, { type: "usage", at: 1, calls, errors: 0 });
      for (let text = ""; ; ) {
        text += await next();
        if (text.includes(`"calls":${calls},`)) return text.match(/event: usage/g)?.length;
      }
    };
    // The first call of ten seconds is written down, and told, at once.
    await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    await toldUntil(7_001);
    await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    expect((await usage("")).items).toMatchObject([{ calls: 2 }]);
    expect(await toldUntil(7_002)).toBe(1);
    await reader?.cancel();
  });

  it("waits in memory while the database is down", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { origin } = await addOrigin();
    const { id: clientId, token } = await addClient();
    for (let call = 0; call < 2; call++) await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    await flushUsage({ ...env, DB: env.EMPTY_DB });
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
    expect((await usage("by=client")).items).toMatchObject([{ clientId, calls: 2 }]);
  });

  it("is counted once where the database was late to say that it was written", async () => {
    await add([row(10)], "flush-1");
    await add([row(10)], "flush-1");
    await add([row(10)], "flush-2");
    expect((await usage(`from=0&to=${20 * HOUR_MS}`)).items).toMatchObject([{ calls: 2, errors: { timeout: 2 } }]);

    // The database writes, and the answer is lost.
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { origin } = await addOrigin();
    const { token } = await addClient();
    for (let call = 0; call < 2; call++) await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
    const losing = new Proxy(env.DB, {
      get(database, member) {
        if (member !== "batch") return Reflect.get(database, member).bind(database);
        return async (statements: D1PreparedStatement[]) => {
          await database.batch(statements);
          throw new Error("Network connection lost.");
        };
      },
    });
    await flushUsage({ ...env, DB: losing });
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
    expect((await usage("")).items).toMatchObject([{ calls: 2 }]);
  });

  it("[budget:usage-unconfirmed] is on its way to a database that hangs in three parts at most, and is all there once it answers", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { origin } = await addOrigin();
    const { token } = await addClient();
    let fail: (reason: Error) => void = () => {};
    const hanging = new Promise<never>((_, reject) => {
      fail = reject;
    });
    let asked = 0;
    const silent = new Proxy(env.DB, {
      get(database, member) {
        if (member !== "batch") return Reflect.get(database, member).bind(database);
        return () => {
          asked += 1;
          return hanging;
        };
      },
    });
    const flushes: Promise<unknown>[] = [];
    // The first call of ten seconds is written down by itself.
    for (let call = 0; call < 6; call++) {
      await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 1 });
      if (call > 0) flushes.push(flushUsage({ ...env, DB: silent }));
    }
    expect(asked).toBe(3);
    fail(new Error("Network connection lost."));
    await Promise.all(flushes);
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
    expect((await usage("")).items).toMatchObject([{ calls: 6 }]);
  });

  it("goes to Analytics Engine, too, where that is bound", async () => {
    const points: unknown[] = [];
    const { origin, id: originId } = await addOrigin();
    const { id: clientId, token } = await addClient();
    const params = { name: "sum_numbers", arguments: { a: 1, b: 1 } };
    const USAGE = { writeDataPoint: (point: unknown) => void points.push(point) };
    await rpc(mcp(origin), "tools/call", { token, params, bindings: { USAGE } });
    expect(points).toEqual([
      {
        indexes: [clientId],
        blobs: [originId, "sum_numbers", "ok"],
        doubles: [expect.any(Number), expect.any(Number)],
      },
    ]);
  });

  it("[budget:usage-kept] is kept for 90 days, whatever there is of it", async () => {
    const now = 1_800_000_000_000;
    const oldest = Math.floor((now - USAGE_KEPT_MS) / HOUR_MS);
    const old = Array.from({ length: 2_500 }, (_, i) => row(oldest - 1, { tool: `t${i}` }));
    await add([...old.slice(0, 1_500), row(oldest)]);
    await add(old.slice(1_500));
    expect(await removeOldUsage(registry, now)).toBe(5_000);
    expect((await env.DB.prepare("SELECT hour FROM usage_hourly").all()).results).toEqual([{ hour: oldest }]);
  });
});
