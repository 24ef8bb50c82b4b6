import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { eq } from "drizzle-orm";
import type { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  addClient,
  addOrigin,
  callTool,
  env,
  mcp,
  migrate,
  type RpcAnswer,
  result,
  rpc,
} from "../../../test/workerd/gateway-fixture.ts";
import { call, freshDatabase } from "../admin/fixture.ts";
import { MAX_STREAMS, STREAM_MS } from "../durable/notifier.ts";
import { aSkill, newSite, publish, upload } from "../publishing/fixture.ts";
import { clientOrigins, clients, clientTokens, origins } from "../registry/schema.ts";
import {
  ask,
  decide,
  fakeClock,
  get,
  listen,
  notifierOf,
  openLegacy,
  openModern,
  pass,
  published,
} from "./stream-fixture.ts";

beforeAll(migrate);
beforeEach(fakeClock);
afterEach(() => void vi.useRealTimers());

const TOOLS = "notifications/tools/list_changed";
const RESOURCES = "notifications/resources/list_changed";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

const BOTH = { toolsListChanged: true, resourcesListChanged: true };

const one = { sum: { description: "Adds." } };
const other = { sum: { description: "Adds two numbers." } };

describe("a client is told", () => {
  it("[skills-R30] that tools changed, and that both lists did, each and no other, in either era", async () => {
    const { origin, token, change } = await published(one);
    const legacy = await openLegacy(origin, token);
    const modern = await openModern(origin, token, { toolsListChanged: true, resourcesListChanged: true });
    const toolsAlone = await openModern(origin, token, { toolsListChanged: true, promptsListChanged: true });
    await change(other);
    expect((await legacy.received(1)).map(({ method }) => method)).toEqual([TOOLS]);
    // Whoever is told asks at once, and sees what it was told of.
    const { tools } = await result(await rpc(mcp(origin), "tools/list", { token }));
    expect(tools).toMatchObject([{ name: "sum", description: expect.stringContaining("Adds two numbers.") }]);
    await change({ sum: { description: "Adds.", recipe: "# Sum" } });
    await legacy.received(3);
    expect(legacy.methods).toEqual([TOOLS, TOOLS, RESOURCES]);
    await modern.received(4);
    expect(modern.methods).toEqual([ACKNOWLEDGED, TOOLS, TOOLS, RESOURCES]);
    expect(modern.messages[0]?.params?.notifications).toEqual({ toolsListChanged: true, resourcesListChanged: true });
    for (const { params } of modern.messages) {
      expect(params?._meta).toEqual({ "io.modelcontextprotocol/subscriptionId": 1 });
    }
    await toolsAlone.received(3);
    expect(toolsAlone.methods).toEqual([ACKNOWLEDGED, TOOLS, TOOLS]);
    expect(toolsAlone.messages[0]?.params?.notifications).toEqual({ toolsListChanged: true });
  });

  it("[skills-R30] of a change between the opening of its stream and the first delivery, and of one just before", async () => {
    const { origin, token, change } = await published({ ...one, other: { description: "x", recipe: "# Other" } });
    await rpc(mcp(origin), "tools/list", { token });
    await change(one);
    // Other isolates may still have answered it with what was before: which list it saw nobody knows.
    const stream = await openLegacy(origin, token);
    await change(other);
    await stream.received(2);
    expect(stream.methods).toEqual([TOOLS, RESOURCES]);
  });

  it("when it listens again, of what changed meanwhile", async () => {
    const { origin, token, change } = await published(one);
    const first = await openModern(origin, token, { toolsListChanged: true });
    await first.close();
    await change(other);
    await pass(origin, 20_000);
    const second = await openModern(origin, token, { toolsListChanged: true });
    await second.received(2);
    expect(second.methods).toEqual([ACKNOWLEDGED, TOOLS]);
  });

  it("that listens again with the id of its last event, of what changed after it, and of nothing that it knows", async () => {
    const { origin, token, change } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const [stale, told] = [await openLegacy(origin, token), await openLegacy(origin, token)];
    await stale.close();
    await change(one);
    await told.received(2);
    const id = told.lastEventId;
    await told.close();
    const silent = await openLegacy(origin, token, id);
    await pass(origin, 10_000);
    expect(silent.methods).toEqual([]);
    await silent.close();
    // One that does not say which it was may be the one that missed it; so may one that says nonsense.
    for (const after of [null, "1", `${id}0`]) {
      const unknown = await openLegacy(origin, token, after);
      await unknown.received(2);
      expect(unknown.methods).toEqual([TOOLS, RESOURCES]);
      await unknown.close();
    }
    await change(other);
    const again = await openLegacy(origin, token, id);
    await again.received(1);
    await pass(origin, 10_000);
    expect(again.methods).toEqual([TOOLS]);
  });

  it("of a change in each of its sessions that missed it, and of it no more a minute later, however often its streams end", async () => {
    const { origin, token, change } = await published(one);
    const away = [await openModern(origin, token, BOTH), await openModern(origin, token, BOTH)];
    for (const stream of away) await stream.close();
    await change(other);
    for (const _ of away) {
      const back = await openModern(origin, token, BOTH);
      await back.received(2);
      expect(back.methods).toEqual([ACKNOWLEDGED, TOOLS]);
      await back.close();
    }
    for (let flaps = 0; flaps < 4; flaps++) {
      await pass(origin, 20_000);
      const back = await openModern(origin, token, BOTH);
      await pass(origin, 1_000);
      // Never of the list that is as it was.
      expect([ACKNOWLEDGED, TOOLS]).toEqual(expect.arrayContaining(back.methods));
      if (flaps === 3) expect(back.methods).toEqual([ACKNOWLEDGED]);
      await back.close();
    }
  });

  it("of what operators decide: that its origin serves attested skills alone, and that one of its tools is hidden", async () => {
    const { id, clientId, origin, token } = await published({ ...one, other: { description: "x" } });
    const other = await addClient();
    const [stream, others] = [await openLegacy(origin, token), await openLegacy(origin, other.token)];
    await decide(() =>
      env.DB.prepare("INSERT INTO client_tools (client_id, origin_id, effect, tool) VALUES (?, ?, 'deny', 'sum')")
        .bind(clientId, id)
        .run(),
    );
    await stream.received(1);
    await decide((db) =>
      db.update(origins).set({ attestationMode: "enforcing", policyVersion: 2 }).where(eq(origins.id, id)),
    );
    await stream.received(2);
    await others.received(1);
    expect([...stream.methods, ...others.methods]).toEqual([TOOLS, TOOLS, TOOLS]);
  });

  it("that its lists changed where its stream broke off with the object that held it, and nothing where it had ended", async () => {
    const { origin, token } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const ended = await openLegacy(origin, token);
    await pass(origin, STREAM_MS);
    await ended.ended();
    await evictDurableObject(notifierOf(origin));
    const silent = await openLegacy(origin, token);
    await pass(origin, 10_000);
    expect(silent.methods).toEqual([]);
    // A deploy ends the object in the middle of the stream: what it had stored is there, and nothing was put away.
    const stored = await runInDurableObject(notifierOf(origin), (_, { storage }) => [...storage.kv.list()]);
    expect(stored).toHaveLength(1);
    await silent.close();
    await runInDurableObject(notifierOf(origin), (_, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
      for (const [key, value] of stored) storage.kv.put(key, value);
    });
    await evictDurableObject(notifierOf(origin));
    const again = await openLegacy(origin, token);
    await again.received(2);
    expect(again.methods).toEqual([TOOLS, RESOURCES]);
  });

  it("of a site's publish, rollback, suspension, return and end, after which nothing of it is served", async () => {
    vi.useRealTimers();
    await freshDatabase();
    const site = await newSite();
    const tool = {
      url: "/tools/one.js",
      sha256: await upload(site, `registerTool({ name: "one", handler: () => 1 });`),
    };
    const skills = [await aSkill(site, "one", { tool: { ...tool, name: "one" } })];
    await publish(site, { skills });
    const origin = `https://${site.host}`;
    await addOrigin("x", "active", { origin });
    const { token } = await addClient();
    await rpc(mcp(origin), "tools/list", { token });
    fakeClock();
    const stream = await openLegacy(origin, token);
    await publish(site, {
      skills: [...skills, await aSkill(site, "two", { tool: { ...tool, name: "one" }, scope: "two" })],
    });
    await stream.received(2);
    expect((await call("POST", `/sites/${site.id}/rollback`, { version: 1 })).status).toBe(200);
    await stream.received(4);
    expect((await call("PATCH", `/sites/${site.id}`, { status: "suspended" })).status).toBe(200);
    await stream.received(6);
    expect((await call("PATCH", `/sites/${site.id}`, { status: "active" })).status).toBe(200);
    await stream.received(8);
    expect((await call("DELETE", `/sites/${site.id}`)).status).toBe(204);
    await stream.received(10);
    expect(stream.methods).toEqual(Array.from({ length: 5 }, () => [TOOLS, RESOURCES]).flat());
    const answer = await rpc(mcp(origin), "tools/list", { token });
    expect([answer.status, ((await answer.json()) as RpcAnswer).error?.data]).toEqual([502, { code: "no_skills" }]);
  });

  it("that everything is gone where its origin offers nothing any more, and of what is offered after that", async () => {
    const { origin, token, change } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const stream = await openLegacy(origin, token);
    await change({});
    await stream.received(2);
    await change(one);
    await stream.received(3);
    expect(stream.methods).toEqual([TOOLS, RESOURCES, TOOLS]);
  });
});

describe("a stream", () => {
  it("[skills-8.34] is promised where there are skills: resources.listChanged is true, and so it is in both eras", async () => {
    const { origin, token } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const { capabilities } = await result(await rpc(mcp(origin), "initialize", { token }));
    expect(capabilities).toMatchObject({ tools: { listChanged: true }, resources: { listChanged: true } });
    const discovered = await result(await ask(origin, token, "server/discover", {}));
    expect(discovered.capabilities).toMatchObject({ tools: { listChanged: true }, resources: { listChanged: true } });
  });

  it("[skills-R30] [budget:notification-stream] has something to read at least every 15 seconds, and ends within five minutes", async () => {
    const { origin, token } = await published(one);
    const legacy = await openLegacy(origin, token);
    const modern = await openModern(origin, token, { toolsListChanged: true });
    const before = legacy.comments;
    await pass(origin, 15_000);
    expect(legacy.comments).toBeGreaterThan(before);
    await pass(origin, STREAM_MS - 15_000);
    expect([legacy.isOver, modern.isOver]).toEqual([true, true]);
    expect(legacy.comments).toBeGreaterThanOrEqual(STREAM_MS / 15_000);
    expect(legacy.messages).toEqual([]);
    const _meta = { "io.modelcontextprotocol/subscriptionId": 1 };
    expect(modern.messages[1]).toMatchObject({ id: 1, result: { resultType: "complete", _meta } });
  });

  it("[skills-R30] is over for the object that kept it once its client has gone, and nothing is looked for any more", async () => {
    const { origin, token } = await published(one);
    const stream = await openLegacy(origin, token);
    const before = vi.getTimerCount();
    await stream.close();
    await pass(origin, 15_000);
    expect(vi.getTimerCount()).toBe(before - 1);
  });

  it.each([
    [
      "token is revoked",
      (id: string, db: ReturnType<typeof drizzle>) =>
        db.update(clientTokens).set({ revokedAt: 1 }).where(eq(clientTokens.clientId, id)),
    ],
    [
      "client is suspended",
      (id: string, db: ReturnType<typeof drizzle>) =>
        db.update(clients).set({ status: "suspended" }).where(eq(clients.id, id)),
    ],
    [
      "grant is taken back",
      (id: string, db: ReturnType<typeof drizzle>) => db.delete(clientOrigins).where(eq(clientOrigins.clientId, id)),
    ],
  ])("ends within 5 seconds when its %s, and the streams of others go on", async (_, change) => {
    const { id, origin, token: anothers } = await published(one);
    const { id: clientId, token } = await addClient({ grants: [id] });
    const another = await openLegacy(origin, anothers);
    const legacy = await openLegacy(origin, token);
    const modern = await openModern(origin, token, { toolsListChanged: true });
    await decide((db) => change(clientId, db));
    await pass(origin, 5_000);
    expect([legacy.isOver, modern.isOver, another.isOver]).toEqual([true, true, false]);
    expect((await get(origin, token)).status).toBeGreaterThanOrEqual(401);
  });

  it("ends with the time of its token", async () => {
    const { origin } = await published(one);
    const { token } = await addClient({ expiresAt: Date.now() + 20_000 });
    const stream = await openLegacy(origin, token);
    await pass(origin, 15_000);
    expect(stream.isOver).toBe(false);
    await pass(origin, 5_000);
    expect(stream.isOver).toBe(true);
  });

  it("ends when the database has been silent for as long as policy may be old", async () => {
    const { origin, token } = await published(one);
    const stream = await openLegacy(origin, token);
    await runInDurableObject(notifierOf(origin), (object) => {
      Object.assign(object, { env: { ...env, DB: env.EMPTY_DB } });
    });
    await pass(origin, 56_000);
    expect(stream.isOver).toBe(false);
    await pass(origin, 12_000);
    expect(stream.isOver).toBe(true);
  });

  it("[budget:notification-streams] is one of 4 that a client may have at an origin: the fifth ends the oldest, unless all are new", async () => {
    const { origin, token } = await published(one);
    const anothers = await openLegacy(origin, (await addClient()).token);
    const streams = [];
    for (let i = 0; i < MAX_STREAMS; i++) streams.push(await openLegacy(origin, token));
    const refused = await get(origin, token);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "30"]);
    expect(await refused.json()).toMatchObject({ error: "rate_limited" });
    await pass(origin, 30_000);
    streams.push(await openLegacy(origin, token));
    await pass(origin, 0);
    expect([anothers, ...streams].map(({ isOver }) => isOver)).toEqual([false, true, false, false, false, false]);
  });

  it("counts as one call of its client", async () => {
    const { origin } = await published(one);
    const { token } = await addClient({ rpm: 2 });
    const opened = await get(origin, token);
    expect(opened.headers.get("X-Gw-RateLimit-Remaining")).toBe("1");
    await opened.body?.cancel();
    expect((await rpc(mcp(origin), "ping", { token })).status).toBe(200);
    expect((await get(origin, token)).status).toBe(429);
  });
});

describe("no stream is opened", () => {
  it("where a GET does not ask for one, or in a revision without it", async () => {
    const { origin, token } = await published(one);
    for (const [headers, status] of [
      [{ Accept: "application/json" }, 405],
      [{ "MCP-Protocol-Version": "2026-07-28" }, 405],
      [{ "MCP-Protocol-Version": "2024-11-05" }, 400],
      [{ Authorization: "Bearer x" }, 401],
    ] as const) {
      expect((await get(origin, token, headers)).status).toBe(status);
    }
    const pending = await addOrigin("good", "pending");
    expect((await get(pending.origin, token)).status).toBe(403);
  });

  it.each([undefined, [], "all", { toolsListChanged: 1 }])(
    "by a subscription to %j, which is refused, and one to nothing has ended at once",
    async (notifications) => {
      const { origin, token } = await published(one);
      const refused = await listen(origin, token, notifications);
      expect([refused.status, ((await refused.json()) as RpcAnswer).error?.code]).toEqual([200, -32602]);
      const ended = await openModern(origin, token, { promptsListChanged: true });
      await ended.ended();
      expect(ended.messages).toMatchObject([
        { method: ACKNOWLEDGED, params: { notifications: {} } },
        { id: 1, result: { resultType: "complete" } },
      ]);
    },
  );

  it("[code:notifier_unavailable] while the object that keeps them fails, and calls go on", async () => {
    const { origin, token } = await published(one);
    const bindings = { NOTIFIER: env.BROKEN_OBJECT };
    const refused = await get(origin, token, {}, bindings);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ error: "notifier_unavailable" });
    const modern = await listen(origin, token, { toolsListChanged: true }, bindings);
    expect([modern.status, await modern.json()]).toMatchObject([
      503,
      { id: 1, error: { data: { code: "notifier_unavailable" } } },
    ]);
    expect((await callTool(mcp(origin), token, "sum")).status).toBe(200);
  });

  it("while the database fails, and calls go on", async () => {
    const { origin, token } = await published(one);
    await callTool(mcp(origin), token, "sum");
    const gone = await openLegacy(origin, token);
    await gone.close();
    await runInDurableObject(notifierOf(origin), (object) => {
      Object.assign(object, { env: { ...env, DB: env.EMPTY_DB } });
    });
    expect((await get(origin, token)).status).toBe(503);
    expect((await callTool(mcp(origin), token, "sum")).status).toBe(200);
  });

  it("where notifications are off: then nothing promises them either", async () => {
    const { origin, token } = await published({ sum: { description: "Adds.", recipe: "# Sum" } });
    const bindings = { NOTIFICATIONS: "off" };
    const refused = await get(origin, token, {}, bindings);
    expect([refused.status, refused.headers.get("Allow")]).toEqual([405, "POST, OPTIONS"]);
    const listening = await listen(origin, token, { toolsListChanged: true }, bindings);
    expect([listening.status, ((await listening.json()) as RpcAnswer).error?.code]).toEqual([404, -32601]);
    const initialize = async (bindings: Record<string, string>) =>
      (await result(await rpc(mcp(origin), "initialize", { token, bindings }))).capabilities;
    expect(await initialize(bindings)).toMatchObject({
      tools: { listChanged: false },
      resources: { listChanged: false },
    });
    expect(await initialize({})).toMatchObject({ tools: { listChanged: true }, resources: { listChanged: true } });
  });
});
