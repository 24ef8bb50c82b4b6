import { describe, expect, it } from "vitest";
import { hiddenCharacters, MAX_HIDDEN_KINDS } from "./hidden-characters.ts";

describe("the hidden characters of a source", () => {
  it("are none of ordinary text, whatever its language", () => {
    expect(hiddenCharacters('const gruß = "日本語 😀 ру";\n\tnext();\n')).toEqual([]);
  });

  it.each([
    ["a carriage return, which ends a comment", "\r", "U+000D"],
    ["a line separator", "\u2028", "U+2028"],
    ["a paragraph separator", "\u2029", "U+2029"],
    ["a mark that reorders text", "\u202e", "U+202E"],
    ["an isolate", "\u2066", "U+2066"],
    ["a space of no width", "\u200b", "U+200B"],
    ["a byte order mark", "\ufeff", "U+FEFF"],
    ["a filler that may name a variable", "\u3164", "U+3164"],
    ["a tag", "\u{e0041}", "U+E0041"],
    ["a variation selector", "\ufe0f", "U+FE0F"],
    ["a space that is not the plain one", "\u00a0", "U+00A0"],
    ["a null", "\0", "U+0000"],
  ])("tell %s with its line", (_, character, codePoint) => {
    const text = `one;\n// two${character}three\n${character}`;
    expect(hiddenCharacters(text)).toEqual([{ codePoint, count: 2, line: 2 }]);
  });

  it("[budget:hidden kinds] are told up to 100 kinds", () => {
    const text = String.fromCodePoint(...Array.from({ length: 200 }, (_, i) => 0xe0100 + i)).repeat(3);
    const found = hiddenCharacters(text);
    expect(found.length).toBe(MAX_HIDDEN_KINDS);
    expect(found[0]).toEqual({ codePoint: "U+E0100", count: 3, line: 1 });
  });
});
