import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { javascriptPieces, linesOfPieces } from "./javascript.ts";

const kinds = (source: string) =>
  javascriptPieces(source)
    .filter(({ kind }) => kind !== "plain")
    .map(({ kind, text }) => `${kind} ${text}`);

describe("the colours of a script", () => {
  it.each([
    ["const a = 1_000n; // why", ["keyword const", "number 1_000n", "comment // why"]],
    ["a / b / c", []],
    ["return /[/]x/g.test(s)", ["keyword return", "regex /[/]x/g"]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the script.
    ["`a${{ b: `c${d}` }}e` + 1", ["string `a${", "string `c${", "string }`", "string }e`", "number 1"]],
    ['host.fetchOrigin("/x\\"y")', ["capability host", 'string "/x\\"y"']],
    ["/* never closed", ["comment /* never closed"]],
    ["'never closed\nlet", ["string 'never closed", "keyword let"]],
  ])("of %j", (source, expected) => {
    expect(kinds(source)).toEqual(expected);
  });

  it("leave no character out and add none, whatever is written", () => {
    const piece = fc.constantFrom(
      "`",
      "${",
      "}",
      "{",
      "/",
      "*",
      "//",
      "/*",
      "'",
      '"',
      "\\",
      "\n",
      "return ",
      "x",
      "9",
      "[",
    );
    const script = fc.array(fc.oneof(piece, fc.string({ unit: "binary", maxLength: 4 }))).map((all) => all.join(""));
    fc.assert(
      fc.property(script, (source) => {
        const pieces = javascriptPieces(source);
        expect(pieces.map(({ text }) => text).join("")).toBe(source);
        const lines = linesOfPieces(pieces).map((line) => line.map(({ text }) => text).join(""));
        expect(lines).toEqual(source.split("\n"));
      }),
    );
  });

  it("are found in a long script of one kind of character", () => {
    for (const character of ["`", "${", "/", "{", "'", "\\", "/*", "(", "é"]) {
      const source = character.repeat(300_000 / character.length);
      expect(javascriptPieces(source).reduce((sum, { text }) => sum + text.length, 0)).toBe(source.length);
    }
  });
});
