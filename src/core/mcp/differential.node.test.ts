import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { MODERN_META, recordingProvider, tool } from "./fixture/exchange.ts";
import { handleMcp } from "./http.ts";

const provider = recordingProvider({ tools: [tool("echo")] });

/** The official SDK's server of the same tools and resources. */
const sdk = createMcpHandler(
  () => {
    const capabilities = { tools: { listChanged: false }, resources: { listChanged: false }, prompts: {} };
    const server = new Server({ name: "test", version: "1.2.3" }, { capabilities });
    server.setRequestHandler("tools/list", () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }));
    server.setRequestHandler("tools/call", ({ params }) => ({
      content: [{ type: "text", text: params.name }],
      isError: false,
    }));
    server.setRequestHandler("resources/list", () => ({
      resources: [{ uri: "skill://echo", name: "Echo", mimeType: "text/markdown" }],
    }));
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
    server.setRequestHandler("resources/read", ({ params }) => ({
      contents: [{ uri: params.uri, mimeType: "text/markdown", text: "# Echo" }],
    }));
    server.setRequestHandler("prompts/list", () => ({ prompts: [] }));
    return server;
  },
  { responseMode: "json" },
);

interface Sent {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** The HTTP status, the JSON-RPC code, and the result without the members where the two may differ (hints of how long to cache). */
async function outcome(response: Response) {
  const text = await response.text();
  const json = text.replace(/^(?:event: message\n)?data: /, "");
  const { error, result } = text === "" ? { error: undefined, result: undefined } : JSON.parse(json);
  if (result !== undefined) {
    delete result.ttlMs;
    delete result.cacheScope;
  }
  return { status: response.status, code: error?.code, result };
}

async function both({ body, headers }: Sent) {
  const sent = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
  const request = new Request("http://localhost/mcp", { method: "POST", headers: sent, body });
  const signal = new AbortController().signal;
  const ours = await handleMcp({ headers: new Headers(sent), body, provider, signal });
  return { ours: await outcome(ours), theirs: await outcome(await sdk.fetch(request)) };
}

const rpc = (method: string, params: object | undefined, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

function modern(method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}): Sent {
  const name = method === "resources/read" ? params.uri : params.name;
  return {
    body: rpc(method, { ...params, _meta: MODERN_META }),
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
      ...headers,
    },
  };
}

const LEGACY = { "mcp-protocol-version": "2025-11-25" };
const legacy = (method: string, params: object = {}): Sent => ({ body: rpc(method, params), headers: LEGACY });
const hello = (protocolVersion: string) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: "c", version: "1" },
});

describe("answers as the official SDK does", () => {
  const cases: readonly (readonly [string, Sent])[] = [
    ["initialize 2025-11-25", { body: rpc("initialize", hello("2025-11-25")), headers: {} }],
    ["initialize 2025-06-18", { body: rpc("initialize", hello("2025-06-18")), headers: {} }],
    ["an unknown version in initialize", { body: rpc("initialize", hello("1.0")), headers: {} }],
    ["ping", legacy("ping")],
    ["legacy tools/list", legacy("tools/list")],
    ["legacy tools/call", legacy("tools/call", { name: "echo", arguments: { a: 1 } })],
    ["legacy resources/list", legacy("resources/list")],
    ["legacy resources/read", legacy("resources/read", { uri: "skill://echo" })],
    ["legacy prompts/list", legacy("prompts/list")],
    ["an unknown legacy method", legacy("no/such")],
    ["a legacy method of the modern era", legacy("server/discover")],
    ["a legacy call without a name", legacy("tools/call")],
    ["legacy requests without a version header", { body: rpc("tools/list", {}), headers: {} }],
    ["mcp-remote's extra header", { body: rpc("tools/list", {}), headers: { "mcp-method": "tools/list" } }],
    [
      "a notification",
      { body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }), headers: LEGACY },
    ],
    ["server/discover", modern("server/discover")],
    ["modern tools/list", modern("tools/list")],
    ["modern tools/call", modern("tools/call", { name: "echo", arguments: {} })],
    ["modern resources/list", modern("resources/list")],
    ["modern resources/templates/list", modern("resources/templates/list")],
    ["modern resources/read", modern("resources/read", { uri: "skill://echo" })],
    ["modern prompts/list", modern("prompts/list")],
    ["an unknown modern method", modern("no/such")],
    ["modern ping", modern("ping")],
    ["modern initialize", modern("initialize", hello("2025-11-25"))],
    ["another Mcp-Method", modern("tools/list", {}, { "mcp-method": "tools/call" })],
    ["another Mcp-Name", modern("tools/call", { name: "echo" }, { "mcp-name": "other" })],
    ["an encoded Mcp-Name", modern("tools/call", { name: "echo" }, { "mcp-name": "=?base64?ZWNobw==?=" })],
    ["a badly encoded Mcp-Name", modern("tools/call", { name: "echo" }, { "mcp-name": "=?base64?ZWNobw?=" })],
    ["no modern headers at all", { body: rpc("tools/list", { _meta: MODERN_META }), headers: {} }],
    ["a modern body under a legacy header", modern("tools/list", {}, LEGACY)],
    [
      "a modern header without _meta",
      { body: rpc("tools/list", {}), headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" } },
    ],
    ["text that is not JSON", { body: "{", headers: {} }],
    ["a null id", { body: rpc("ping", {}, null), headers: LEGACY }],
    ["an empty batch", { body: "[]", headers: LEGACY }],
  ];
  for (const [what, sent] of cases) {
    it(`to ${what}`, async () => {
      const { ours, theirs } = await both(sent);
      expect(ours).toEqual(theirs);
    });
  }
});

describe("differs from the official SDK on purpose", () => {
  const cases: readonly (readonly [
    why: string,
    sent: Sent,
    ours: readonly [number, number?],
    theirs: readonly [number, number?],
  ])[] = [
    [
      "in taking a version header that nobody knows for neither era",
      { body: rpc("tools/list", {}), headers: { "mcp-protocol-version": "2031-01-01" } },
      [400, -32600],
      [400, -32602],
    ],
    [
      "in keeping clear of -32000, which new code should not use",
      { body: rpc("ping", {}), headers: { "content-type": "text/plain" } },
      [415],
      [415, -32000],
    ],
    [
      "in refusing batches, which 2025-06-18 took out",
      { body: `[${rpc("ping", {})}]`, headers: LEGACY },
      [400, -32600],
      [200],
    ],
    [
      "in serving clients that accept JSON alone",
      { body: rpc("ping", {}), headers: { ...LEGACY, accept: "application/json" } },
      [200],
      [406, -32000],
    ],
  ];
  for (const [why, sent, ...expected] of cases) {
    it(why, async () => {
      const { ours, theirs } = await both(sent);
      expect([ours, theirs].map(({ status, code }) => [status, code])).toEqual(
        expected.map(([status, code]) => [status, code]),
      );
    });
  }
});
