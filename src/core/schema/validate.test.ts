import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTestSandbox } from "../discovery/fixture/workerd-sandbox.ts";
import type { Json, JsonObject } from "../json.ts";
import { compileSchema } from "./compile.ts";
import { evaluate } from "./evaluate.ts";
import { checkSchema, validateValue } from "./validate.ts";

const sandbox = createTestSandbox();

async function violationOf(schema: JsonObject, value: Json): Promise<string> {
  const { violation } = await validateValue(compileSchema(schema), value, { sandbox });
  return violation === null ? "valid" : `${violation.path}: ${violation.message}`;
}

describe("a violation names the place", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: "number" },
      list: { items: { properties: { "x/y": { enum: [1, 2] } } } },
      one: { oneOf: [{ type: "string" }, { type: "null" }] },
    },
    required: ["a"],
    additionalProperties: false,
  };

  it.each<[Json, string]>([
    [{ a: 1 }, "valid"],
    [{ a: "1" }, '/a: Instance type "string" is invalid. Expected "number".'],
    [{}, ': Instance does not have required property "a".'],
    [{ a: 1, more: 1 }, "/more: The schema allows no value here."],
    [{ a: 1, list: [{}, { "x/y": 3 }] }, "/list/1/x~1y: Instance does not match any of [1,2]."],
    [{ a: 1, one: 1 }, "/one: Instance does not match exactly one subschema (0 matches)."],
    [[], ': Instance type "array" is invalid. Expected "object".'],
  ])("%j", async (value, expected) => {
    expect(await violationOf(schema, value)).toBe(expected);
    // The same through the sandbox: a format that nothing has sends the same schema there.
    expect(await violationOf({ ...schema, patternProperties: { "^never$": {} } }, value)).toBe(expected);
  });

  it("in a sentence of bounded length", async () => {
    const long = await violationOf({ enum: ["x".repeat(50_000)] }, 1);
    expect(long.length).toBeLessThan(400);
  });
});

describe("nothing a publisher writes freezes the host", () => {
  const exhausted = ": The value could not be checked against the schema within the gas budget.";

  it("[10.1-F] a pattern that backtracks without an end runs out of gas in the sandbox", async () => {
    const schema = { properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    expect(await violationOf(schema, { a: `${"a".repeat(40)}b` })).toBe(exhausted);
    expect(await violationOf(schema, { a: "aaa" })).toBe("valid");
    expect(await violationOf(schema, { a: "b" })).toBe("/a: String does not match pattern.");
    const names = { patternProperties: { "^(a|a)*$": false } } as const;
    expect(await violationOf(names, { [`${"a".repeat(40)}b`]: 1 })).toBe(exhausted);
  });

  it("references that double at every level run out of gas", async () => {
    const $defs: Record<string, Json> = { d0: { type: "string" } };
    for (let level = 1; level <= 30; level += 1) {
      const $ref = `#/$defs/d${level - 1}`;
      $defs[`d${level}`] = { anyOf: [{ $ref }, { $ref }] };
    }
    expect(await violationOf({ $ref: "#/$defs/d30", $defs }, 1)).not.toBe("valid");
  });

  it("uniqueItems over a long array runs out of gas", async () => {
    const items = Array.from({ length: 20_000 }, (_, index) => index);
    expect(await violationOf({ uniqueItems: true }, items)).toBe(exhausted);
    expect(await violationOf({ uniqueItems: true }, [1, 2, 1])).toBe(": Duplicate items at indexes 0 and 2.");
  });

  it("a huge quotient costs gas, not the host's time", async () => {
    expect(await violationOf({ multipleOf: 5e-324 }, 1e308)).toBe("valid");
    expect(await violationOf({ multipleOf: 0.01 }, 0.015)).toBe(": 0.015 is not a multiple of 0.01.");
  });

  it("a deep value under a recursive schema is an ordinary violation", async () => {
    const schema = { $ref: "#/$defs/t", $defs: { t: { type: "object", properties: { c: { $ref: "#/$defs/t" } } } } };
    const nest = (depth: number): Json => (depth === 0 ? {} : { c: nest(depth - 1) });
    expect(await violationOf(schema, nest(20))).toBe("valid");
    expect(await violationOf(schema, nest(64))).toMatch(/^: The value (is nested too deeply|could not be checked)/);
  });

  it("a key that no pointer can spell is an ordinary violation", async () => {
    const schema = { additionalProperties: { type: "string" } };
    expect(await violationOf(schema, { "\ud800": 1 })).toMatch(/^: The value could not be checked/);
  });
});

describe("regular expressions", () => {
  it("are compiled in the sandbox, at discovery", async () => {
    for (const pattern of ["^\\p{Letter}+$", "(?<year>\\d{4})-\\k<year>", "(?<=a)b", "[\\u{1F600}]"]) {
      expect(await checkSchema({ pattern }, { sandbox })).toMatchObject({ ok: true });
    }
    for (const pattern of ["(", "[a", "\\p{Nope}", "a**"]) {
      expect(await checkSchema({ patternProperties: { [pattern]: {} } }, { sandbox })).toMatchObject({
        ok: false,
        code: "bad_schema",
      });
    }
  });

  it("never reach the host's RegExp", async () => {
    const real = globalThis.RegExp;
    const seen: string[] = [];
    globalThis.RegExp = class extends real {
      constructor(pattern: string | RegExp, flags?: string) {
        seen.push(String(pattern));
        super(pattern, flags);
      }
    } as RegExpConstructor;
    try {
      const schema = { properties: { a: { pattern: "^publisher$" } }, patternProperties: { "^publisher": {} } };
      expect(await checkSchema(schema, { sandbox })).toMatchObject({ ok: true });
      expect(await violationOf(schema, { a: "publisher" })).toBe("valid");
    } finally {
      globalThis.RegExp = real;
    }
    expect(seen.filter((pattern) => pattern.includes("publisher"))).toEqual([]);
  });

  it("beyond the given gas are reported as such", async () => {
    const pattern = `(${"a?".repeat(2_000)})`;
    expect(await checkSchema({ pattern }, { sandbox, gas: 500 })).toMatchObject({ ok: false, code: "gas_exhausted" });
  });
});

describe("host and sandbox", () => {
  const leaf = fc.oneof(
    fc.constantFrom("null", "boolean", "object", "array", "number", "string", "integer").map((type) => ({ type })),
    fc.record({ minimum: fc.integer({ min: -3, max: 3 }), exclusiveMaximum: fc.integer({ min: -3, max: 3 }) }),
    fc.record({ minLength: fc.nat(3), maxLength: fc.nat(3) }),
    fc.record({ const: fc.constantFrom<Json>(0, "a", null, [1], { a: 1 }) }),
    fc.record({ enum: fc.array(fc.constantFrom<Json>(0, 1, "a", [], { a: 1 }), { minLength: 1, maxLength: 3 }) }),
    fc.record({ required: fc.array(fc.constantFrom("a", "b", "__proto__"), { maxLength: 2 }) }),
    fc.record({ minItems: fc.nat(2), maxItems: fc.nat(2), minProperties: fc.nat(1), maxProperties: fc.nat(2) }),
    fc.boolean(),
  );
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.record({ properties: fc.dictionary(fc.constantFrom("a", "b", "é/~"), tie("schema"), { maxKeys: 2 }) }),
      fc.record({ items: tie("schema") }),
      fc.record({ prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), items: tie("schema") }),
      fc.record({ contains: tie("schema"), minContains: fc.nat(1) }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), not: tie("schema") }),
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
      fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }),
      fc.record({ additionalProperties: tie("schema"), propertyNames: tie("schema") }),
      fc.record({ dependentSchemas: fc.record({ a: tie("schema") }) }),
    ),
  }));
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "é/~"), fc.jsonValue({ maxDepth: 2 })),
    fc.array(fc.constantFrom<Json>(0, 1, "a", null), { maxLength: 3 }),
  );

  it("judge alike, word for word", async () => {
    const property = fc.asyncProperty(schema, value, async (any, given) => {
      const compiled = compileSchema({ allOf: [any as Json] });
      const json = JSON.parse(JSON.stringify(given)) as Json;
      const here = evaluate(compiled.schema, json);
      const there = await validateValue({ ...compiled, hostWeight: null }, json, { sandbox });
      expect(there.violation).toEqual(here);
      expect(there.gasUsed).toBeGreaterThan(0);
    });
    await fc.assert(property, { numRuns: 300 });
  }, 60_000);
});
