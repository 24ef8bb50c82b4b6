import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hiddenCharacters } from "../../src/core/hidden-characters.ts";
import { shownIn } from "./shown-fixture.ts";
import { beginning, visibleParts, visibleText } from "./visible.tsx";

const HOSTILE = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\u202e",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\u00ad",
        "\u{e0041}",
        "\u180e",
        "\r",
        "\u0000",
        "a",
        "<b>",
      ),
      fc.string({ unit: "binary", maxLength: 3 }),
      // Halves of a pair.
      fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)),
    ),
  )
  .map((parts) => parts.join(""));

describe("somebody else's text", () => {
  it("shows each hidden character by its code point, and everything else as it is", () => {
    const [all, ...marks] = shownIn(visibleParts("pay\u202e gnp\u200b.exe"));
    expect(all?.text).toBe("payU+202E gnpU+200B.exe");
    expect(marks.map(({ props }) => props.class)).toEqual(["hidden-character", "hidden-character"]);
    expect(visibleText("pay\u202egnp")).toBe("pay[U+202E]gnp");
  });

  it("has nothing hidden in what is shown of it, whatever it is", () => {
    fc.assert(
      fc.property(HOSTILE, (text) => {
        const [all, ...marks] = shownIn(visibleParts(text));
        expect(hiddenCharacters(all?.text ?? "")).toEqual([]);
        expect(hiddenCharacters(visibleText(text))).toEqual([]);
        const found = hiddenCharacters(text);
        if (found.length < 100) expect(marks.length).toBe(found.reduce((sum, { count }) => sum + count, 0));
      }),
    );
  });

  it("is cut between characters", () => {
    expect(beginning("a😀b", 2)).toBe("a");
    expect(beginning("a😀b", 3)).toBe("a😀");
    expect(beginning("ab", 9)).toBe("ab");
    // Half a character that stands at the end by itself is not taken for a cut.
    expect(beginning("a\ud83d", 2)).toBe("a\ud83d");
  });
});
