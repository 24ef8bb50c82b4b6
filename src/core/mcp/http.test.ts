import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MissingClientCapability } from "./errors.ts";
import { exchange, MODERN_META, post, recordingProvider } from "./fixture/exchange.ts";
import { errorResponse, handleMcp, messageId, readRequest } from "./http.ts";
import type { Provider } from "./provider.ts";

const throwing = (error: unknown): Partial<Provider> => ({
  callTool: () => Promise.reject(error),
});
const CALL = { method: "tools/call", params: { name: "echo" } } as const;

function deferred() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("what a provider throws", () => {
  it("[code:internal] is a 500 that says nothing of it", async () => {
    for (const era of ["legacy", "modern"] as const) {
      const provider = recordingProvider(throwing(new Error("secret detail")));
      const { status, json, text } = await exchange({ era, ...CALL, provider });
      expect(status).toBe(500);
      expect(json).toMatchObject({ id: 7, error: { code: -32603, data: { code: "internal" } } });
      expect(text).not.toContain("secret");
    }
  });

  it("is described by the caller, with its own status and headers", async () => {
    const { status, json, headers } = await exchange({
      ...CALL,
      provider: recordingProvider(throwing(new RangeError("full"))),
      describeError: (error) =>
        error instanceof RangeError
          ? {
              status: 503,
              rpcCode: -32603,
              message: "Busy.",
              data: { code: "pool_exhausted" },
              headers: { "retry-after": "1" },
            }
          : null,
    });
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(headers.get("content-type")).toBe("application/json");
    expect(json.error).toEqual({ code: -32603, message: "Busy.", data: { code: "pool_exhausted" } });
  });

  it("is a 500 still when the description throws or knows nothing", async () => {
    for (const describeError of [
      () => null,
      () => {
        throw new Error("again");
      },
    ]) {
      const provider = recordingProvider(throwing("a string"));
      expect((await exchange({ ...CALL, provider, describeError })).status).toBe(500);
    }
  });

  it("is a 500 for a result that is not JSON", async () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const provider = recordingProvider({
      callTool: async () => ({ content: [], isError: false, structuredContent: loop as never }),
    });
    expect((await exchange({ ...CALL, provider })).status).toBe(500);
  });

  it("is -32021 with the missing capabilities for modern clients", async () => {
    const provider = recordingProvider(throwing(new MissingClientCapability({ sampling: {} })));
    const { status, json } = await exchange({ era: "modern", ...CALL, provider });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    expect((await exchange({ ...CALL, provider })).json.error.code).toBe(-32600);
  });
});

describe("progress", () => {
  const working = (done: readonly number[]): Partial<Provider> => ({
    async callTool(_name, _args, { progress }) {
      for (const value of done) {
        progress(value, 10, "working");
        await Promise.resolve();
      }
      return { content: [], isError: false };
    },
  });
  const sse = { accept: "application/json, text/event-stream" };
  const events = (text: string) =>
    text
      .split("\n\n")
      .filter((event) => event !== "")
      .map((event) => JSON.parse(event.replace("event: message\ndata: ", "")));

  it("makes the answer a stream: notifications with the token, then the answer", async () => {
    for (const progressToken of ["abc", 0, 17]) {
      const provider = recordingProvider(working([1, 2]));
      const { status, headers, text } = await exchange({ ...CALL, provider, headers: sse, meta: { progressToken } });
      expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
      expect(headers.get("x-accel-buffering")).toBe("no");
      const params = (progress: number) => ({ progressToken, progress, total: 10, message: "working" });
      expect(events(text)).toMatchObject([
        { jsonrpc: "2.0", method: "notifications/progress", params: params(1) },
        { jsonrpc: "2.0", method: "notifications/progress", params: params(2) },
        { jsonrpc: "2.0", id: 7, result: { isError: false } },
      ]);
    }
  });

  it("only ever grows", async () => {
    const provider = recordingProvider(working([1, 1, 0, Number.NaN, 3]));
    const { text } = await exchange({ ...CALL, provider, headers: sse, meta: { progressToken: 1 } });
    expect(events(text).flatMap(({ params }) => params?.progress ?? [])).toEqual([1, 3]);
  });

  it("is bounded while nobody reads, and the answer still comes", async () => {
    const { promise: done, resolve: finish } = deferred();
    const provider = recordingProvider({
      async callTool(_name, _args, { progress }) {
        for (let value = 0; value < 10_000; value++) progress(value);
        finish();
        return { content: [], isError: false };
      },
    });
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      ...CALL,
      params: { ...CALL.params, _meta: { progressToken: 1 } },
    });
    const headers = new Headers({ ...sse, "content-type": "application/json" });
    const response = await handleMcp({ headers, body, provider, signal: new AbortController().signal });
    await done;
    const all = events(await response.text());
    expect(all.length).toBeLessThan(100);
    expect(all.at(-1)).toMatchObject({ id: 7, result: { isError: false } });
  });

  const plain = [
    ["no token", sse, {}],
    ["a token that is no string or integer", sse, { progressToken: { a: 1 } }],
    ["a client that does not take streams", { accept: "application/json" }, { progressToken: 1 }],
    ["a client that takes anything", { accept: "*/*" }, { progressToken: 1 }],
  ] as const;
  for (const [what, headers, meta] of plain) {
    it(`is dropped with ${what}`, async () => {
      const answer = await exchange({ ...CALL, provider: recordingProvider(working([1])), headers, meta });
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.json.result.isError).toBe(false);
    });
  }

  it("leaves an answer without any progress its JSON form and its status", async () => {
    const provider = recordingProvider(throwing(new Error("x")));
    const { status, json } = await exchange({ ...CALL, provider, headers: sse, meta: { progressToken: 1 } });
    expect([status, json.error.code]).toEqual([500, -32603]);
  });

  it("ends in the error when the call fails on the way", async () => {
    const provider = recordingProvider({
      async callTool(_name, _args, { progress }) {
        progress(1);
        throw new Error("x");
      },
    });
    const { text } = await exchange({ ...CALL, provider, headers: sse, meta: { progressToken: 1 } });
    expect(events(text).at(-1)).toMatchObject({ id: 7, error: { code: -32603 } });
  });
});

describe("cancellation", () => {
  /** Progresses once, waits for its signal or the test, and tells which came. */
  function waiting() {
    const { promise: released, resolve: release } = deferred();
    const provider = recordingProvider({
      async callTool(_name, _args, { signal, progress }) {
        progress(1);
        const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        await Promise.race([released, aborted]);
        return { content: [{ type: "text", text: signal.aborted ? "aborted" : "finished" }], isError: false };
      },
    });
    return { provider, release };
  }

  it("reaches a modern call when the request's signal aborts", async () => {
    const { provider } = waiting();
    const controller = new AbortController();
    const answer = exchange({ era: "modern", ...CALL, provider, signal: controller.signal });
    controller.abort();
    expect((await answer).json.result.content[0].text).toBe("aborted");
  });

  it("has reached a modern call whose signal was aborted before", async () => {
    const provider = recordingProvider();
    await exchange({ era: "modern", ...CALL, provider, signal: AbortSignal.abort() });
    expect(provider.calls[0]?.context.signal.aborted).toBe(true);
  });

  it("does not reach a legacy call: its client may come back", async () => {
    const { provider, release } = waiting();
    const controller = new AbortController();
    const answer = exchange({ ...CALL, provider, signal: controller.signal });
    controller.abort();
    release();
    expect((await answer).json.result.content[0].text).toBe("finished");
  });

  for (const [era, expected] of [
    ["modern", true],
    ["legacy", false],
  ] as const) {
    it(`${expected ? "reaches" : "does not reach"} a ${era} call when its stream is cancelled`, async () => {
      const { provider, release } = waiting();
      const isModern = era === "modern";
      const headers = new Headers({ "content-type": "application/json", accept: "text/event-stream" });
      if (isModern) {
        headers.set("mcp-protocol-version", "2026-07-28");
        headers.set("mcp-method", "tools/call");
        headers.set("mcp-name", "echo");
      }
      const _meta = { ...(isModern ? MODERN_META : {}), progressToken: 1 };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", _meta } });
      const response = await handleMcp({ headers, body, provider, signal: new AbortController().signal });
      await response.body?.cancel();
      await Promise.resolve();
      expect(provider.calls[0]?.context.signal.aborted).toBe(expected);
      release();
    });
  }
});

describe("the two steps", () => {
  it("give the id before anything is known of the provider", () => {
    const headers = new Headers({ "content-type": "application/json" });
    const message = readRequest(headers, '{"jsonrpc":"2.0","id":"a","method":"ping"}');
    expect(message instanceof Response || messageId(message)).toBe("a");
    const notification = readRequest(headers, '{"jsonrpc":"2.0","method":"x"}');
    expect(notification instanceof Response || messageId(notification)).toBe(null);
  });

  it("give errors the form of JSON-RPC", async () => {
    const failure = { status: 403, rpcCode: -32600, message: "No.", data: { code: "origin_forbidden" } };
    const response = errorResponse("a", failure);
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: "a",
      error: { code: -32600, message: "No.", data: { code: "origin_forbidden" } },
    });
  });
});

describe("whatever is sent", () => {
  const versions = fc.constantFrom("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "v9", "");
  const methods = fc.constantFrom(
    ...["initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read"],
    ...["prompts/list", "notifications/initialized", "nope", "__proto__"],
  );
  const meta = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        "io.modelcontextprotocol/protocolVersion": fc.oneof(versions, fc.jsonValue()),
        "io.modelcontextprotocol/clientCapabilities": fc.oneof(fc.constant({}), fc.jsonValue()),
        progressToken: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );
  const names = fc.oneof(fc.constantFrom("echo", "regional", "skill://echo"), fc.jsonValue());
  const params = fc.record(
    { name: names, uri: names, arguments: fc.jsonValue(), cursor: fc.jsonValue(), _meta: meta },
    { requiredKeys: [] },
  );
  const message = fc.record(
    {
      jsonrpc: fc.constantFrom("2.0", "1.0"),
      id: fc.oneof(fc.integer(), fc.jsonValue()),
      method: fc.oneof(methods, fc.jsonValue()),
      params,
    },
    { requiredKeys: ["method", "params"] },
  );
  const headerValue = fc.oneof(
    versions,
    methods,
    fc.constantFrom("echo", "=?base64?ZWNobw==?=", "=?base64?!?="),
    fc.string().map((text) => text.replace(/[^\x20-\x7e]/g, "")),
  );
  const headers = fc.record(
    {
      "mcp-protocol-version": headerValue,
      "mcp-method": headerValue,
      "mcp-name": headerValue,
      accept: headerValue,
      "mcp-param-region": headerValue,
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    message.map((value) => JSON.stringify(value)),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.string(),
  );

  it("is answered by one well-formed JSON-RPC message or by 202, never by a throw", async () => {
    await fc.assert(
      fc.asyncProperty(body, headers, async (text, more) => {
        const {
          status,
          json,
          text: answer,
        } = await post(text, { headers: { "content-type": "application/json", ...more } });
        if (status === 202) {
          expect(answer).toBe("");
          return;
        }
        expect([200, 400, 404]).toContain(status);
        expect(json.jsonrpc).toBe("2.0");
        expect(json.id === null || typeof json.id === "string" || Number.isSafeInteger(json.id)).toBe(true);
        expect("result" in json).not.toBe("error" in json);
        if ("error" in json) {
          expect([-32700, -32600, -32601, -32602, -32002, -32020, -32022]).toContain(json.error.code);
          expect(typeof json.error.message).toBe("string");
        } else expect(status).toBe(200);
      }),
      { numRuns: 1_000 },
    );
  });
});
