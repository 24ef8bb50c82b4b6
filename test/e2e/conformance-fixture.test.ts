import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FixtureServer, startFixtureServer } from "../conformance/fixture-server.ts";
import { expectedFailures, type Revision, runConformance } from "../conformance/run.ts";

let server: FixtureServer;
beforeAll(async () => {
  server = await startFixtureServer();
});
afterAll(() => server?.stop());

/** Beyond what the baseline proves by itself: these must be run, and pass. */
const MUST_PASS: Readonly<Record<Revision, readonly string[]>> = {
  "2025-11-25": [
    "server-initialize",
    "ping",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless",
    "caching",
    "tools-call-with-progress",
    "sep-2164-resource-not-found",
    "json-schema-2020-12",
    "http-header-validation",
    "http-custom-header-server-validation",
    "dns-rebinding-protection",
  ],
};

describe("the official conformance suite", () => {
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`passes for ${revision} with no failure beyond the expected ones`, { timeout: 150_000 }, async () => {
      const run = await runConformance({ url: server.url, revision, expectedFailures: expectedFailures(revision) });
      expect(run.exitCode, run.output).toBe(0);
      expect(run.passed).toEqual(expect.arrayContaining([...MUST_PASS[revision]]));
    });
  }

  it("fails when a scenario fails that is not expected to", async () => {
    const scenarios = ["ping", "completion-complete"];
    const revision = "2025-11-25";
    const run = await runConformance({ url: server.url, revision, expectedFailures: "", scenarios });
    expect(run).toMatchObject({ passed: ["ping"], failed: ["completion-complete"] });
    expect(run.exitCode).not.toBe(0);
  });
});

const INFO = { name: "skillgate-tests", version: "1.0.0" };

const CLIENTS = [
  { name: "SDK v1", version: "2025-11-25", connect: connectV1 },
  { name: "SDK v2, legacy", version: "2025-11-25", connect: () => connectV2("legacy") },
  { name: "SDK v2, auto", version: "2026-07-28", connect: () => connectV2("auto") },
  { name: "SDK v2, pinned", version: "2026-07-28", connect: () => connectV2({ pin: "2026-07-28" }) },
];

type AnyClient = Pick<
  Client,
  "listTools" | "callTool" | "listResources" | "listResourceTemplates" | "readResource" | "close"
> & {
  listPrompts(): Promise<{ prompts: unknown[] }>;
};

interface Connected {
  readonly client: AnyClient;
  readonly version: string | undefined;
  /** Calls a tool and collects the progress values. The two SDKs order their arguments differently. */
  readonly callWithProgress: (name: string, onprogress: (progress: { progress: number }) => void) => Promise<object>;
}

async function connectV1(): Promise<Connected> {
  const transport = new StreamableHTTPClientTransport(new URL(server.url));
  const client = new Client(INFO);
  // The SDK's types of transport and client disagree under exactOptionalPropertyTypes.
  await client.connect(transport as Transport);
  return {
    client,
    version: transport.protocolVersion,
    callWithProgress: (name, onprogress) => client.callTool({ name, arguments: {} }, undefined, { onprogress }),
  };
}

async function connectV2(mode: "legacy" | "auto" | { pin: string }): Promise<Connected> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(new URL(server.url)));
  return {
    client: client as unknown as AnyClient,
    version: client.getNegotiatedProtocolVersion(),
    callWithProgress: (name, onprogress) => client.callTool({ name, arguments: {} }, { onprogress }),
  };
}

describe.each(CLIENTS)("the official client $name", ({ version, connect }) => {
  let client: AnyClient;
  let connected: Connected;
  beforeAll(async () => {
    connected = await connect();
    client = connected.client;
  });
  afterAll(() => client?.close());

  it("[10.2-negotiation] settles on the newest revision that it speaks", () => {
    expect(connected.version).toBe(version);
  });

  it("lists everything", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["test_simple_text", "list_of_numbers"]));
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain("test://static-text");
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    expect((await client.listPrompts()).prompts).toEqual([]);
  });

  it("gets an output schema only if its revision knows one like it", async () => {
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === "list_of_numbers")?.outputSchema;
    expect(schema === undefined).toBe(version === "2025-11-25");
  });

  it("calls tools and reads resources", async () => {
    const answer = await client.callTool({ name: "test_simple_text", arguments: {} });
    expect(answer.content).toEqual([{ type: "text", text: "This is a simple text response for testing." }]);
    expect((await client.callTool({ name: "test_error_handling" })).isError).toBe(true);
    expect((await client.readResource({ uri: "test://template/7/data" })).contents[0]).toMatchObject({
      text: expect.stringContaining("Data for ID: 7"),
    });
  });

  it("mirrors an annotated argument into a header, whatever the text", async () => {
    await client.listTools();
    for (const region of ["eu-west-1", "Zürich ☃", " padded ", "=?base64?x?=", ""]) {
      const answer = await client.callTool({ name: "test_x_mcp_header", arguments: { region } });
      expect(answer.content).toEqual([{ type: "text", text: `Region: ${region}` }]);
    }
  });

  it("sees progress in order and then the answer", async () => {
    const seen: number[] = [];
    const answer = await connected.callWithProgress("test_tool_with_progress", ({ progress }) => seen.push(progress));
    expect(answer).toMatchObject({ content: [{ type: "text", text: "done" }] });
    expect(seen).toEqual([0, 50, 100]);
  });

  it("[10.2-unknown-tool] is told of an unknown tool by a protocol error", async () => {
    await expect(client.callTool({ name: "nope", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });
});

describe("a client that goes away", () => {
  const send = (name: string, meta: object, onAnswer: (answer: IncomingMessage) => void = () => {}) => {
    const sent = request(server.url, {
      method: "POST",
      agent: false,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
    });
    // Breaking off is what these tests do.
    sent.on("error", () => {});
    sent.on("response", onAnswer);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      ...meta,
    };
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, _meta } }));
    return sent;
  };

  const count = (of: "started" | "cancelled") =>
    new Promise<number>((resolve, reject) => {
      send("count_cancellations", {}, async (answer) => {
        try {
          resolve(JSON.parse(await text(answer)).result.structuredContent[of]);
        } catch (error) {
          reject(error);
        }
      });
    });

  for (const [state, meta] of [
    ["a stream", { progressToken: 1 }],
    ["awaited", {}],
  ] as const) {
    it(`cancels its call in the modern era while the answer is ${state}`, async () => {
      const [started, cancelled] = [await count("started"), await count("cancelled")];
      let headers: IncomingMessage["headers"] = {};
      const sent = send("wait_for_cancellation", meta, (answer) => {
        headers = answer.headers;
        answer.on("error", () => {}).resume();
      });
      await expect.poll(() => count("started"), { timeout: 4_000 }).toBe(started + 1);
      if (state === "a stream") {
        await expect.poll(() => headers["content-type"], { timeout: 4_000 }).toBe("text/event-stream");
        expect(headers["x-accel-buffering"]).toBe("no");
      }
      // workerd takes a reset for a disconnect; a mere end of input is a half-open connection that still wants its answer.
      sent.socket?.resetAndDestroy();
      await expect.poll(() => count("cancelled"), { timeout: 4_000 }).toBe(cancelled + 1);
    });
  }
});
