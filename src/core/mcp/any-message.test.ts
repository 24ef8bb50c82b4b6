import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { post } from "./fixture/exchange.ts";

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
