import { describe, expect, it } from "vitest";
import { ECHO_TOOLS, exchange, recordingProvider } from "./fixture/exchange.ts";
import type { Era } from "./provider.ts";

const ERAS: readonly Era[] = ["legacy", "modern"];

describe("which methods there are", () => {
  const cases: readonly (readonly [method: string, params: Record<string, string>, legacy: number, modern: number])[] =
    [
      ["initialize", {}, 200, 404],
      ["ping", {}, 200, 404],
      ["server/discover", {}, 404, 200],
      ["tools/list", {}, 200, 200],
      ["tools/call", { name: "echo" }, 200, 200],
      ["resources/list", {}, 200, 200],
      ["resources/templates/list", {}, 200, 200],
      ["resources/read", { uri: "skill://echo" }, 200, 200],
      ["prompts/list", {}, 200, 200],
      ["prompts/get", { name: "x" }, 404, 404],
      ["completion/complete", {}, 404, 404],
      ["logging/setLevel", {}, 404, 404],
      ["resources/subscribe", {}, 404, 404],
      ["subscriptions/listen", {}, 404, 404],
      ["tasks/get", {}, 404, 404],
      ["toString", {}, 404, 404],
      ["__proto__", {}, 404, 404],
      ["", {}, 404, 404],
      ["TOOLS/LIST", {}, 404, 404],
    ];
  for (const [method, params, ...outcomes] of cases) {
    for (const [index, era] of ERAS.entries()) {
      const isServed = outcomes[index] === 200;
      it(`${era} ${JSON.stringify(method)} is ${isServed ? "served" : "not found"}`, async () => {
        const { status, json } = await exchange({ era, method, params });
        expect(json.error?.code).toBe(isServed ? undefined : -32601);
        // The handshake revisions say nothing of HTTP statuses here, and their clients read the body of a 200 only.
        expect(status).toBe(isServed || era === "legacy" ? 200 : 404);
      });
    }
  }
});

describe("every modern result", () => {
  it("says that it is complete and who answered", async () => {
    for (const [method, params] of [
      ["server/discover", {}],
      ["tools/list", {}],
      ["tools/call", { name: "echo" }],
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["resources/read", { uri: "skill://echo" }],
      ["prompts/list", {}],
    ] as const) {
      const { json } = await exchange({ era: "modern", method, params });
      expect(json.result).toMatchObject({
        resultType: "complete",
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "test", version: "1.2.3" } },
      });
      const isCacheable = method !== "tools/call";
      expect([json.result.ttlMs, json.result.cacheScope]).toEqual(
        isCacheable ? [15_000, "private"] : [undefined, undefined],
      );
    }
  });

  it("has a time to live that is a whole number, never negative", async () => {
    for (const [ttlMs, expected] of [
      [1.9, 1],
      [-5, 0],
      [0, 0],
    ] as const) {
      const { json } = await exchange({ era: "modern", method: "tools/list", provider: recordingProvider({ ttlMs }) });
      expect(json.result.ttlMs).toBe(expected);
    }
  });

  it("keeps the provider's own _meta", async () => {
    const provider = recordingProvider({ callTool: async () => ({ content: [], isError: false, _meta: { x: 1 } }) });
    const { json } = await exchange({ era: "modern", method: "tools/call", params: { name: "echo" }, provider });
    expect(json.result._meta).toMatchObject({ x: 1, "io.modelcontextprotocol/serverInfo": { name: "test" } });
  });

  it("is foreign to legacy clients", async () => {
    const { json } = await exchange({ method: "tools/list" });
    expect(Object.keys(json.result)).toEqual(["tools"]);
  });
});

it("server/discover names the revisions that go into _meta", async () => {
  const { json } = await exchange({ era: "modern", method: "server/discover" });
  expect(json.result).toMatchObject({
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: { listChanged: false }, resources: { listChanged: false }, prompts: {} },
  });
  expect(json.result.capabilities.resources).not.toHaveProperty("subscribe");
});

it("prompts/list is empty in both eras", async () => {
  for (const era of ERAS) expect((await exchange({ era, method: "prompts/list" })).json.result.prompts).toEqual([]);
});

describe("tools/list", () => {
  it("keeps the provider's order and every member of a definition", async () => {
    const provider = recordingProvider({
      tools: [
        {
          name: "z",
          title: "Z",
          description: "d",
          inputSchema: { type: "object" },
          annotations: { readOnlyHint: true },
        },
        ...ECHO_TOOLS,
      ],
    });
    const { json } = await exchange({ era: "modern", method: "tools/list", provider });
    expect(json.result.tools).toEqual(provider.tools);
  });

  it("leaves output schemas of anything but objects out for legacy clients", async () => {
    const schemas = async (era: Era) => {
      const { json } = await exchange({ era, method: "tools/list" });
      return json.result.tools
        .filter((tool: object) => "outputSchema" in tool)
        .map(({ name }: { name: string }) => name);
    };
    expect(await schemas("legacy")).toEqual(["object"]);
    expect(await schemas("modern")).toEqual(["numbers", "object"]);
  });
});

describe("tools/call", () => {
  it("passes the arguments on and shows the result", async () => {
    const provider = recordingProvider();
    const { json } = await exchange({
      method: "tools/call",
      params: { name: "echo", arguments: { a: [1] } },
      provider,
    });
    expect(json).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: { content: [{ type: "text", text: "echo" }], isError: false },
    });
    expect(provider.calls).toMatchObject([{ name: "echo", args: { a: [1] } }]);
  });

  it("takes absent and null arguments as none", async () => {
    const provider = recordingProvider();
    await exchange({ method: "tools/call", params: { name: "echo" }, provider });
    await exchange({ method: "tools/call", params: { name: "echo", arguments: null }, provider });
    expect(provider.calls.map(({ args }) => args)).toEqual([{}, {}]);
  });

  for (const era of ERAS) {
    it(`refuses other arguments than objects without running anything (${era})`, async () => {
      for (const args of [[], "x", 0, false, ""]) {
        const provider = recordingProvider();
        const { status, json } = await exchange({
          era,
          method: "tools/call",
          params: { name: "echo", arguments: args },
          provider,
        });
        expect([status, json.error.code]).toEqual([200, -32602]);
        expect(provider.calls).toEqual([]);
      }
    });

    it(`[10.2-unknown-tool] answers an unknown tool with a protocol error (${era})`, async () => {
      for (const name of ["nope", "toString", "Echo", ""]) {
        const { status, json } = await exchange({ era, method: "tools/call", params: { name } });
        expect(status).toBe(200);
        expect(json.error).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
      }
    });

    it(`refuses a name that is no string (${era})`, async () => {
      for (const params of [{}, { name: 5 }, { name: null }]) {
        const { status, json } = await exchange({ era, method: "tools/call", params });
        expect([status, json.error.code]).toEqual([200, -32602]);
      }
    });
  }

  it("cuts a long unknown name in its answer", async () => {
    const { json } = await exchange({ method: "tools/call", params: { name: "x".repeat(100_000) } });
    expect(json.error.message).toHaveLength("Unknown tool: ".length + 129);
  });
});

describe("resources/read", () => {
  it("answers contents", async () => {
    const { json } = await exchange({ method: "resources/read", params: { uri: "skill://echo" } });
    expect(json.result).toEqual({ contents: [{ uri: "skill://echo", mimeType: "text/markdown", text: "# Echo" }] });
  });

  for (const [era, code] of [
    ["legacy", -32002],
    ["modern", -32602],
  ] as const) {
    it(`answers an unknown URI with ${code} and the URI (${era})`, async () => {
      for (const provider of [recordingProvider(), recordingProvider({ readResource: async () => [] })]) {
        const uri = "skill://nope";
        const { status, json } = await exchange({ era, method: "resources/read", params: { uri }, provider });
        expect(status).toBe(200);
        expect(json.error).toMatchObject({ code, data: { uri } });
      }
    });

    it(`refuses a URI that is no string (${era})`, async () => {
      const { status, json } = await exchange({ era, method: "resources/read", params: { uri: 5 } });
      expect([status, json.error.code]).toEqual([200, -32602]);
    });
  }
});
