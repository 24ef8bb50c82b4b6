import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { compileSchema, HOST_WORK, isCheap, MAX_SCHEMA_LENGTH } from "./compile.ts";
import { evaluate } from "./evaluate.ts";
import { checkHeaderDeclarations } from "./mcp-header.ts";
import { SchemaError } from "./schema-error.ts";

function faultOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return error.path;
  }
}

const nested = (depth: number): JsonObject => {
  let schema: JsonObject = {};
  for (let level = 1; level < depth; level += 1) schema = { not: schema };
  return schema;
};

describe("a schema is refused, with the place, when", () => {
  it.each<[string, JsonObject, string]>([
    ["its dialect is unknown", { $schema: "https://json-schema.org/draft/2099/schema" }, "/$schema"],
    ["its dialect is no string", { $schema: 7 }, "/$schema"],
    [
      "a part has another dialect",
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        properties: { a: { $schema: "http://json-schema.org/draft-07/schema#" } },
      },
      "/properties/a/$schema",
    ],
    ["a type is unknown", { properties: { a: { type: "text" } } }, "/properties/a/type"],
    ["a list of types is empty", { type: [] }, "/type"],
    ["required is a boolean (draft 03)", { properties: { a: { required: true } } }, "/properties/a/required"],
    ["properties is an array", { properties: [] }, "/properties"],
    ["a property is no schema", { properties: { "a/b~": 1 } }, "/properties/a~1b~0"],
    ["enum is no array", { enum: "a" }, "/enum"],
    ["enum is empty", { enum: [] }, "/enum"],
    ["anyOf is empty", { anyOf: [] }, "/anyOf"],
    ["allOf is no array", { allOf: {} }, "/allOf"],
    ["minLength is negative", { minLength: -1 }, "/minLength"],
    ["maxItems is a fraction", { maxItems: 1.5 }, "/maxItems"],
    ["multipleOf is 0", { multipleOf: 0 }, "/multipleOf"],
    ["exclusiveMinimum is a boolean outside of draft 04", { exclusiveMinimum: true }, "/exclusiveMinimum"],
    [
      "exclusiveMinimum is a number in draft 04",
      { $schema: "http://json-schema.org/draft-04/schema#", exclusiveMinimum: 1 },
      "/exclusiveMinimum",
    ],
    ["pattern is no string", { pattern: {} }, "/pattern"],
    ["dependentRequired has no lists", { dependentRequired: { a: "b" } }, "/dependentRequired"],
    ["a reference is a network address", { $ref: "https://evil.example/schema.json" }, "/$ref"],
    ["a reference is a relative file", { properties: { a: { $ref: "other.json#/a" } } }, "/properties/a/$ref"],
    ["a reference points to nothing", { $ref: "#/$defs/none" }, "/$ref"],
    ["a reference names an inherited property", { $ref: "#/constructor" }, "/$ref"],
    ["a reference names no anchor", { $ref: "#none" }, "/$ref"],
    ["a reference points to something that is no schema", { $ref: "#/enum/0", enum: [1] }, "/enum/0"],
    ["a reference is to itself", { $ref: "#" }, ""],
    [
      "references go round on the same value",
      { $ref: "#/$defs/a", $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { if: { $ref: "#/$defs/a" } } } },
      "/$defs/a",
    ],
    ["an anchor is there twice", { $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "/$defs/a/$anchor"],
    [
      "a part has an identifier of its own and there are references",
      { $ref: "#/$defs/a", $defs: { a: { $id: "https://x.example/" } } },
      "/$defs/a/$id",
    ],
  ])("%s", (_name, schema, path) => {
    expect(faultOf(() => compileSchema(schema))).toBe(path);
  });

  it("[budget:schema-size] its JSON is longer than 64 KiB", () => {
    for (const [past, fault] of [
      [-1, null],
      [0, null],
      [1, ""],
    ] as const) {
      const schema = { const: "x".repeat(MAX_SCHEMA_LENGTH - '{"const":""}'.length + past) };
      expect(faultOf(() => compileSchema(schema))).toBe(fault);
    }
  });

  it("[budget:schema-depth] it is nested more than 64 deep, however deep", () => {
    for (const [depth, fault] of [
      [63, null],
      [64, null],
      [65, ""],
      [20_000, ""],
    ] as const) {
      expect(faultOf(() => compileSchema(nested(depth)))).toBe(fault);
    }
  });

  it("its references repeat too much of it", () => {
    let schema: JsonObject = { const: "x".repeat(40_000) };
    for (let level = 0; level < 20; level += 1) schema = { properties: { a: schema } };
    const refs = Array.from({ length: 20 }, (_, level) => ({ $ref: `#/$defs/deep${"/properties/a".repeat(level)}` }));
    expect(faultOf(() => compileSchema({ anyOf: refs, $defs: { deep: schema } }))).toBe("");
  });
});

describe("a schema is accepted", () => {
  it.each<[string, JsonObject, unknown, unknown]>([
    [
      "with a recursive reference",
      { type: "object", properties: { next: { $ref: "#" } } },
      { next: { next: {} } },
      { next: { next: 1 } },
    ],
    ["with an anchor", { $ref: "#text", $defs: { a: { $anchor: "text", type: "string" } } }, "a", 1],
    [
      "with a draft 07 anchor",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        allOf: [{ $ref: "#text" }],
        definitions: { a: { $id: "#text", type: "string" } },
      },
      "a",
      1,
    ],
    [
      "with $dynamicRef, which in one resource is $ref",
      { properties: { a: { $dynamicRef: "#node" } }, $defs: { n: { $dynamicAnchor: "node", type: "string" } } },
      { a: "x" },
      { a: 1 },
    ],
    [
      "with $recursiveRef",
      {
        $schema: "https://json-schema.org/draft/2019-09/schema",
        type: "object",
        additionalProperties: { $recursiveRef: "#" },
      },
      { a: { b: {} } },
      { a: { b: 1 } },
    ],
    [
      "with a reference beside other keywords",
      { $ref: "#/$defs/a", minLength: 2, $defs: { a: { type: "string" } } },
      "ab",
      "a",
    ],
    [
      "with a reference through an unknown keyword",
      { $ref: "#/components/schemas/A", components: { schemas: { A: { type: "null" } } } },
      null,
      1,
    ],
    ["with an encoded reference", { $ref: "#/$defs/a%20b~1c", $defs: { "a b/c": { type: "null" } } }, null, 1],
    [
      "with unknown keywords and formats, which are annotations",
      { "x-ui": { pattern: "(" }, format: "constructor", type: "string", __absolute_ref__: "x" },
      "a",
      1,
    ],
    [
      "with a property named __proto__",
      JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
      JSON.parse('{"__proto__":"a"}'),
      JSON.parse('{"__proto__":1}'),
    ],
    ["with booleans as schemas", { properties: { a: true, b: false } }, { a: 1 }, { b: 1 }],
    [
      "with draft 04's exclusiveMinimum",
      { $schema: "http://json-schema.org/draft-04/schema#", minimum: 1, exclusiveMinimum: true },
      2,
      1,
    ],
    ["with a tuple", { prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], ["a", "b"]],
  ])("%s", (_name, schema, good, bad) => {
    const before = JSON.stringify(schema);
    const { schema: lowered } = compileSchema(schema);
    expect(evaluate(lowered, good as never)).toBeNull();
    expect(evaluate(lowered, bad as never)).not.toBeNull();
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe("the host evaluates a schema itself", () => {
  it.each<JsonObject>([
    { properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false },
    { oneOf: [{ const: 1 }, { enum: ["a"] }], minLength: 1 },
  ])("only without references, expressions and quadratic keywords: %j", (schema) => {
    expect(isCheap(compileSchema(schema), {})).toBe(true);
  });

  it.each<JsonObject>([
    { properties: { a: { pattern: "a" } } },
    { patternProperties: { a: {} } },
    { format: "email" },
    { $ref: "#/$defs/a", $defs: { a: {} } },
    { uniqueItems: true },
    { unevaluatedProperties: false },
    { multipleOf: 2 },
  ])("and not otherwise: %j", (schema) => {
    expect(isCheap(compileSchema(schema), {})).toBe(false);
  });

  it("[budget:host-validation] up to a product of the sizes of schema and value", () => {
    const compiled = compileSchema({});
    expect(compiled.hostWeight).toBe(1);
    const items = (weight: number) => Array.from({ length: weight - 1 }, () => 0);
    expect(isCheap(compiled, items(HOST_WORK - 1))).toBe(true);
    expect(isCheap(compiled, items(HOST_WORK))).toBe(true);
    expect(isCheap(compiled, items(HOST_WORK + 1))).toBe(false);
  });
});

describe("the host's work on a schema", () => {
  it("spells out the place of a fault and no other: long keys above many places cost nothing", () => {
    const schema = (type: string): JsonObject => {
      const inner = Array.from({ length: 700 }, (_, index) => [`p${index}`, { $ref: "#", type }] as const);
      return { properties: { ["/".repeat(20_000)]: { properties: Object.fromEntries(inner) } } };
    };
    const { replaceAll } = String.prototype;
    let spelled = 0;
    String.prototype.replaceAll = function (this: string, ...args: Parameters<typeof replaceAll>) {
      spelled += 1;
      return replaceAll.apply(this, args);
    } as typeof replaceAll;
    try {
      compileSchema(schema("object"));
      expect(spelled).toBe(0);
      expect(faultOf(() => compileSchema(schema("text")))?.length).toBeGreaterThan(40_000);
      expect(spelled).toBeLessThan(20);
    } finally {
      String.prototype.replaceAll = replaceAll;
    }
  });

  it("tells references to one place apart from those to another, however they are written", () => {
    const compiled = compileSchema({
      $defs: { a: { $anchor: "a", type: "string" }, b: { type: "number" }, yes: true, no: false },
      properties: {
        byAnchor: { $ref: "#a" },
        byPointer: { $ref: "#/$defs/a" },
        encoded: { $ref: "#/%24defs/a" },
        other: { $ref: "#/$defs/b" },
        yes: { $ref: "#/$defs/yes" },
        no: { $ref: "#/$defs/no" },
      },
    });
    expect(Object.keys(compiled.schema.schemas)).toHaveLength(1 + 4);
    expect(evaluate(compiled.schema, { byAnchor: "", byPointer: "", encoded: "", other: 1, yes: 1 })).toBeNull();
    for (const wrong of [{ byAnchor: 1 }, { byPointer: 1 }, { encoded: 1 }, { other: "" }, { no: 1 }]) {
      expect(evaluate(compiled.schema, wrong)).not.toBeNull();
    }
  });
});

describe("x-mcp-header", () => {
  const on = (declaration: unknown, type = "string") =>
    ({ properties: { a: { type, "x-mcp-header": declaration } } }) as JsonObject;

  it.each<[string, JsonObject]>([
    ["a string", on("Region")],
    ["an integer", on("Count", "integer")],
    ["a nested property", { properties: { outer: on("Region") } }],
    [
      "two names",
      { properties: { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "B" } } },
    ],
    ["a property that is called so", { properties: { "x-mcp-header": { type: "string" } } }],
    ["data that is called so", { default: { "x-mcp-header": 1 }, enum: [{ "x-mcp-header": 1 }] }],
  ])("is valid on %s", (_name, schema) => {
    expect(faultOf(() => checkHeaderDeclarations(schema))).toBeNull();
  });

  it.each<[string, JsonObject]>([
    ["an object", on("Region", "object")],
    ["a number", on("Region", "number")],
    ["an empty name", on("")],
    ["a name that is no token", on("a b")],
    ["a name with a line break", on("a\r\nb")],
    ["something that is no string", on(1)],
    ["the root", { "x-mcp-header": "Region", type: "string" }],
    ["an item", { properties: { a: { items: { type: "string", "x-mcp-header": "A" } } } }],
    ["a branch", { anyOf: [on("Region")] }],
    ["a definition", { $defs: { a: { type: "string", "x-mcp-header": "A" } } }],
    [
      "two names that differ in case",
      { properties: { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } } },
    ],
  ])("is invalid on %s", (_name, schema) => {
    expect(faultOf(() => checkHeaderDeclarations(schema))).toMatch(/x-mcp-header$/);
  });
});
