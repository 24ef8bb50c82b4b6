import { describe, expect, it } from "vitest";
import { exchange, MODERN_META, post, recordingProvider } from "./fixture/exchange.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

describe("[10.2-negotiation] initialize", () => {
  const cases = [
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2025-03-26", "2025-11-25"],
    ["2024-11-05", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["1.0", "2025-11-25"],
  ] as const;
  for (const [requested, agreed] of cases) {
    it(`answers ${requested} with ${agreed}`, async () => {
      const { status, json } = await exchange({ method: "initialize", params: { protocolVersion: requested } });
      expect(status).toBe(200);
      expect(json.result).toEqual({
        protocolVersion: agreed,
        capabilities: { tools: { listChanged: false }, resources: { listChanged: false }, prompts: {} },
        serverInfo: { name: "test", version: "1.2.3" },
      });
    });
  }

  it("passes the provider's instructions on", async () => {
    const provider = recordingProvider({ instructions: "Read the recipes." });
    expect((await exchange({ method: "initialize", provider })).json.result.instructions).toBe("Read the recipes.");
    const { json } = await exchange({ era: "modern", method: "server/discover", provider });
    expect(json.result.instructions).toBe("Read the recipes.");
  });

  it("refuses a version that is not a string", async () => {
    const { status, json } = await exchange({ method: "initialize", params: { protocolVersion: 5 } });
    expect([status, json.error.code]).toEqual([200, -32602]);
  });
});

describe("the era of a request", () => {
  const legacyHeaders = [
    ["no version header", { "mcp-protocol-version": null }],
    ["2025-03-26", { "mcp-protocol-version": "2025-03-26" }],
    ["2025-06-18", { "mcp-protocol-version": "2025-06-18" }],
    ["2025-11-25", { "mcp-protocol-version": "2025-11-25" }],
    ["Mcp-Method alone, as mcp-remote sends it", { "mcp-protocol-version": null, "mcp-method": "ping" }],
    ["a wrong Mcp-Method and Mcp-Name", { "mcp-method": "other", "mcp-name": "other" }],
  ] as const;
  for (const [what, headers] of legacyHeaders) {
    it(`is legacy with ${what}`, async () => {
      const { status, json } = await exchange({ method: "ping", headers });
      expect([status, json]).toEqual([200, { jsonrpc: "2.0", id: 7, result: {} }]);
    });
  }

  it("is legacy for an initialize that carries Mcp-Method", async () => {
    const headers = { "mcp-method": "initialize" };
    const { json } = await exchange({ method: "initialize", params: { protocolVersion: "2025-06-18" }, headers });
    expect(json.result.protocolVersion).toBe("2025-06-18");
  });

  it("is what the provider is told", async () => {
    const provider = recordingProvider();
    const params = { name: "echo" };
    await exchange({ method: "tools/call", params, provider, headers: { "mcp-protocol-version": null } });
    await exchange({
      era: "modern",
      method: "tools/call",
      params,
      provider,
      meta: { [CAPABILITIES]: { sampling: {} } },
    });
    expect(provider.calls.map(({ context }) => context)).toMatchObject([
      { era: "legacy", protocolVersion: "2025-03-26", requestId: 7, clientCapabilities: {}, meta: {} },
      { era: "modern", protocolVersion: "2026-07-28", requestId: 7, clientCapabilities: { sampling: {} } },
    ]);
  });
});

describe("requests that contradict themselves", () => {
  const without = (key: string) => Object.fromEntries(Object.entries(MODERN_META).filter(([name]) => name !== key));
  const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" };
  const cases: readonly (readonly [string, object, Record<string, string>, number])[] = [
    ["a modern header and no params", { params: undefined }, modern, -32602],
    ["a modern header and no _meta", { params: {} }, modern, -32602],
    ["a modern header and a string as _meta", { params: { _meta: "x" } }, modern, -32602],
    ["_meta without a version", { params: { _meta: without(VERSION) } }, modern, -32602],
    ["_meta without capabilities", { params: { _meta: without(CAPABILITIES) } }, modern, -32602],
    ["capabilities that are a list", { params: { _meta: { ...MODERN_META, [CAPABILITIES]: [] } } }, modern, -32602],
    ["a version that is a number", { params: { _meta: { ...MODERN_META, [VERSION]: 1 } } }, modern, -32602],
    ["a version unlike the header's", { params: { _meta: { ...MODERN_META, [VERSION]: "v9" } } }, modern, -32020],
    [
      "a legacy header",
      { params: { _meta: MODERN_META } },
      { ...modern, "mcp-protocol-version": "2025-11-25" },
      -32020,
    ],
    ["no version header", { params: { _meta: MODERN_META } }, { "mcp-method": "server/discover" }, -32020],
    ["no method header", { params: { _meta: MODERN_META } }, { "mcp-protocol-version": "2026-07-28" }, -32020],
    ["another method header", { params: { _meta: MODERN_META } }, { ...modern, "mcp-method": "ping" }, -32020],
    [
      "a method header in capitals",
      { params: { _meta: MODERN_META } },
      { ...modern, "mcp-method": "SERVER/DISCOVER" },
      -32020,
    ],
    ["an unknown version header and no _meta", { params: {} }, { "mcp-protocol-version": "2030-01-01" }, -32600],
    ["two version headers in one", { params: {} }, { "mcp-protocol-version": "2025-11-25, 2025-11-25" }, -32600],
  ];
  for (const [what, body, headers, code] of cases) {
    it(`get 400 and ${code}: ${what}`, async () => {
      const message = JSON.stringify({ jsonrpc: "2.0", id: "q", method: "server/discover", ...body });
      const { status, json } = await post(message, { headers: { "content-type": "application/json", ...headers } });
      expect(status).toBe(400);
      expect(json).toMatchObject({ jsonrpc: "2.0", id: "q", error: { code } });
    });
  }

  it("get 400 and -32022 with both lists for a version that is not served", async () => {
    for (const requested of ["v999.0.0", "2025-11-25"]) {
      const { status, json } = await exchange({
        era: "modern",
        method: "server/discover",
        meta: { [VERSION]: requested },
        headers: { "mcp-protocol-version": requested },
      });
      expect(status).toBe(400);
      expect(json.error).toMatchObject({ code: -32022, data: { supported: ["2026-07-28"], requested } });
    }
  });

  it("[code:bad_header] carry the code", async () => {
    const mismatch = await exchange({ era: "modern", method: "tools/list", headers: { "mcp-method": null } });
    expect(mismatch.json.error.data).toEqual({ code: "bad_header" });
    const unsupported = await exchange({ method: "ping", headers: { "mcp-protocol-version": "x" } });
    expect(unsupported.json.error.data.code).toBe("bad_header");
  });

  it("get -32602 and HTTP 200 in the legacy era for a _meta that is no object", async () => {
    const { status, json } = await exchange({ method: "ping", params: { _meta: 5 } });
    expect([status, json.error.code]).toEqual([200, -32602]);
  });
});
