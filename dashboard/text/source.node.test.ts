import fc from "fast-check";
import { expect, it } from "vitest";
import { stretches } from "./source.tsx";

it("code behind any number of blanks stands right behind their count", () => {
  const line = `registerTool({}); //${" ".repeat(5_000)}host.fetchOrigin('/steal')`;
  expect(stretches(line)).toEqual([
    { blanks: 0, words: "registerTool({}); //" },
    { blanks: 5_000, words: "host.fetchOrigin('/steal')" },
  ]);
  expect(stretches(`${"\t".repeat(41)}x`)).toEqual([{ blanks: 41, words: "x" }]);
  expect(stretches("  indented as usual")).toEqual([{ blanks: 0, words: "  indented as usual" }]);
});

it("nothing of a line is lost but the kind of its blanks, whatever it is", () => {
  const part = fc.oneof(
    fc.nat(100).map((count) => " ".repeat(count)),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const line = parts.join("");
      const again = stretches(line).map(({ blanks, words }) => " ".repeat(blanks) + words);
      expect(again.join("")).toBe(line.replace(/[ \t]{41,}/g, (run) => " ".repeat(run.length)));
    }),
  );
});
