import { describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../json.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { MODERN_META, recordingProvider } from "./fixture/exchange.ts";
import type { CallContext, Provider } from "./provider.ts";

interface Spoken {
  readonly connection: Connection;
  readonly sent: JsonObject[];
  /** Sends a request and waits until it has been dealt with. */
  ask(id: number | string, method: string, params?: JsonObject): Promise<void>;
  notify(method: string, params?: JsonObject): Promise<void>;
}

function connect(provider: Provider = recordingProvider(), more: Partial<ConnectionOptions> = {}): Spoken {
  const sent: JsonObject[] = [];
  const connection = new Connection({
    serverInfo: provider.serverInfo,
    provide: async () => provider,
    send: (text) => {
      expect(text).not.toContain("\n");
      sent.push(JSON.parse(text) as JsonObject);
    },
    ...more,
  });
  const receive = (message: JsonObject) => connection.receive(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return {
    connection,
    sent,
    ask: (id, method, params = {}) => receive({ id, method, params }),
    notify: (method, params = {}) => receive({ method, params }),
  };
}

const modern = (params: JsonObject = {}): JsonObject => ({ ...params, _meta: MODERN_META });
const ERAS = [
  ["legacy", (params: JsonObject = {}) => params],
  ["modern", modern],
] as const;

/** A provider whose calls stay open until they are let go or cancelled. */
function slowProvider() {
  const open: { readonly name: string; readonly context: CallContext; readonly finish: () => void }[] = [];
  const provider = recordingProvider({
    callTool: (name, _args, context) =>
      new Promise((resolve) => {
        const finish = () => resolve({ content: [{ type: "text", text: name }], isError: false });
        context.signal?.addEventListener("abort", finish);
        open.push({ name, context, finish });
      }),
  });
  return { provider, open };
}

describe.each(ERAS)("a %s client", (era, params) => {
  it("is answered in its own form", async () => {
    const { ask, sent } = connect();
    await ask(1, "tools/list", params());
    await ask("two", "tools/call", params({ name: "echo", arguments: {} }));
    expect(sent).toMatchObject([{ id: 1, result: { tools: [{ name: "echo" }, {}, {}, {}, {}] } }, { id: "two" }]);
    expect(sent).toMatchObject([{}, { result: { content: [{ type: "text", text: "echo" }] } }]);
    expect(JSON.stringify(sent).includes('"resultType":"complete"')).toBe(era === "modern");
  });

  it("has a slow call answered after what it asked later", async () => {
    const { provider, open } = slowProvider();
    const { ask, sent } = connect(provider);
    const call = ask(1, "tools/call", params({ name: "echo" }));
    await ask(2, "tools/list", params());
    expect(sent.map(({ id }) => id)).toEqual([2]);
    open[0]?.finish();
    await call;
    expect(sent.map(({ id }) => id)).toEqual([2, 1]);
  });

  it("hears nothing more of a call that it cancels", async () => {
    const { provider, open } = slowProvider();
    const { ask, notify, sent, connection } = connect(provider);
    const call = ask(1, "tools/call", {
      name: "echo",
      _meta: { ...(params()._meta as JsonObject), progressToken: "p" },
    });
    const other = ask("1", "tools/call", params({ name: "object" }));
    await vi.waitFor(() => expect(open).toHaveLength(2));
    open[0]?.context.progress(1);
    await notify("notifications/cancelled", { requestId: 1, reason: "enough" });
    expect(open.map(({ context }) => context.signal?.aborted)).toEqual([true, false]);
    open[0]?.context.progress(2);
    await call;
    open[1]?.finish();
    await other;
    expect(sent).toMatchObject([{ method: "notifications/progress", params: { progress: 1 } }, { id: "1" }]);
    expect(connection.running).toBe(0);
  });

  it("is answered its handshake, though it cancels it, which it must not", async () => {
    const { ask, notify, sent } = connect();
    const handshake = ask(1, "initialize", { protocolVersion: "2025-11-25" });
    await notify("notifications/cancelled", { requestId: 1 });
    await handshake;
    expect(sent).toMatchObject([{ id: 1, result: { protocolVersion: "2025-11-25" } }]);
  });

  it("is told of progress where it asked, growing, and never after the answer", async () => {
    const { provider, open } = slowProvider();
    const { ask, sent } = connect(provider);
    const call = ask(1, "tools/call", { name: "echo", _meta: { ...(params()._meta as JsonObject), progressToken: 7 } });
    const silent = ask(2, "tools/call", params({ name: "echo" }));
    await vi.waitFor(() => expect(open).toHaveLength(2));
    for (const value of [0, 50, 50, 20, 100]) for (const { context } of open) context.progress(value, 100);
    for (const { finish } of open) finish();
    await Promise.all([call, silent]);
    open[0]?.context.progress(200);
    const progress = sent.filter(({ method }) => method === "notifications/progress");
    expect(progress.map(({ params: told }) => told)).toEqual([
      { progressToken: 7, progress: 0, total: 100 },
      { progressToken: 7, progress: 50, total: 100 },
      { progressToken: 7, progress: 100, total: 100 },
    ]);
  });

  it("[10.4-08abf77] is told why nothing can be served, request by request", async () => {
    const { ask, sent } = connect(recordingProvider(), {
      provide: () => Promise.reject(new Error("down")),
      describeError: () => ({ status: 502, rpcCode: -31502, message: "The origin is down.", data: { code: "x" } }),
    });
    for (const [index, method] of ["tools/list", "tools/call", "resources/list", "resources/read"].entries()) {
      await ask(index, method, params({ name: "echo", uri: "skill://echo" }));
      expect(sent.at(-1)).toEqual({
        jsonrpc: "2.0",
        id: index,
        error: { code: -31502, message: "The origin is down.", data: { code: "x" } },
      });
    }
  });
});

describe("a handshake", () => {
  it.each([
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2024-11-05", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
  ])("of %s agrees on %s, before there is anything to serve", async (asked, agreed) => {
    const { ask, sent } = connect(recordingProvider(), { provide: () => new Promise(() => {}) });
    await ask(1, "initialize", { protocolVersion: asked, capabilities: {}, clientInfo: { name: "c", version: "1" } });
    await ask(2, "ping");
    expect(sent).toMatchObject([
      { id: 1, result: { protocolVersion: agreed, capabilities: { tools: { listChanged: true } } } },
      { id: 2, result: {} },
    ]);
  });

  it("is what the calls after it are said to speak", async () => {
    const provider = recordingProvider();
    const { ask } = connect(provider);
    await ask(1, "tools/call", { name: "echo" });
    await ask(2, "initialize", { protocolVersion: "2025-06-18" });
    await ask(3, "tools/call", { name: "echo" });
    expect(provider.calls.map(({ context }) => context.protocolVersion)).toEqual(["2025-03-26", "2025-06-18"]);
  });

  it("has no place in the modern era, where server/discover has", async () => {
    const { ask, sent } = connect();
    await ask(1, "initialize", modern());
    await ask(2, "ping", modern());
    await ask(3, "server/discover", modern());
    await ask(4, "server/discover");
    expect(sent).toMatchObject([
      { error: { code: -32601 } },
      { error: { code: -32601 } },
      { result: { supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } } },
      { error: { code: -32601 } },
    ]);
  });
});

describe("a changed list", () => {
  it("is told to a legacy client once it is initialized, and not before", async () => {
    const { connection, ask, notify, sent } = connect();
    connection.listChanged();
    await ask(1, "initialize");
    connection.listChanged();
    await notify("notifications/initialized");
    connection.listChanged();
    expect(sent.map(({ id, method }) => id ?? method)).toEqual([
      1,
      "notifications/tools/list_changed",
      "notifications/resources/list_changed",
    ]);
  });

  it("is told to a modern client as far as it listens, until it does no more", async () => {
    const { connection, ask, notify, sent } = connect();
    await ask(
      "tools",
      "subscriptions/listen",
      modern({ notifications: { toolsListChanged: true, promptsListChanged: true } }),
    );
    await ask(
      2,
      "subscriptions/listen",
      modern({ notifications: { toolsListChanged: true, resourcesListChanged: true } }),
    );
    const tag = (id: number | string) => ({ "io.modelcontextprotocol/subscriptionId": id });
    expect(sent.splice(0)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { toolsListChanged: true }, _meta: tag("tools") },
      },
      {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { toolsListChanged: true, resourcesListChanged: true }, _meta: tag(2) },
      },
    ]);
    await notify("notifications/cancelled", { requestId: 2 });
    connection.listChanged();
    expect(sent.splice(0)).toEqual([
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta: tag("tools") } },
    ]);
    connection.close();
    expect(sent).toMatchObject([{ id: "tools", result: { resultType: "complete", _meta: tag("tools") } }]);
  });

  it("cannot be listened for in part or in words that mean nothing", async () => {
    const { ask, sent } = connect();
    await ask(1, "subscriptions/listen", modern({ notifications: { promptsListChanged: true } }));
    expect(sent.splice(0)).toMatchObject([
      { params: { notifications: {} } },
      { id: 1, result: { resultType: "complete" } },
    ]);
    for (const notifications of [undefined, null, [], "tools", { toolsListChanged: "yes" }]) {
      await ask(2, "subscriptions/listen", modern(notifications === undefined ? {} : { notifications }));
      expect(sent.splice(0)).toMatchObject([{ id: 2, error: { code: -32602 } }]);
    }
    await ask(3, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    expect(sent).toMatchObject([{ id: 3, error: { code: -32601 } }]);
  });
});

describe("what is no request", () => {
  it.each([
    ["{", -32700, null],
    ["", -32700, null],
    ["[]", -32600, null],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ['{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601, 1],
    [
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`,
      -32022,
      1,
    ],
    [
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
      -32602,
      1,
    ],
  ])("%s is answered with %d", async (text, code, id) => {
    const { connection, sent } = connect();
    await connection.receive(text);
    expect(sent).toMatchObject([{ jsonrpc: "2.0", id, error: { code } }]);
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
    '{"jsonrpc":"2.0","method":"nonsense"}',
  ])("%s is not answered, and nothing is run", async (text) => {
    const provider = recordingProvider();
    const { connection, sent } = connect(provider);
    await connection.receive(text);
    expect(sent).toEqual([]);
    expect(provider.calls).toEqual([]);
  });
});

describe("the end", () => {
  it("cancels what runs and is followed by silence", async () => {
    const { provider, open } = slowProvider();
    const { connection, ask, sent } = connect(provider);
    const call = ask(1, "tools/call", { name: "echo" });
    await vi.waitFor(() => expect(open).toHaveLength(1));
    connection.close();
    connection.listChanged();
    await call;
    await ask(2, "ping");
    expect(open[0]?.context.signal?.aborted).toBe(true);
    expect(sent).toEqual([]);
  });

  it("of the wait for a first discovery is the client's to decide", async () => {
    const provider = recordingProvider();
    let found: (provider: Provider) => void = () => {};
    const { ask, notify, sent } = connect(provider, { provide: () => new Promise((resolve) => (found = resolve)) });
    const call = ask(1, "tools/call", { name: "echo" });
    await notify("notifications/cancelled", { requestId: 1 });
    await call;
    found(provider);
    await ask(2, "ping");
    expect(provider.calls).toEqual([]);
    expect(sent.map(({ id }) => id)).toEqual([2]);
  });
});

it("says of a long call that it is still running, where the client asked", async () => {
  const { provider, open } = slowProvider();
  const { ask, sent } = connect(provider, { heartbeatMs: 5 });
  const call = ask(1, "tools/call", { name: "echo", _meta: { progressToken: "p" } });
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(1));
  open[0]?.finish();
  await call;
  expect(sent.slice(0, 2)).toMatchObject([
    { method: "notifications/progress", params: { progress: 0.005, message: "Running for 0.005 s." } },
    { method: "notifications/progress", params: { progress: 0.01 } },
  ]);
  expect(sent.at(-1)).toMatchObject({ id: 1 });
});

it("runs at most 256 requests at once, says so, and answers ping however many there are", async () => {
  const { provider, open } = slowProvider();
  const { connection, ask, sent } = connect(provider);
  const calls = Array.from({ length: 256 }, (_, id) => ask(id, "tools/call", { name: "echo" }));
  await ask("more", "tools/call", { name: "echo" });
  await ask("alive", "ping");
  expect(sent).toMatchObject([
    { id: "more", error: { code: -31429 } },
    { id: "alive", result: {} },
  ]);
  await vi.waitFor(() => expect(open).toHaveLength(256));
  for (const { finish } of open) finish();
  await Promise.all(calls);
  expect(connection.running).toBe(0);
  expect(sent).toHaveLength(258);
});
