import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { buildSnapshot } from "../core/memory/building/build-snapshot.ts";
import { AsyncToolHost, CapabilityError, ToolHost, type ToolHostOptions, VERSION } from "../index.ts";
import { createMcpServer as createSynchronousServer } from "./mcp-core.ts";
import { connectClient, createMcpServer } from "./mcp-core-async.ts";

const SUM =
  'registerTool({ name: "sum", description: "Adds.", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] }, handler: ({ a, b }) => a + b })';

function tool(body: string, more = ""): string {
  return `registerTool({ name: "t", ${more} handler(args) { ${body} } })`;
}

/** What the two kinds of host must have in common. */
const KINDS = [
  { kind: "ToolHost", make: (options?: ToolHostOptions) => new ToolHost(options) },
  { kind: "AsyncToolHost", make: (options?: ToolHostOptions) => new AsyncToolHost(options) },
] as const;

async function ready(make: (typeof KINDS)[number]["make"], options?: ToolHostOptions) {
  const host = make(options);
  await host.init();
  return host;
}

/** A call of either host, as a promise. */
async function call(host: ToolHost | AsyncToolHost, name: string, args: object = {}): Promise<unknown> {
  return host.callTool(name, args);
}

describe.each(KINDS)("a $kind", ({ make }) => {
  it("loads, lists and calls, without a wait for loading", async () => {
    const host = await ready(make);
    expect(host.loadToolSource(SUM)).toMatchObject({ name: "sum", description: "Adds." });
    host.loadToolSource(tool("return [typeof globalThis.seen, (globalThis.seen = 1)]"));
    expect(host.listTools().map(({ name }) => name)).toEqual(["sum", "t"]);
    expect(await call(host, "sum", { a: 40, b: 2 })).toBe(42);
    expect(await call(host, "t")).toEqual(["undefined", 1]);
    expect(await call(host, "t")).toEqual(["undefined", 1]);
    host.dispose();
  });

  it("gives no way to alter what it lists or was asked", async () => {
    const host = await ready(make);
    (host.loadToolSource(SUM) as { name: string }).name = "other";
    (host.listTools()[0] as { inputSchema: object }).inputSchema = {};
    expect(host.listTools()).toMatchObject([{ name: "sum", inputSchema: { required: ["a", "b"] } }]);
    host.loadToolSource(tool("args.list.push(2); return args"));
    const args = { list: [1] };
    expect(await call(host, "t", args)).toEqual({ list: [1, 2] });
    expect(args).toEqual({ list: [1] });
    host.dispose();
  });

  it("has a life: new, ready once, disposed for good", async () => {
    const host = make();
    expect(() => host.listTools()).toThrowError(expect.objectContaining({ code: "not_initialised" }));
    expect(() => host.loadToolSource(SUM)).toThrowError(expect.objectContaining({ code: "not_initialised" }));
    await expect(call(host, "sum")).rejects.toMatchObject({ code: "not_initialised" });
    const starting = host.init();
    await expect(host.init()).rejects.toMatchObject({ code: "already_initialised" });
    await starting;
    await expect(host.init()).rejects.toMatchObject({ code: "already_initialised" });
    host.dispose();
    host.dispose();
    expect(() => host.listTools()).toThrowError(expect.objectContaining({ code: "disposed" }));
    await expect(call(host, "sum")).rejects.toMatchObject({ code: "disposed" });
    await expect(host.init()).rejects.toMatchObject({ code: "disposed" });
    const early = make();
    const never = early.init();
    early.dispose();
    await expect(never).rejects.toMatchObject({ code: "disposed" });
  });

  it("says of a source why it cannot be loaded, and keeps what it had", async () => {
    const host = await ready(make);
    host.loadToolSource(SUM);
    const refused: readonly (readonly [unknown, string])[] = [
      [SUM, "duplicate_tool"],
      ["", "no_registration"],
      ["registerTool({", "tool_error"],
      [`${SUM};${SUM}`, "several_registrations"],
      ["registerTool({ name: 'x' })", "bad_definition"],
      ["registerTool({ handler() {} })", "bad_definition"],
      ["registerTool({ name: 'no spaces', handler() {} })", "bad_name"],
      ["registerTool({ name: '__proto__\\u0000', handler() {} })", "bad_name"],
      [tool("", "inputSchema: { type: 'array' },"), "bad_schema"],
      [tool("", "inputSchema: { properties: { a: { pattern: '(' } } },"), "bad_schema"],
      [tool("", "outputSchema: { $ref: 'https://elsewhere.example/' },"), "bad_schema"],
      ["for (;;) {}", "gas_exhausted"],
      ["const all = []; for (;;) all.push(new Uint8Array(1e6))", "out_of_memory"],
      [`host.callInternal("x"); ${SUM}`, "tool_error"],
      ["\0", "bad_source"],
      ["x".repeat(1_048_577), "bad_source"],
      [undefined, "bad_source"],
      [{ toString: () => SUM }, "bad_source"],
    ];
    for (const [source, code] of refused) {
      expect(() => host.loadToolSource(source as string), String(source).slice(0, 60)).toThrowError(
        expect.objectContaining({ name: "ToolHostError", code }),
      );
    }
    expect(host.listTools()).toHaveLength(1);
    expect(await call(host, "sum", { a: 1, b: 1 })).toBe(2);
    host.dispose();
  });

  it("says of a call why it gave no value", async () => {
    const host = await ready(make);
    host.loadToolSource(SUM);
    host.loadToolSource(
      'registerTool({ name: "match", inputSchema: { type: "object", properties: { a: { pattern: "^(a+)+$" } } }, handler: () => "yes" })',
    );
    host.loadToolSource(
      'registerTool({ name: "lies", outputSchema: { type: "object", required: ["n"] }, handler: () => ({}) })',
    );
    host.loadToolSource(
      tool(`const { kind } = args;
        if (kind === "throw") throw new Error("told");
        if (kind === "loop") for (;;) {}
        if (kind === "pending") return new Promise(() => {});
        if (kind === "bigint") return 1n;
        if (kind === "large") return "x".repeat(2e6);
        if (kind === "deep") return (function f() { return f() + 1 })();`),
    );
    const failures: readonly (readonly [string, unknown, string])[] = [
      ["none", {}, "unknown_tool"],
      ["__proto__", {}, "unknown_tool"],
      ["sum", { a: "1" }, "invalid_arguments"],
      ["sum", [], "invalid_arguments"],
      ["sum", "text", "invalid_arguments"],
      ["sum", { a: 1n }, "invalid_arguments"],
      ["match", { a: "b" }, "invalid_arguments"],
      ["match", { a: `${"a".repeat(60)}b` }, "invalid_arguments"],
      ["lies", {}, "invalid_result"],
      ["t", { kind: "throw" }, "tool_error"],
      ["t", { kind: "loop" }, "gas_exhausted"],
      ["t", { kind: "pending" }, "did_not_settle"],
      ["t", { kind: "bigint" }, "bad_result"],
      ["t", { kind: "large" }, "result_too_large"],
      ["t", { kind: "deep" }, "stack_overflow"],
    ];
    for (const [name, args, code] of failures) {
      await expect(call(host, name, args as object), `${name} ${code}`).rejects.toMatchObject({ code });
    }
    expect(await call(host, "match", { a: "aaa" })).toBe("yes");
    expect(await call(host, "sum", { a: 1, b: 1 })).toBe(2);
    host.dispose();
  });

  it("has the embedder's capabilities, whose errors are the embedder's to word", async () => {
    const errors: unknown[] = [];
    const secret = new Error("secret");
    const host = await ready(make, {
      extraCapabilities: {
        echo: (...parameters) => ({ parameters, at: new Date(0), skip: undefined }),
        worded: () => {
          throw new CapabilityError("Not today.");
        },
        unworded: () => {
          throw secret;
        },
        own: () => ({
          toJSON() {
            throw secret;
          },
        }),
        signal() {
          return this.signal.aborted;
        },
      },
      onCapabilityError: (name, error) => errors.push([name, error]),
    });
    host.loadToolSource(
      tool(
        "return Object.keys(host).filter((name) => host[name]).map((name) => { try { return host[name](1, { b: 2 }) } catch (error) { return error.message } })",
      ),
    );
    expect(await call(host, "t")).toEqual([
      { parameters: [1, { b: 2 }], at: "1970-01-01T00:00:00.000Z" },
      "Not today.",
      "host.unworded failed",
      "host.own failed",
      false,
    ]);
    expect(errors).toEqual([
      ["unworded", secret],
      ["own", expect.any(TypeError)],
    ]);
    host.dispose();
  });

  it("searches a memory that it was given", async () => {
    const memory = buildSnapshot([{ path: "a.md", text: "# Till\n\nHow a till is opened." }]).bytes;
    const host = await ready(make, { memory });
    host.loadToolSource(tool("return host.memorySearch('till', 1).hits[0].title"));
    expect(await call(host, "t")).toBe("Till");
    host.dispose();
    await expect(make({ memory: new Uint8Array([1, 2, 3]) }).init()).rejects.toMatchObject({ code: "bad_memory" });
  });

  it("takes either engine of the package, and no other", async () => {
    const file = (name: string) => new URL(`../core/sandbox/generated/${name}`, import.meta.url);
    const bytes = await readFile(file("quickjs-asyncify.wasm"));
    for (const wasm of [
      bytes,
      await WebAssembly.compile(bytes),
      file("quickjs-asyncify.wasm"),
      file("quickjs-asyncify.wasm").href,
    ]) {
      const host = await ready(make, { wasm: wasm as never });
      host.loadToolSource(SUM);
      expect(await call(host, "sum", { a: 1, b: 2 })).toBe(3);
      host.dispose();
    }
    const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    for (const wasm of [empty, new Uint8Array(3), file("absent.wasm"), "data:application/wasm,"]) {
      const host = make({ wasm });
      await expect(host.init()).rejects.toMatchObject({ code: "no_engine" });
      await expect(host.init(), "a start that failed may be tried again").rejects.toMatchObject({ code: "no_engine" });
    }
  });

  it("refuses options that mean nothing", () => {
    for (const options of [
      { limits: { callGas: -1 } },
      { limits: { fuel: 1 } },
      { extraCapabilities: { fetchOrigin: () => 1 } },
      { extraCapabilities: { "a b": () => 1 } },
      { extraCapabilities: { ["__proto__"]: () => 1 } },
      { extraCapabilities: { pay: "yes" } },
    ]) {
      expect(() => make(options as never), JSON.stringify(options)).toThrowError(
        expect.objectContaining({ code: "bad_option" }),
      );
    }
  });

  it("is an MCP server without a transport, in both eras", async () => {
    const host = await ready(make);
    host.loadToolSource(SUM);
    host.loadToolSource(tool("throw new Error('told')"));
    const info = { name: "till", version: "1.0.0", instructions: "Adds." };
    const server = host instanceof ToolHost ? createSynchronousServer(host, info) : createMcpServer(host, info);
    const ask = async (method: string, params: object = {}) =>
      (await server.handle({ jsonrpc: "2.0", id: 1, method, params })) as { result: never; error: never };
    expect(await ask("initialize", { protocolVersion: "2025-06-18" })).toMatchObject({
      result: { protocolVersion: "2025-06-18", serverInfo: { name: "till", version: "1.0.0" }, instructions: "Adds." },
    });
    expect(await server.handle('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toBeNull();
    expect(await ask("tools/list")).toMatchObject({ result: { tools: [{ name: "sum" }, { name: "t" }] } });
    expect(await ask("tools/call", { name: "sum", arguments: { a: 1, b: 2 } })).toMatchObject({
      result: { content: [{ type: "text", text: "3" }], structuredContent: { result: 3 }, isError: false },
    });
    expect(await ask("tools/call", { name: "t" })).toMatchObject({
      result: { content: [{ text: "told" }], isError: true },
    });
    expect(await ask("tools/call", { name: "none" })).toMatchObject({ error: { code: -32602 } });
    expect(await ask("resources/read", { uri: "skill://sum" })).toMatchObject({ error: { code: -32002 } });
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    expect(await ask("tools/call", { name: "sum", arguments: { a: 1, b: 2 }, _meta: meta })).toMatchObject({
      result: { resultType: "complete", content: [{ text: "3" }] },
    });
    for (const junk of ["", "{", "[]", { a: 1n }, [], { jsonrpc: "2.0", id: 1, method: 5 }]) {
      expect(await server.handle(junk as never), String(junk)).toMatchObject({ error: { code: expect.any(Number) } });
    }
    host.dispose();
    expect(await ask("ping")).toMatchObject({ result: {} });
    expect(await ask("tools/list")).toMatchObject({ error: { code: -32603 } });
  });
});

describe("what only an AsyncToolHost can", () => {
  it("runs concurrent calls side by side, each with what it asked for", async () => {
    const waiting: (() => void)[] = [];
    const host = await ready((options) => new AsyncToolHost(options), {
      extraCapabilities: {
        slow: (value: unknown) => new Promise((resolve) => waiting.push(() => resolve(value))),
      },
    });
    host.loadToolSource(tool("return [args.n, host.slow(args.n), host.slow(-args.n)]"));
    const calls = Array.from({ length: 12 }, (_, n) => call(host, "t", { n }));
    for (let rounds = 0; rounds < 2; rounds++) {
      while (waiting.length < 12) await new Promise((resolve) => setTimeout(resolve, 1));
      for (const resolve of waiting.splice(0).reverse()) resolve();
    }
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => [n, n, n === 0 ? 0 : -n]));
    host.dispose();
  });

  it("ends a call by its signal, and all of them when it is disposed of", async () => {
    const host = new AsyncToolHost({ extraCapabilities: { never: () => new Promise(() => {}) } });
    await host.init();
    host.loadToolSource(tool("return host.never()"));
    const caller = new AbortController();
    const one = host.callTool("t", {}, { signal: caller.signal });
    const other = host.callTool("t");
    caller.abort();
    await expect(one).rejects.toMatchObject({ code: "cancelled" });
    host.dispose();
    await expect(other).rejects.toMatchObject({ code: "cancelled" });
  });

  it("fetches its one origin and nothing beside it", async () => {
    const asked: string[] = [];
    const host = new AsyncToolHost({
      allowedOrigin: "https://example.com/base/",
      fetch: async (url) => {
        asked.push(url);
        return new Response("there");
      },
    });
    await host.init();
    host.loadToolSource(
      tool(
        "return args.paths.map((path) => { try { return host.fetchOrigin(path).body } catch (e) { return 'refused' } })",
      ),
    );
    const paths = ["/a", "https://example.com/base/b", "/../c", "https://elsewhere.example/", "//elsewhere.example/"];
    expect(await host.callTool("t", { paths })).toEqual(["there", "there", "refused", "refused", "refused"]);
    expect(asked).toEqual(["https://example.com/base/a", "https://example.com/base/b"]);
    host.dispose();
    expect(() => new AsyncToolHost({ allowedOrigin: "http://example.com" })).toThrowError(
      expect.objectContaining({ code: "bad_option" }),
    );
  });

  it("serves a client over a stream, which may cancel", async () => {
    const host = new AsyncToolHost({ extraCapabilities: { never: () => new Promise(() => {}) } });
    await host.init();
    host.loadToolSource(tool("return host.never()"));
    const sent: unknown[] = [];
    const connection = connectClient(host, (text) => sent.push(JSON.parse(text)));
    const slow = connection.receive('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}');
    await connection.receive('{"jsonrpc":"2.0","id":2,"method":"ping"}');
    await connection.receive('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}');
    await slow;
    expect(sent).toEqual([{ jsonrpc: "2.0", id: 2, result: {} }]);
    connection.close();
    host.dispose();
  });
});

it("a ToolHost says that it cannot wait", async () => {
  const host = new ToolHost({ extraCapabilities: { later: async () => 1 } });
  await host.init();
  host.loadToolSource(tool("return [typeof host.fetchOrigin, host.later()]"));
  expect(() => host.callTool("t")).toThrowError(
    expect.objectContaining({ message: "host.later has no answer at once, and this host cannot wait for one" }),
  );
  host.dispose();
});

it("the library has the package's version", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  expect(VERSION).toBe(version);
});
