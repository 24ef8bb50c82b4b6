import { describe, expect, it } from "vitest";
import { jsonText, textOfValue } from "./value.ts";

describe("a value of somebody else", () => {
  it("is shown whatever it is, however deep, and has no say in how", () => {
    expect(textOfValue("a\nb")).toBe("a\nb");
    expect(textOfValue(JSON.parse('{"toString":1,"valueOf":null}'))).toBe('{"toString":1,"valueOf":null}');
    expect([textOfValue(undefined), textOfValue(null), textOfValue(7)]).toEqual(["", "null", "7"]);
    const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(jsonText(deep)).toMatch(/^It cannot be laid out/);
  });
});
