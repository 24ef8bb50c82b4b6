import { describe, expect, it } from "vitest";
import { MissingClientCapability } from "./errors.ts";
import { exchange, recordingProvider } from "./fixture/exchange.ts";
import { errorResponse, messageId, readRequest } from "./http.ts";
import type { Provider } from "./provider.ts";

const throwing = (error: unknown): Partial<Provider> => ({
  callTool: () => Promise.reject(error),
});
const CALL = { method: "tools/call", params: { name: "echo" } } as const;

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
