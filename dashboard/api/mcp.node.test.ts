import { describe, expect, it } from "vitest";
import { type Exchange, refusalOf } from "./mcp.ts";

const answered = (status: number, response: unknown): Exchange => ({
  key: 1,
  method: "tools/list",
  wire: { method: "POST", url: "https://gate.example/mcp", headers: {} },
  request: "{}",
  status,
  response: typeof response === "string" ? response : JSON.stringify(response),
  headers: [],
  ms: 1,
  timing: [],
});

describe("an exchange that brought no result", () => {
  it.each([
    [
      "refused before its id was read",
      403,
      { error: "browser_origin", message: "Pages may not." },
      "browser_origin",
      /^The gateway answered 403: Pages may not\. Name this console's host in PUBLIC_HOSTS/,
    ],
    [
      "refused by the protocol",
      429,
      { jsonrpc: "2.0", id: 1, error: { code: -31429, message: "Too many." } },
      "-31429",
      /^The gateway answered 429: Too many\.$/,
    ],
    [
      "an error in a good answer",
      200,
      { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "No such method." } },
      "-32601",
      /200: No such method\.$/,
    ],
    ["a page of something between", 502, "<html>Bad gateway</html>", "unknown", /502: what it sent is no JSON-RPC/],
    ["no answer", 0, "Failed to fetch", "unreachable", /No answer came .*Failed to fetch/],
  ])("says its status, code and message: %s", (_, status, response, code, message) => {
    const refusal = refusalOf(answered(status, response));
    expect(refusal?.status).toBe(status);
    expect(refusal?.code).toBe(code);
    expect(refusal?.message).toMatch(message);
  });

  it("is none where there is a result, as JSON or as an event stream", () => {
    const result = { jsonrpc: "2.0", id: 1, result: { tools: [] } };
    expect(refusalOf(answered(200, result))).toBeNull();
    expect(refusalOf(answered(200, `event: message\ndata: ${JSON.stringify(result)}\n\n`))).toBeNull();
  });
});
