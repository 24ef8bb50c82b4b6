import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Json } from "../../src/core/json.ts";
import worker from "../../src/gateway/worker.ts";
import { addClient, callTool, env, mcp, migrate, send } from "./gateway-fixture.ts";
import { approve, hashOf, type Published, revoke, startPublisher } from "./trust-fixture.ts";

const ADMIN_TOKEN = "console-admin-token-0123";
const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" };
const API = "/admin/api/v1";

beforeAll(migrate);
beforeEach(() => env.DB.prepare("DELETE FROM console_state").run());

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the answer holds.
async function api(method: string, path: string, body?: Json): Promise<any> {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return (await send(`${API}${path}`, init, { ADMIN_TOKEN })).json();
}

const skill = (name: string, fields: Partial<Published> = {}): Published => ({
  name,
  scope: null,
  answer: name,
  ...fields,
});

/** An origin as the API knows it: with an id of its form. */
async function publisherWithId(row: Parameters<typeof startPublisher>[0] = {}) {
  const id = `org_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
  return startPublisher({ id, ...row }).then((publisher) => ({ ...publisher, id }));
}

describe("the release that a hub holds", () => {
  it("serves what an activation approved at once, before anybody calls", async () => {
    const publisher = await publisherWithId({ status: "pending" });
    await publisher.publish([skill("one"), skill("two", { recipe: "# How" })]);
    const { probedAt } = await api("POST", `/origins/${publisher.id}/probe`);
    expect(await api("POST", `/origins/${publisher.id}/activate`, { probedAt })).toMatchObject({ status: "active" });
    const release = await api("GET", `/origins/${publisher.id}/release`);
    expect(release.skills.map((one: { pinState: string }) => one.pinState)).toEqual(["served", "served"]);
    expect(await api("GET", `/origins/${publisher.id}/impact`)).toMatchObject({ tools: ["one", "two"] });
  });

  it("shows what clients get of each version, what may be fetched, and every rejection with its fetch", async () => {
    const publisher = await publisherWithId();
    const [kept, changed] = [skill("kept"), skill("changed", { recipe: "# How" })];
    for (const version of [kept, changed]) await approve(publisher.id, version);
    const revoked = skill("revoked");
    await approve(publisher.id, revoked);
    const fresh = skill("changed", { answer: "new", handler: 'host.fetchOrigin("/api/x").status' });
    await publisher.publish([kept, fresh, skill("new"), revoked, skill("broken", { declared: "0".repeat(64) })]);
    const lift = await revoke("hash", await hashOf(revoked));
    expect(await api("GET", `/origins/${publisher.id}/release`)).toMatchObject({
      state: "none",
      fetchedAt: null,
      skills: [],
    });
    expect((await api("GET", `/origins/${publisher.id}/releases`)).items).toEqual([]);
    await publisher.list();
    const release = await api("GET", `/origins/${publisher.id}/release`);
    await lift();
    expect(release).toMatchObject({ id: publisher.id, origin: publisher.origin, state: "current", failure: null });
    const shown = release.skills.map((one: { name: string; toolSha256: string; pinState: string; code: string }) => [
      one.name,
      one.pinState,
      one.code,
    ]);
    expect(shown).toEqual([
      ["kept", "served", null],
      ["changed", "waiting", "awaiting_approval"],
      ["new", "withheld", "awaiting_approval"],
      ["changed", "held", null],
      // Not loaded any more, it comes from the gateway's own store.
      ["revoked", "withheld", "revoked_hash"],
    ]);
    expect(release.skills[1]).toMatchObject({
      publicName: "changed",
      verdict: "unattested",
      fetches: { paths: ["/api/x"], complete: true },
      definition: { inputSchema: { type: "object" } },
    });
    expect(release.rejected).toMatchObject([
      { name: "revoked", code: "revoked_hash" },
      { name: "broken", code: "hash_mismatch", fetch: { url: `${publisher.origin}/tools/4.js`, status: 200 } },
    ]);
  });

  it("has a history of how discoveries ended, in which the same again is one item", async () => {
    const publisher = await publisherWithId({ pin: "off" });
    await publisher.publish([skill("one")]);
    await api("POST", `/origins/${publisher.id}/probe`);
    await api("POST", `/origins/${publisher.id}/probe`);
    await publisher.publish([]);
    await api("POST", `/origins/${publisher.id}/probe`);
    const { items } = await api("GET", `/origins/${publisher.id}/releases`);
    expect(items).toMatchObject([
      { outcome: "failure", code: "no_skills", times: 1, version: null },
      { outcome: "release", code: null, times: 2, skills: 1, held: 0, rejected: 0 },
    ]);
    expect(items[1].at).toBeGreaterThanOrEqual(items[1].firstAt);
    const failing = await api("GET", `/origins/${publisher.id}/release`);
    expect(failing).toMatchObject({ state: "none", failure: { code: "no_skills" } });
  });
});

describe("the impact of an origin's end", () => {
  it("names its clients, its tools and the calls of the last day", async () => {
    const publisher = await publisherWithId({ pin: "off" });
    await publisher.publish([skill("one"), skill("two")]);
    await addClient({ grants: [] });
    const granted = await addClient({ grants: [publisher.id] });
    for (let call = 0; call < 2; call++) await callTool(mcp(publisher.origin), granted.token, "one");
    const impact = await api("GET", `/origins/${publisher.id}/impact`);
    expect(impact).toMatchObject({ status: "active", tools: ["one", "two"], callsLastDay: 2 });
    expect(impact.clients[0]).toEqual({ id: granted.id, name: "test", status: "active", callsLastDay: 2 });
    const all = await env.DB.prepare("SELECT count(*) AS n FROM clients WHERE grant_all").first<{ n: number }>();
    expect(impact.clientsTotal).toBe((all?.n ?? 0) + 1);
  });

  it("shows who called before everybody else, however many may", async () => {
    const publisher = await publisherWithId({ pin: "off" });
    await publisher.publish([skill("one")]);
    const caller = await addClient({ grants: [publisher.id] });
    await callTool(mcp(publisher.origin), caller.token, "one");
    await env.DB.prepare(
      `INSERT INTO clients (id, name, status, grant_all, created_at, updated_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
       SELECT 'cli_aaa' || i, 'aaa ' || i, 'active', 1, 0, 0 FROM n`,
    ).run();
    const impact = await api("GET", `/origins/${publisher.id}/impact`);
    await env.DB.prepare("DELETE FROM clients WHERE id LIKE 'cli_aaa%'").run();
    expect(impact.clients[0]).toMatchObject({ id: caller.id, callsLastDay: 1 });
    expect(impact.clients).toHaveLength(200);
  });
});

describe("the health of the gateway", () => {
  it("is that of its parts and of the origins called last", async () => {
    const publisher = await publisherWithId({ lastCalledAt: Date.now() });
    await publisher.publish([]);
    await publisher.list();
    const health = await api("GET", "/health");
    expect(health).toMatchObject({ status: "ready", parts: { database: "ok", sandbox: "ok" } });
    expect(health.origins.active).toBeGreaterThan(0);
    expect(health.failing).toContainEqual({
      id: publisher.id,
      origin: publisher.origin,
      fetchedAt: null,
      failure: expect.objectContaining({ code: "no_skills" }),
    });
  });

  it("says of how many origins it knows nothing, and leads to all of them", async () => {
    await env.DB.prepare(
      `INSERT INTO origins (id, origin, status, created_at, updated_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
       SELECT 'org_' || printf('%024d', i), 'https://h' || i || '.example', 'active', i, 0 FROM n`,
    ).run();
    const first = await api("GET", "/health");
    const { active } = first.origins;
    expect(first).toMatchObject({ asked: 50, notAsked: active - 50 });
    let asked = 0;
    for (let { nextCursor } = first; nextCursor !== null; ) {
      const page = await api("GET", `/health?cursor=${nextCursor}`);
      expect(page.notAsked).toBe(active - page.asked);
      asked += page.asked;
      nextCursor = page.nextCursor;
    }
    expect(asked).toBe(active);
    await env.DB.prepare("DELETE FROM origins WHERE origin LIKE 'https://h%.example'").run();
  });

  it("includes every setting by name, and no secret", async () => {
    const { items } = await api("GET", "/policy");
    const byName = new Map(items.map((item: { name: string }) => [item.name, item]));
    expect(byName.get("ADMIN_TOKEN")).toEqual({ name: "ADMIN_TOKEN", value: "set", isDefault: false });
    expect(byName.get("CALL_GAS")).toMatchObject({ isDefault: true, value: expect.any(Number) });
    expect(byName.get("ATTESTATION_MODE")).toMatchObject({ value: "advisory", isDefault: false });
    expect(byName.get("PUBLIC_HOSTS")).toMatchObject({ value: "", isDefault: true });
    expect(JSON.stringify(items)).not.toContain(ADMIN_TOKEN);
  });
});

describe("a probe that is watched", () => {
  async function watch(id: string) {
    const ctx = createExecutionContext();
    const request = new Request(`https://gate.example${API}/origins/${id}/probe`, {
      method: "POST",
      headers: { ...headers, Accept: "text/event-stream" },
    }) as Request<unknown, IncomingRequestCfProperties>;
    const response = await worker.fetch(request, { ...env, ADMIN_TOKEN }, ctx);
    const text = await response.text();
    await waitOnExecutionContext(ctx);
    const events = text
      .split("\n\n")
      .filter((part) => part.startsWith("event: "))
      .map((part) => {
        const [event = "", data = ""] = part.split("\n");
        return { event: event.slice("event: ".length), ...JSON.parse(data.slice("data: ".length)) };
      });
    return { response, text, events };
  }

  it("tells of each fetch and hash as it comes, and ends with what the probe answers", async () => {
    const publisher = await publisherWithId();
    const broken = skill("broken", { declared: "0".repeat(64) });
    await publisher.publish([skill("one", { recipe: "# One" }), broken]);
    const { response, events } = await watch(publisher.id);
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "text/event-stream"]);
    expect(events[0]).toMatchObject({ event: "fetch", url: `${publisher.origin}/llms.txt`, status: 200, code: null });
    const hashes = events.filter(({ event }) => event === "hash");
    expect(hashes).toContainEqual(
      expect.objectContaining({
        name: "one",
        scope: null,
        file: "tool.js",
        ok: true,
        expected: await hashOf(skill("one")),
      }),
    );
    expect(hashes).toContainEqual(expect.objectContaining({ name: "one", file: "SKILL.md", ok: true }));
    expect(hashes).toContainEqual(
      expect.objectContaining({ name: "broken", ok: false, expected: broken.declared, actual: await hashOf(broken) }),
    );
    const [rejected, result] = events.slice(-2);
    expect(rejected).toMatchObject({ event: "rejected", name: "broken", code: "hash_mismatch" });
    expect(result).toMatchObject({ event: "result", id: publisher.id, error: null });
    const again = await api("POST", `/origins/${publisher.id}/probe`);
    expect(Object.keys({ event: "result", ...again }).sort()).toEqual(Object.keys(result).sort());
  });

  it("[code:not_found] [code:bad_state] is refused as a problem, not as a stream", async () => {
    const publisher = await publisherWithId({ status: "revoked" });
    for (const [id, status] of [
      [publisher.id, 409],
      [`org_${"0".repeat(24)}`, 404],
    ] as const) {
      const { response } = await watch(id);
      expect([response.status, response.headers.get("Content-Type")]).toEqual([status, "application/problem+json"]);
    }
  });

  it("is a result, too, where the origin fails", async () => {
    const publisher = await publisherWithId();
    await publisher.publish([]);
    expect((await watch(publisher.id)).events.at(-1)).toMatchObject({ event: "result", error: { code: "no_skills" } });
  });
});

describe("live events", () => {
  it("tell of the audit log and of discoveries that end otherwise than before", async () => {
    const publisher = await publisherWithId();
    await publisher.publish([skill("one")]);
    const stream = await send(`${API}/events`, { headers }, { ADMIN_TOKEN });
    expect([stream.status, stream.headers.get("Content-Type")]).toEqual([200, "text/event-stream"]);
    await api("POST", `/origins/${publisher.id}/probe`);
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("origin.probe") || !text.includes(`"origin":"${publisher.origin}"`))
      text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toContain(`"actor":"admin-token","action":"origin.probe","subject":"${publisher.id}"`);
    expect(text).toContain(`"origin":"${publisher.origin}","outcome":"release"`);
  });
});
