import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { ECHO_TOOLS, exchange, recordingProvider } from "./fixture/exchange.ts";
import { headerParameters } from "./header-parameters.ts";
import { decodeHeaderValue } from "./headers.ts";

const base64 = (text: string) => {
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
};

const call = (name: string, args: Parameters<typeof exchange>[0]["params"], headers: Record<string, string | null>) =>
  exchange({ era: "modern", method: "tools/call", params: { name, arguments: args ?? {} }, headers });

describe("the value of a header", () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ["plain", "plain"],
    ["", ""],
    [base64("Hello"), "Hello"],
    [base64("Zürich ☃"), "Zürich ☃"],
    [base64("\ufeffx"), "\ufeffx"],
    ["=?base64??=", ""],
    ["=?base64?SGVsbG8=", "=?base64?SGVsbG8="],
    ["SGVsbG8=?=", "SGVsbG8=?="],
    ["=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="],
    ["=?base64?=", "=?base64?="],
    ["=?base64?SGVsbG8?=", null],
    ["=?base64?SGVs!!!bG8=?=", null],
    ["=?base64?SGVsbG8_?=", null],
    ["=?base64?//79?=", null],
    ["Zürich", null],
    ["a\u0007b", null],
  ];
  for (const [value, decoded] of cases) {
    it(`${JSON.stringify(value)} means ${JSON.stringify(decoded)}`, () => {
      expect(decodeHeaderValue(value)).toBe(decoded);
    });
  }
});

describe("Mcp-Name", () => {
  it("must be there, equal the body and may be encoded", async () => {
    const cases: readonly (readonly [string | null, number])[] = [
      ["echo", 200],
      ["  echo  ", 200],
      [base64("echo"), 200],
      [null, 400],
      ["Echo", 400],
      ["=?base64?ZWNobw?=", 400],
      ["echo, echo", 400],
    ];
    for (const [header, expected] of cases) {
      const { status, json } = await call("echo", {}, { "mcp-name": header });
      expect([header, status]).toEqual([header, expected]);
      if (expected === 400) expect(json.error.code).toBe(-32020);
    }
  });

  it("carries names beyond ASCII as Base64", async () => {
    expect((await call("région", {}, { "mcp-name": base64("région") })).status).toBe(200);
  });

  it("mirrors the uri of resources/read", async () => {
    const read = (name: string | null) =>
      exchange({
        era: "modern",
        method: "resources/read",
        params: { uri: "skill://echo" },
        headers: { "mcp-name": name },
      });
    expect((await read("skill://echo")).status).toBe(200);
    expect((await read("skill://other")).json.error.code).toBe(-32020);
    expect((await read(null)).json.error.code).toBe(-32020);
  });

  it("is not asked for by methods that name nothing", async () => {
    expect((await exchange({ era: "modern", method: "tools/list", headers: { "mcp-name": "anything" } })).status).toBe(
      200,
    );
  });
});

describe("Mcp-Param-*", () => {
  const cases: readonly (readonly [string, Record<string, unknown>, Record<string, string>, boolean])[] = [
    ["equal", { region: "eu" }, { "mcp-param-region": "eu" }, true],
    ["encoded", { region: "Zürich" }, { "mcp-param-region": base64("Zürich") }, true],
    ["half a marker is literal", { region: "=?base64?eA==" }, { "mcp-param-region": "=?base64?eA==" }, true],
    ["absent with an absent argument", {}, {}, true],
    ["absent with a null argument", { region: null }, {}, true],
    ["there without an argument", {}, { "mcp-param-region": "eu" }, true],
    ["an empty string", { region: "" }, { "mcp-param-region": "" }, true],
    ["missing", { region: "eu" }, {}, false],
    ["different", { region: "eu" }, { "mcp-param-region": "us" }, false],
    ["in other case", { region: "eu" }, { "mcp-param-region": "EU" }, false],
    ["badly encoded", { region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8?=" }, false],
    ["an integer", { count: 42 }, { "mcp-param-count": "42" }, true],
    ["an integer with a fraction of zero", { count: 42 }, { "mcp-param-count": "42.0" }, true],
    ["a negative integer", { count: -1 }, { "mcp-param-count": "-1" }, true],
    ["another integer", { count: 42 }, { "mcp-param-count": "43" }, false],
    ["an integer in hexadecimal", { count: 42 }, { "mcp-param-count": "0x2a" }, false],
    ["an integer in exponents", { count: 100 }, { "mcp-param-count": "1e2" }, false],
    ["a boolean", { dry: true }, { "mcp-param-dry": "true" }, true],
    ["a boolean in capitals", { dry: true }, { "mcp-param-dry": "True" }, false],
    ["a nested argument", { deep: { key: "k" } }, { "mcp-param-deep-key": "k" }, true],
    ["a nested argument without a header", { deep: { key: "k" } }, {}, false],
    ["an argument of another type is the schema's matter", { region: ["eu"] }, {}, true],
    ["a nested argument whose parent is a string", { deep: "x" }, {}, true],
  ];
  for (const [what, args, headers, passes] of cases) {
    it(`${passes ? "passes" : "is refused"}: ${what}`, async () => {
      const { status, json } = await call("regional", args as never, headers);
      expect(status).toBe(passes ? 200 : 400);
      if (!passes) expect(json.error).toMatchObject({ code: -32020, data: { code: "bad_header" } });
    });
  }

  it("is no matter in the legacy era", async () => {
    const params = { name: "regional", arguments: { region: "eu" } };
    expect((await exchange({ method: "tools/call", params })).json.result.isError).toBe(false);
  });

  it("does not run the tool when it is wrong", async () => {
    const provider = recordingProvider();
    await exchange({
      era: "modern",
      method: "tools/call",
      params: { name: "regional", arguments: { region: "eu" } },
      provider,
    });
    expect(provider.calls).toEqual([]);
  });
});

describe("the declarations of a schema", () => {
  const property = (schema: JsonObject) => ({ type: "object", properties: { a: schema } }) as const;
  const annotated = { type: "string", "x-mcp-header": "A" } as const;

  it("are found at any depth of properties", () => {
    const schema = ECHO_TOOLS.find(({ name }) => name === "regional")?.inputSchema ?? {};
    const found = headerParameters(schema);
    expect(found.ok && found.parameters.map(({ header }) => header).sort()).toEqual([
      "Count",
      "Deep-Key",
      "Dry",
      "Region",
    ]);
  });

  const broken: readonly (readonly [string, object])[] = [
    ["on the root", { ...annotated }],
    ["under items", property({ type: "array", items: annotated })],
    ["under anyOf", { anyOf: [property(annotated)] }],
    ["under $defs", { $defs: { x: annotated } }],
    ["under if", { if: property(annotated) }],
    ["on a number", property({ type: "number", "x-mcp-header": "A" })],
    ["on a union of types", property({ type: ["string", "null"], "x-mcp-header": "A" })],
    ["without a type", property({ "x-mcp-header": "A" })],
    ["with an empty name", property({ type: "string", "x-mcp-header": "" })],
    ["with a space in its name", property({ type: "string", "x-mcp-header": "A B" })],
    ["with a line break in its name", property({ type: "string", "x-mcp-header": "A\r\nB" })],
    ["with a number as name", property({ type: "string", "x-mcp-header": 5 })],
    ["twice, but for case", { properties: { a: annotated, b: { type: "string", "x-mcp-header": "a" } } }],
  ];
  for (const [what, schema] of broken) {
    it(`are broken ${what}`, () => {
      expect(headerParameters(schema as never)).toMatchObject({
        ok: false,
        message: expect.stringContaining("x-mcp-header"),
      });
    });
  }

  it("are not enforced where they are broken, as no client mirrors them", async () => {
    const inputSchema = property({ type: "number", "x-mcp-header": "A" });
    const provider = recordingProvider({ tools: [{ name: "t", inputSchema }] });
    const params = { name: "t", arguments: { a: 5 } };
    expect((await exchange({ era: "modern", method: "tools/call", params, provider })).status).toBe(200);
  });

  it("are read from a schema of any depth without a stack overflow", () => {
    let schema: object = annotated;
    for (let depth = 0; depth < 50_000; depth++) schema = { not: schema };
    expect(headerParameters(schema as never).ok).toBe(false);
  });
});
