import { describe, expect, it } from "vitest";
import { exchange, MODERN_META, recordingProvider } from "./fixture/exchange.ts";
import { handleMcp } from "./http.ts";
import type { Provider } from "./provider.ts";

const CALL = { method: "tools/call", params: { name: "echo" } } as const;

function deferred() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

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
    const provider = recordingProvider({ callTool: () => Promise.reject(new Error("x")) });
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
        const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
        await Promise.race([released, aborted]);
        return { content: [{ type: "text", text: signal?.aborted ? "aborted" : "finished" }], isError: false };
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
    expect(provider.calls[0]?.context.signal?.aborted).toBe(true);
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
      expect(provider.calls[0]?.context.signal?.aborted ?? false).toBe(expected);
      release();
    });
  }
});
