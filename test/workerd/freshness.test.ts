import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sha256Hex } from "../../src/core/integrity.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { ColoCache } from "../../src/gateway/releases/colo-cache.ts";
import { askHub } from "../../src/gateway/releases/hub-client.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { addClient, addOrigin, become, callTool, env, mcp, migrate, result, rpc, seen } from "./gateway-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

async function served(kind = "good") {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { token } = await addClient();
  const { origin, host } = await addOrigin(kind);
  const path = mcp(origin);
  return {
    origin: origin as CanonicalOrigin,
    host,
    token,
    path,
    list: (bindings: Record<string, unknown> = {}) => rpc(path, "tools/list", { token, bindings }),
    call: async (name: string) => (await result(await callTool(path, token, name))).structuredContent,
  };
}

const sha256 = (text: string) => sha256Hex(new TextEncoder().encode(text));

const state = ({ headers }: Response) => headers.get("X-Gw-Discovery");
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

describe("freshness, through the whole gateway", () => {
  it.each(["jspi", "asyncify"])(
    "[10.1-D] tools of one name search the memory of their own scope from every layer, on %s",
    async (engine) => {
      const { origin, host, token, path, list } = await served("files");
      const tool = `registerTool({
        name: "search",
        handler: () => host.memorySearch === undefined ? "none" : host.memorySearch("shared").hits.map(({ text }) => text),
      });`;
      const note = (text: string) => JSON.stringify([{ id: "n#0", metadata: { content: text } }]);
      const notes: Record<string, string> = {
        alpha: note(`shared apples ${engine}`),
        beta: note(`shared bananas ${engine}`),
      };
      const memories = Object.entries(notes).map(async ([scope, text]) => {
        const declared = {
          snapshot: `/${scope}.json`,
          snapshot_sha256: await sha256(text),
          format: "minimemory-okf-v1",
        };
        return `<!-- skills-memory: ${JSON.stringify({ ...declared, scope })} -->`;
      });
      const hash = await sha256(tool);
      const lines = ["alpha", "beta", undefined].map(
        (scope) => `- [search](): S <!-- skill: ${JSON.stringify({ scope, tool: "/tool.js", tool_sha256: hash })} -->`,
      );
      const llmsTxt = `# T\n\n${(await Promise.all(memories)).join("\n")}\n\n## Skills\n\n${lines.join("\n")}\n`;
      const files = { "/llms.txt": llmsTxt, "/tool.js": tool, "/alpha.json": notes.alpha, "/beta.json": notes.beta };
      await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });

      const bindings = { SANDBOX_ENGINE: engine };
      const search = async (name: string) => {
        const answer = await rpc(path, "tools/call", { token, params: { name, arguments: {} }, bindings });
        return (await result(answer)).structuredContent;
      };
      const layers: readonly [string, () => unknown][] = [
        ["miss", () => undefined],
        ["l2", () => releases.clear()],
        [
          "hub",
          async () => {
            releases.clear();
            await new ColoCache().forget(origin);
            await evictDurableObject(env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)));
          },
        ],
      ];
      for (const [layer, prepare] of layers) {
        await prepare();
        expect(state(await list(bindings))).toBe(layer);
        expect(await search("alpha__search")).toEqual({ result: [`shared apples ${engine}`] });
        expect(await search("beta__search")).toEqual({ result: [`shared bananas ${engine}`] });
        expect(await search("search")).toEqual({ result: "none" });
      }
    },
  );

  it("[code:discovery_failed] serves the last known good while the origin is down, and 502 once it is older than a day", async () => {
    const { host, list } = await served();
    await list();
    await become(host, "down");
    const at = Date.now();
    for (const [age, expected] of [
      [105_000, "200 hit"],
      [105_001, "200 stale"],
      [86_400_000, "200 stale"],
      [86_400_001, "502 miss"],
    ] as const) {
      vi.setSystemTime(at + age);
      const answer = await list();
      expect(`${answer.status} ${state(answer)}`).toBe(expected);
    }
    await become(host, "good");
    pass(10_001);
    expect((await list()).status).toBe(200);
  });

  it("serves what the isolate holds where the hub does not answer, as long as the hub would", async () => {
    const { list } = await served();
    await list();
    const at = Date.now();
    for (const [age, expected] of [
      [105_001, "200 stale"],
      [86_400_000, "200 stale"],
      [86_400_001, "502 miss"],
    ] as const) {
      vi.setSystemTime(at + age);
      const answer = await list({ ORIGIN_HUB: env.BROKEN_OBJECT });
      expect(`${answer.status} ${state(answer)}`).toBe(expected);
    }
  });

  it("goes on over midnight UTC as at any other time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400_000;
    vi.setSystemTime(midnight - 10_000);
    const { list, host, origin } = await served();
    expect(state(await list())).toBe("miss");
    for (const at of [midnight - 1, midnight, midnight + 1]) {
      vi.setSystemTime(at);
      expect(state(await list())).toBe("hit");
      expect(await askHub(env, origin, null)).toMatchObject({ state: "hub", fetchedAt: midnight - 10_000 });
    }
    expect(await seen(host, "/llms.txt")).toBe(1);
  });
});
