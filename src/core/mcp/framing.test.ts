import { describe, expect, it } from "vitest";
import { post, recordingProvider } from "./fixture/exchange.ts";
import { MAX_DEPTH, parseMessage } from "./framing.ts";

const nested = (depth: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(depth - 2)}${"]".repeat(depth - 2)}}}`;

describe("messages that are refused with HTTP 400", () => {
  const request = (more: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", ...more });
  const cases: readonly (readonly [what: string, body: string, code: number, id: number | string | null])[] = [
    ["nothing", "", -32700, null],
    ["text", "hello", -32700, null],
    ["cut JSON", '{"jsonrpc":"2.0"', -32700, null],
    ["JSON behind a byte order mark", `\ufeff${request({})}`, -32700, null],
    ["two messages on two lines", `${request({})}\n${request({})}`, -32700, null],
    ["null", "null", -32600, null],
    ["a number", "1", -32600, null],
    ["a string", '"ping"', -32600, null],
    ["an empty object", "{}", -32600, null],
    ["another jsonrpc version", request({ jsonrpc: "1.0" }), -32600, 1],
    ["no jsonrpc version", request({ jsonrpc: undefined }), -32600, 1],
    ["a null id", request({ id: null }), -32600, null],
    ["a fractional id", request({ id: 1.5 }), -32600, null],
    ["an id that loses digits", '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', -32600, null],
    ["a boolean id", request({ id: true }), -32600, null],
    ["an object as id", request({ id: {} }), -32600, null],
    ["no method", request({ method: undefined }), -32600, 1],
    ["a number as method", request({ method: 5 }), -32600, 1],
    ["an array as params", request({ params: [] }), -32600, 1],
    ["a string as params", request({ params: "x", id: "abc" }), -32600, "abc"],
    ["null as params", request({ params: null }), -32600, 1],
    ["a number beyond a double", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[-1e400]}}', -32600, 1],
    [
      "a number of 310 digits",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1${"0".repeat(309)}}}`,
      -32600,
      1,
    ],
    ["a response with both result and error", '{"jsonrpc":"2.0","id":3,"result":{},"error":{}}', -32600, 3],
  ];
  for (const [what, body, code, id] of cases) {
    it(`${what}: ${code}`, async () => {
      const { status, json } = await post(body);
      expect(status).toBe(400);
      expect(json).toMatchObject({ jsonrpc: "2.0", id, error: { code, message: expect.stringMatching(/\.$/) } });
    });
  }

  it("[code:bad_json] text that is not JSON carries the code", async () => {
    expect((await post("{")).json.error.data).toEqual({ code: "bad_json" });
  });

  it("[10.2-batch] a batch, an empty one included", async () => {
    const one = JSON.parse(request({}));
    for (const batch of [[], [one], [one, one]]) {
      const { status, json } = await post(JSON.stringify(batch));
      expect(status).toBe(400);
      expect(json).toMatchObject({ id: null, error: { code: -32600 } });
    }
  });
});

it("serves the largest numbers that a double holds, and texts that look like larger ones", async () => {
  for (const value of ["1.7976931348623157e308", "-1E+308", '"1e400"', "1e-400"])
    expect((await post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${value}}}`)).status).toBe(200);
});

describe("[budget:message depth] nesting", () => {
  it("is served at and just below 64 levels", async () => {
    for (const depth of [MAX_DEPTH - 1, MAX_DEPTH]) expect((await post(nested(depth))).status).toBe(200);
  });

  it("is refused at 65 levels, and at half a million without a stack overflow", async () => {
    for (const body of [nested(MAX_DEPTH + 1), "[".repeat(500_000), `{"a":`.repeat(100_000)]) {
      const { status, json } = await post(body);
      expect(status).toBe(400);
      expect(json.error.code).toBe(-32700);
    }
  });

  it("does not count brackets inside strings", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { a: `\\"${"[{".repeat(200)}` } });
    expect((await post(body)).status).toBe(200);
  });
});

describe("messages without an id", () => {
  const bodies = [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    '{"jsonrpc":"2.0","method":"ping"}',
    '{"jsonrpc":"2.0","method":"no/such/thing"}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
  ];
  for (const body of bodies) {
    it(`[10.2-id-less] are taken with 202, no body and no execution: ${body}`, async () => {
      const provider = recordingProvider();
      const { status, text, headers } = await post(body, { provider });
      expect(status).toBe(202);
      expect(text).toBe("");
      expect(headers.get("content-type")).toBeNull();
      expect(provider.calls).toEqual([]);
    });
  }
});

it("keeps string and integer ids as they are", () => {
  for (const id of [0, -1, "", "7", Number.MAX_SAFE_INTEGER]) {
    const framing = parseMessage(JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }));
    expect(framing).toEqual({ ok: true, message: { kind: "request", id, method: "ping", params: {} } });
  }
});

describe("the content type", () => {
  it("[code:unsupported_media_type] must be application/json", async () => {
    for (const type of ["text/plain", "application/json-seq", "application/x-www-form-urlencoded", ""]) {
      const { status, json } = await post("{}", { headers: { "content-type": type } });
      expect(status).toBe(415);
      expect(json).toEqual({ error: "unsupported_media_type", message: expect.any(String) });
    }
    expect((await post("{}", { headers: {} })).status).toBe(415);
  });

  it("may have parameters and any case", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]) {
      expect((await post(body, { headers: { "content-type": type } })).status).toBe(200);
    }
  });
});
