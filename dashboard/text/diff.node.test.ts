import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DiffHunk } from "../api/types.ts";
import { type DiffRow, type DiffSide, sideBySide } from "./diff.ts";

function hunk(lines: readonly string[], oldStart = 1, newStart = 1): DiffHunk {
  const without = (sign: string) => lines.filter((line) => !line.startsWith(sign)).length;
  return { oldStart, oldLines: without("+"), newStart, newLines: without("-"), continued: [], lines };
}

const told = (rows: readonly DiffRow[], pick: (row: DiffRow) => DiffSide | null) =>
  rows.map(pick).filter((side) => side !== null);

describe("a difference side by side", () => {
  it("puts lines that went beside those that came, and says where they differ", () => {
    const [same, changed, added] = sideBySide(hunk([" a", "-let x = 1;", "+let x = 20;", "+let y;"], 5, 7));
    expect(same).toEqual({
      old: { number: 5, text: "a", isChanged: false, from: 0, to: 0 },
      fresh: { number: 7, text: "a", isChanged: false, from: 0, to: 0 },
    });
    expect(changed?.old).toMatchObject({ number: 6, from: 8, to: 9 });
    expect(changed?.fresh).toMatchObject({ number: 8, from: 8, to: 10 });
    expect(added).toMatchObject({ old: null, fresh: { number: 9, text: "let y;", isChanged: true } });
  });

  it("shows every line of a hunk once, in its order and under its number, whatever stands in it", () => {
    const line = fc.tuple(fc.constantFrom(" ", "-", "+"), fc.string({ unit: "binary" })).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.nat(1000), fc.nat(1000), (lines, oldStart, newStart) => {
        const rows = sideBySide(hunk(lines, oldStart, newStart));
        for (const [sign, start, pick] of [
          ["+", oldStart, ({ old }: DiffRow) => old],
          ["-", newStart, ({ fresh }: DiffRow) => fresh],
        ] as const) {
          const sides = told(rows, pick);
          expect(sides.map(({ text }) => text)).toEqual(
            lines.filter((one) => !one.startsWith(sign)).map((one) => one.slice(1)),
          );
          expect(sides.map(({ number }) => number)).toEqual(sides.map((_, index) => start + index));
          for (const { from, to, text } of sides) {
            expect(0 <= from && from <= to && to <= text.length).toBe(true);
          }
        }
      }),
    );
  });
});
