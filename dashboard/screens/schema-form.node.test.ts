import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../api/mcp.ts";
import { argumentsOf, hasForm } from "./schema-form.tsx";

describe("arguments that a form stands for", () => {
  const filled = (values: Readonly<Record<string, string>>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(values)) form.set(`argument:${name}`, value);
    return form;
  };

  it("have the types of the schema; what is left empty is left out", () => {
    const schema: JsonSchema = {
      properties: {
        text: { type: "string" },
        number: { type: "integer" },
        word: { type: "number" },
        truth: { type: "boolean" },
        choice: { enum: [1, "1"] },
        list: { type: "array" },
        empty: { type: "string" },
      },
    };
    const form = filled({
      text: " a ",
      number: "7",
      word: "seven",
      truth: "true",
      choice: '"1"',
      list: "[1]",
      empty: "",
    });
    expect(argumentsOf(schema, form)).toEqual({
      text: " a ",
      number: 7,
      word: "seven",
      truth: true,
      choice: "1",
      list: [1],
    });
    expect(() => argumentsOf(schema, filled({ list: "[" }))).toThrow(/^list is not JSON/);
  });

  it("keep members with the names of an object's own machinery", () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}');
    const args = argumentsOf(schema, filled({ __proto__x: "", constructor: "c" }));
    expect(JSON.stringify(args)).toBe('{"constructor":"c"}');
    const form = new FormData();
    form.set("argument:__proto__", "p");
    expect(JSON.stringify(argumentsOf(schema, form))).toBe('{"__proto__":"p"}');
  });

  it("come of a form only where a schema is one that a form can show", () => {
    const wide = Object.fromEntries(Array.from({ length: 61 }, (_, index) => [`m${index}`, {}]));
    expect([hasForm(undefined), hasForm({}), hasForm({ properties: wide })]).toEqual([true, true, false]);
    for (const broken of [{ properties: null }, { properties: [] }, { properties: "x" }, null, 7]) {
      expect(argumentsOf(broken as never, new FormData())).toEqual({});
      expect(typeof hasForm(broken as never)).toBe("boolean");
    }
  });
});
