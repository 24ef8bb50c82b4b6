import { describe, expect, it } from "vitest";
import { policyWith } from "./attestation/fixture/policies.ts";
import { admit } from "./catalog.ts";
import { discover } from "./discovery/discover.ts";
import { Publisher, script } from "./discovery/fixture/publisher.ts";
import { contextOf, returning, serve, testSandbox, textOf } from "./fixture/serving.ts";
import type { JsonObject } from "./json.ts";
import { DEFAULT_DISCOVERY_LIMITS, DEFAULT_SANDBOX_LIMITS } from "./limits.ts";
import type { CallContext } from "./mcp/provider.ts";
import { MemoryIndexes } from "./memory/memory-indexes.ts";
import { type CallReport, createProvider } from "./serve.ts";

describe("lists", () => {
  it("tools under their public names, in document order, with what was registered", async () => {
    const { provider } = await serve([
      {
        name: "zulu",
        source: script(
          "zulu",
          "title: 'Z', description: 'D', annotations: { readOnlyHint: true }, outputSchema: { type: 'array' }",
        ),
      },
      { name: "alpha", scope: "kb" },
    ]);
    expect(provider.tools.map(({ name }) => name)).toEqual(["zulu", "kb__alpha"]);
    expect(provider.tools[0]).toEqual({
      name: "zulu",
      title: "Z",
      description: "D",
      inputSchema: { type: "object" },
      outputSchema: { type: "array" },
      annotations: { readOnlyHint: true },
    });
    expect(provider.ttlMs).toBe(15_000);
  });

  it("no definition in a form that makes official clients drop the whole list", async () => {
    const { provider } = await serve([
      {
        name: "odd",
        source: script(
          "odd",
          "inputSchema: { properties: { a: true, b: false } }, annotations: { readOnlyHint: 'yes', title: 'T', other: 1 }",
        ),
      },
    ]);
    expect(provider.tools[0]).toMatchObject({
      inputSchema: { type: "object", properties: { a: {}, b: { not: {} } } },
      annotations: { title: "T", other: 1 },
    });
    expect(provider.tools[0]?.annotations).not.toHaveProperty("readOnlyHint");
  });

  it("an outputSchema with the standard's keywords alone, or not at all", async () => {
    const outputs = {
      nullable: "{ type: 'object', properties: { a: { nullable: true, description: 'x' } } }",
      ids: "{ type: 'object', id: 'a', properties: { a: { $id: 'https://x.example/' }, id: { $id: 'https://x.example/' } } }",
      old: "{ $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }",
      through: "{ type: 'object', properties: { a: { $ref: '#/x/y' } }, x: { y: {} } }",
      kept: "{ type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } }",
    };
    const { provider, call } = await serve(
      Object.entries(outputs).map(([name, schema]) => ({ name, source: script(name, `outputSchema: ${schema}`) })),
    );
    expect(Object.fromEntries(provider.tools.map(({ name, outputSchema }) => [name, outputSchema]))).toEqual({
      nullable: { type: "object", properties: { a: { description: "x" } } },
      ids: { type: "object", properties: { a: {}, id: {} } },
      old: undefined,
      through: undefined,
      kept: { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } },
    });
    // Left out of the list, it still binds the tool.
    expect(textOf(await call("old", {}, "modern"))).toMatch(/^The tool's result breaks its own outputSchema: /);
  });

  it("names and scopes that are members of every object, as ordinary tools", async () => {
    const words = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];
    const skills = words.map((name) => ({ name, source: returning(name, `[args.n, "${name}"]`), recipe: `# ${name}` }));
    const scoped = { name: "__proto__", scope: "constructor", source: returning("__proto__", "'scoped'") };
    const { provider, call } = await serve([...skills, scoped]);
    expect(provider.tools.map(({ name }) => name)).toEqual([...words, "constructor____proto__", "get_skill_guide"]);
    for (const name of words) {
      expect(textOf(await call(name, { n: 1 }))).toBe(JSON.stringify([1, name]));
      expect(await provider.readResource(`skill://${name}`, contextOf("legacy"))).toMatchObject([
        { text: `# ${name}` },
      ]);
    }
    expect(textOf(await call("constructor____proto__"))).toBe('"scoped"');
    expect(await provider.readResource("skill://valueOf", contextOf("legacy"))).toBeNull();
  });

  it("recipes as resources under the public name, and reads them", async () => {
    const { provider } = await serve([{ name: "one", scope: "kb", recipe: "# Ä" }, { name: "two" }]);
    expect(provider.resources).toEqual([
      {
        uri: "skill://kb__one",
        name: "kb__one — SKILL.md",
        description: "Does one.",
        mimeType: "text/markdown",
        size: 4,
      },
    ]);
    const context = {} as CallContext;
    expect(await provider.readResource("skill://kb__one", context)).toEqual([
      { uri: "skill://kb__one", mimeType: "text/markdown", text: "# Ä" },
    ]);
    for (const uri of ["skill://two", "skill://one", "skill://nothing"]) {
      expect(await provider.readResource(uri, context)).toBeNull();
    }
  });
});

describe("results", () => {
  it.each<[string, string, unknown]>([
    ["({ a: 1 })", '{"a":1}', { a: 1 }],
    ["[1, 2]", "[1,2]", { result: [1, 2] }],
    ["42", "42", { result: 42 }],
    ["'x'", '"x"', { result: "x" }],
    ["null", "null", { result: null }],
    ["undefined", "null", { result: null }],
    ["({ content: [], isError: true })", '{"content":[],"isError":true}', { content: [], isError: true }],
  ])("%s is the text %s", async (expression, text, structuredContent) => {
    const { call } = await serve([{ name: "t", source: returning("t", expression) }]);
    for (const era of ["legacy", "modern"] as const) {
      expect(await call("t", {}, era)).toEqual({
        content: [{ type: "text", text }],
        structuredContent,
        isError: false,
      });
    }
  });

  it("of a tool with a list as outputSchema conform to it for modern clients, which see that schema", async () => {
    const { call } = await serve([{ name: "t", source: returning("t", "[1]", "outputSchema: { type: 'array' },") }]);
    expect(await call("t", {}, "modern")).toMatchObject({ structuredContent: [1] });
    expect(await call("t", {}, "legacy")).toMatchObject({ structuredContent: { result: [1] } });
  });

  it("that break the tool's own outputSchema are tool errors naming the place", async () => {
    const { call, reports } = await serve([
      {
        name: "t",
        source: returning("t", "args", "outputSchema: { type: 'object', properties: { a: { type: 'number' } } },"),
      },
    ]);
    expect(await call("t", { a: 1 })).toMatchObject({ isError: false, structuredContent: { a: 1 } });
    const result = await call("t", { a: "x" });
    expect(result.isError).toBe(true);
    expect(result).not.toHaveProperty("structuredContent");
    expect(textOf(result)).toMatch(/^The tool's result breaks its own outputSchema at \/a: /);
    expect(reports.map(({ code }) => code)).toEqual(["ok", "invalid_result"]);
  });

  it.each<[string, string, RegExp]>([
    ["throw", "(() => { throw new Error('no stock') })()", /no stock/],
    ["endless", "(() => { for (;;) {} })()", /gas exhausted/],
    ["rejection", "Promise.reject(new Error('later'))", /later/],
    ["function", "() => 1", /./],
  ])("of a tool that fails (%s) are tool errors, and the next call is right", async (_name, expression, text) => {
    const { call } = await serve([{ name: "bad", source: returning("bad", expression) }, { name: "sum" }]);
    const result = await call("bad");
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty("structuredContent");
    expect(textOf(result)).toMatch(text);
    expect(await call("sum", { a: 2, b: 3 })).toMatchObject({ structuredContent: { result: 5 }, isError: false });
  });
});

describe("arguments", () => {
  it("are checked before the handler runs, and the error names the place", async () => {
    const { call, reports, publisher } = await serve([
      {
        name: "t",
        source: `registerTool({ name: "t", inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
          handler: () => host.fetchOrigin("/called").status });`,
      },
    ]);
    expect(textOf(await call("t", { a: "x" }))).toBe(
      'Invalid arguments at /a: Instance type "string" is invalid. Expected "number".',
    );
    expect(textOf(await call("t", {}))).toBe('Invalid arguments: Instance does not have required property "a".');
    expect(publisher.requests).not.toContain("/called");
    expect(await call("t", { a: 1 })).toMatchObject({ structuredContent: { result: 404 } });
    expect(reports.map(({ code }) => code)).toEqual(["invalid_arguments", "invalid_arguments", "ok"]);
  });

  it("are checked as data, whatever their keys: own members count, inherited ones do not", async () => {
    const properties =
      "properties: { constructor: { type: 'string' }, ['__proto__']: { type: 'number' }, toString: {} }";
    const members = `inputSchema: { type: 'object', ${properties}, required: ['valueOf'], additionalProperties: false },`;
    const { call } = await serve([{ name: "odd", source: returning("odd", "Object.keys(args)", members) }]);
    const args = (json: string) => JSON.parse(json) as JsonObject;
    expect(textOf(await call("odd", {}))).toBe(
      'Invalid arguments: Instance does not have required property "valueOf".',
    );
    expect(textOf(await call("odd", args('{"valueOf":1}')))).toMatch(/^Invalid arguments/);
    expect(textOf(await call("odd", args('{"__proto__":"x"}')))).toMatch(/^Invalid arguments/);
    expect(textOf(await call("odd", args('{"constructor":7,"valueOf":1}')))).toMatch(/^Invalid arguments/);
  });

  it("with a key of a megabyte are refused in a sentence of bounded length", async () => {
    const members = "inputSchema: { type: 'object', additionalProperties: { type: 'string' } },";
    const { call } = await serve([{ name: "keys", source: returning("keys", "1", members) }]);
    const result = await call("keys", { ["k".repeat(1_000_000)]: 1 });
    expect(result.isError).toBe(true);
    expect(textOf(result)?.toString().length).toBeLessThan(600);
  });

  it("[10.1-F] under a pattern that backtracks without an end are a tool error, and the next call is right", async () => {
    const { call } = await serve([
      { name: "t", source: returning("t", "args.a", "inputSchema: { properties: { a: { pattern: '^(a+)+$' } } },") },
    ]);
    expect(textOf(await call("t", { a: `${"a".repeat(50)}!` }))).toBe(
      "Invalid arguments: The value could not be checked against the schema within the gas budget.",
    );
    expect(await call("t", { a: "aa" })).toMatchObject({ structuredContent: { result: "aa" } });
  });
});

describe("a stored release that is older than a rule of this version", () => {
  it.each([
    ["inputSchema", { type: "object", properties: { a: { type: "text" } } }, " at /properties/a/type"],
    ["outputSchema", { $ref: "https://elsewhere.example/" }, " at /$ref"],
  ])(
    "fails the tool whose %s is refused now with a tool error, before it runs; the others answer",
    async (field, schema, at) => {
      const publisher = new Publisher();
      for (const name of ["stale", "good"]) await publisher.skill({ name, source: returning(name, "args.n ?? 1") });
      const { origin, fetch } = publisher;
      const release = await discover({
        origin,
        fetch,
        sandbox: testSandbox(),
        limits: DEFAULT_DISCOVERY_LIMITS,
        now: () => 0,
      });
      const skills = release.skills.map((skill) =>
        skill.name === "stale" ? { ...skill, definition: { ...skill.definition, [field]: schema } } : skill,
      );
      const reports: CallReport[] = [];
      const provider = createProvider(admit({ ...release, skills }, policyWith(), 0), {
        sandbox: testSandbox(),
        fetch,
        limits: DEFAULT_SANDBOX_LIMITS,
        memories: new MemoryIndexes(),
        serverInfo: { name: "skillgate", version: "0.0.0" },
        onCall: (report) => reports.push(report),
      });
      expect(provider.tools.map(({ name }) => name)).toEqual(["stale", "good"]);
      const result = await provider.callTool("stale", {}, contextOf("legacy"));
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(new RegExp(`^The tool's ${field} is not usable${at.replace("$", "\\$")}: .+\\.$`));
      expect(reports).toMatchObject([{ tool: "stale", code: "unusable_schema", gasUsed: 0 }]);
      expect(textOf(await provider.callTool("good", { n: 7 }, contextOf("legacy")))).toBe("7");
    },
  );
});
