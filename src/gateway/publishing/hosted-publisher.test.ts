import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  addClient,
  addOrigin,
  callTool,
  mcp,
  type RpcAnswer,
  result,
  rpc,
} from "../../../test/workerd/gateway-fixture.ts";
import { parseOrigin } from "../../core/origin.ts";
import { call, freshDatabase, testEnv } from "../admin/fixture.ts";
import type { Env } from "../env.ts";
import { originRules } from "../mcp-origin.ts";
import { publisherFetch } from "../releases/publisher-fetch.ts";
import { aSkill, ask, newSite, publish, siteEnv, type TestSite, upload } from "./fixture.ts";

const TOOL = `registerTool({
  name: "ask_docs",
  inputSchema: { type: "object" },
  handler: () => JSON.parse(host.fetchOrigin("/data/facts.json").body),
});`;

beforeAll(freshDatabase);

/** A site with a tool, its recipe, a file that it reads, and a skill for authenticated callers. */
async function publishTool(settings: object = {}): Promise<TestSite> {
  const site = await newSite(settings);
  const tool = { url: "/tools/ask.js", sha256: await upload(site, TOOL), name: "ask_docs" };
  const skills = [
    await aSkill(site, "ask-docs", { tool, scope: "docs", version: "1.0.0" }),
    await aSkill(site, "secret", { visibility: "authenticated" }),
  ];
  const files = [{ url: "/data/facts.json", sha256: await upload(site, '{"answer":42}') }];
  const { status, body } = await publish(site, { skills, files });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return site;
}

describe("a hosted site is a publisher", () => {
  it("whose tools are discovered and run without a fetch, with its recipe", async () => {
    const { host } = await publishTool();
    await addOrigin("x", "active", { origin: `https://${host}` });
    const { token } = await addClient();
    const path = mcp(`https://${host}`);
    const { tools } = await result(await rpc(path, "tools/list", { token }));
    expect(tools).toMatchObject([{ name: "docs__ask_docs" }, { name: "get_skill_guide" }]);
    expect(await result(await callTool(path, token, "docs__ask_docs"))).toMatchObject({
      structuredContent: { answer: 42 },
    });
    const { resources } = await result(await rpc(path, "resources/list", { token }));
    expect(resources).toMatchObject([
      { uri: "skill://docs__ask_docs" },
      { uri: "skill://ask-docs/SKILL.md" },
      { uri: "skill://secret/SKILL.md" },
    ]);
    const asked = (await (await fetch(`https://${host}/__seen`)).json()) as Record<string, number>;
    expect(asked["/llms.txt"]).toBeUndefined();
  });

  it("of which nothing is served once it is suspended, whoever held it in memory, and all again after that", async () => {
    const { host, id } = await publishTool();
    await addOrigin("x", "active", { origin: `https://${host}` });
    const { token } = await addClient();
    const list = async () => {
      const response = await rpc(mcp(`https://${host}`), "tools/list", { token });
      const { error, result: listed } = (await response.json()) as RpcAnswer;
      return error?.data ?? (listed as { tools: unknown[] }).tools.length;
    };
    expect(await list()).toBe(2);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      expect((await call("PATCH", `/sites/${id}`, { status: "suspended" })).status).toBe(200);
      await expect.poll(list).toEqual({ code: "no_skills" });
      // The hub's memory of a failure is over, and so is the age up to which policy is served.
      vi.setSystemTime(Date.now() + 11_000);
      expect(await list()).toEqual({ code: "no_skills" });
      expect((await call("PATCH", `/sites/${id}`, { status: "active" })).status).toBe(200);
      await expect.poll(list).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("at each of its addresses, of which nothing is served once it is suspended though the hub of another does not answer", async () => {
    const hosts = [0, 1].map(() => `host-${crypto.randomUUID()}.example`);
    const { id } = await publishTool({ hosts });
    const { token } = await addClient();
    const list = async (host: string) => {
      const { error } = (await (await rpc(mcp(`https://${host}`), "tools/list", { token })).json()) as RpcAnswer;
      return error?.data?.code ?? "tools";
    };
    for (const host of hosts) {
      await addOrigin("x", "active", { origin: `https://${host}` });
      expect(await list(host)).toBe("tools");
    }
    const asked: string[] = [];
    const ORIGIN_HUB = {
      idFromName: (name: string) => name,
      get: (name: string) => ({
        withdraw: async (origin: string) => {
          asked.push(name);
          if (asked.length === 1) throw new Error("It does not answer.");
          const { ORIGIN_HUB: hubs } = testEnv as unknown as Env;
          const stub = hubs.get(hubs.idFromName(name)) as unknown as { withdraw(of: string): Promise<void> };
          return stub.withdraw(origin);
        },
      }),
    };
    const bindings = { ...testEnv, ORIGIN_HUB };
    expect((await call("PATCH", `/sites/${id}`, { status: "suspended" }, { bindings })).status).toBe(200);
    await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(2);
    await expect.poll(() => list(new URL(asked[1] ?? "").host), { timeout: 10_000 }).toBe("no_skills");
  });

  it("and shows the world the files that a static publisher has", async () => {
    const { host } = await publishTool();
    const llms = await ask(`https://${host}/llms.txt`);
    expect(llms.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
    const text = await llms.text();
    expect(text).toContain("- [ask_docs](");
    expect(text).not.toContain("secret");
    const script = await ask(`https://${host}/tools/ask.js`);
    expect(script.headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
    expect(await script.text()).toBe(TOOL);
  });

  it("by its name on the gateway's own host as well, and nothing else there is ever asked", async () => {
    const { name } = await publishTool();
    const read = publisherFetch(siteEnv as unknown as Env);
    const answer = await read(`https://gate.example/s/${name}/llms.txt`, {});
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(
      new RegExp(`"tool":"(/s/${name}/tools/ask\\.js@([0-9a-f]{64}))","tool_sha256":"\\2"`),
    );
    expect(
      (await read(`https://gate.example/s/${name}/skills/secret.md`, { headers: { Authorization: "x" } })).status,
    ).toBe(404);
    for (const url of [
      "https://gate.example/admin/api/v1/sites",
      "https://gate.example/s/",
      "https://gate.example/healthz",
    ]) {
      await expect(read(url, {})).rejects.toThrow("does not fetch from itself");
    }
  });

  it("and an origin on the gateway's public hosts, nothing else of which is one", () => {
    const settings = { allowLoopbackOrigins: false, publicHosts: ["gate.example"], adminHost: null } as never;
    const rules = originRules(settings, new URL("https://gate.example/"));
    expect(parseOrigin("https://gate.example/s/docs/", rules)).toBe("https://gate.example/s/docs");
    for (const other of [
      "https://gate.example",
      "https://gate.example/s",
      "https://gate.example/s/docs/x",
      "https://gate.example/admin",
    ]) {
      expect(() => parseOrigin(other, rules)).toThrow("this gateway itself");
    }
    const elsewhere = originRules(settings, new URL("https://unnamed.example/"));
    expect(() => parseOrigin("https://unnamed.example/s/docs", elsewhere)).toThrow("this gateway itself");
  });
});
