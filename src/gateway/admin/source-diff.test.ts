import { describe, expect, it } from "vitest";
import { diffSources, MAX_CHANGED_LINES, MAX_COMPARED_LINES, MAX_LINE_CHARS, MAX_SHOWN_LINES } from "./source-diff.ts";

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}`);
const linesOf = (diff: ReturnType<typeof diffSources>) => diff.hunks.flatMap(({ lines }) => lines);

describe("the difference of two sources", () => {
  it("has hunks as a unified diff, with three lines around each and the files' own line numbers", () => {
    const before = [...numbered(1, 101), "old", ...numbered(101, 201), "gone", ...numbered(201, 301), ""].join("\n");
    const after = [...numbered(1, 101), "new", ...numbered(101, 201), ...numbered(201, 301), ""].join("\n");
    expect(diffSources(before, after)).toEqual({
      linesBroken: false,
      replaced: false,
      truncated: false,
      hunks: [
        {
          ...{ oldStart: 98, oldLines: 7, newStart: 98, newLines: 7, continued: [] },
          lines: [" line 98", " line 99", " line 100", "-old", "+new", " line 101", " line 102", " line 103"],
        },
        {
          ...{ oldStart: 199, oldLines: 7, newStart: 199, newLines: 6, continued: [] },
          lines: [" line 198", " line 199", " line 200", "-gone", " line 201", " line 202", " line 203"],
        },
      ],
    });
  });

  it("of the same source is empty, and of a first version all of it", () => {
    expect(diffSources("a\nb", "a\nb").hunks).toEqual([]);
    expect(linesOf(diffSources("", "a\nb"))).toEqual(["+a", "+b"]);
  });

  it("shows a line feed that is missing at the end, and a carriage return", () => {
    expect(linesOf(diffSources("a\n", "a"))).toEqual([" a", "-"]);
    expect(linesOf(diffSources("a\n", "a\r\n"))).toEqual(["-a", "+a\r", " "]);
  });

  it("breaks the long lines of a minified source, so that one change is not the whole", () => {
    const statements = Array.from({ length: 40_000 }, (_, i) => `f(${i});`);
    const before = statements.join("");
    statements[20_000] = "evil();";
    const diff = diffSources(before, statements.join(""));
    expect(diff).toMatchObject({ linesBroken: true, replaced: false });
    expect(linesOf(diff)).toEqual([
      ...[" f(19997);", " f(19998);", " f(19999);", "-f(20000);", "+evil();", " f(20001);", " f(20002);", " f(20003);"],
    ]);
  });

  it("is never empty where a line feed is put where a long line was broken, or taken from there", () => {
    // A comment: after a line feed, the rest of it is code.
    const comment = `// ${"x".repeat(996)};evil();${"y".repeat(20)}`;
    const pieces = [comment.slice(0, 1000), comment.slice(1000, 1007), comment.slice(1007)];
    const sources = [
      comment,
      pieces.join("\n"),
      `${pieces[0]}\n${pieces[1]}${pieces[2]}`,
      `${pieces[0]}${pieces[1]}\n${pieces[2]}`,
      `${comment}\n`,
    ];
    for (const before of sources) {
      for (const after of sources) expect(diffSources(before, after).hunks.length).toBe(before === after ? 0 : 1);
    }
    const [hunk] = diffSources(comment, pieces.join("\n")).hunks;
    expect(hunk?.lines).toEqual([
      ...pieces.slice(0, 2).map((p) => `-${p}`),
      ...pieces.slice(0, 2).map((p) => `+${p}`),
      ` ${pieces[2]}`,
    ]);
    expect(hunk?.continued).toEqual([0, 1]);
  });

  const MIB = 1_048_576;
  it.each([
    ["a line without any place to break", "a".repeat(MIB), "b".repeat(MIB)],
    ["equal lines, of which most are new", "a\n".repeat(1000), `${"b\n".repeat(1000)}${"a\n".repeat(MIB / 2 - 1000)}`],
    ["nothing but line feeds", "\n".repeat(MIB), "\n".repeat(MIB - 30_000)],
    ["lines that are all different", numbered(0, 60_000).join("\n"), numbered(70_000, 130_000).join("\n")],
    [
      "long lines that differ in their last character",
      `${"x".repeat(999)}a\n`.repeat(1_000),
      `${"x".repeat(999)}b\n`.repeat(1_000),
    ],
    [
      "as many changes as are looked for",
      numbered(0, 49_000).join("\n"),
      numbered(0, 49_000)
        .map((line, i) => (i % 66 === 1 ? `${line}!` : line))
        .join("\n"),
    ],
    ["separators alone", ";".repeat(MIB), "{".repeat(MIB)],
  ])("[budget:diff] of %s is bounded", (_, before, after) => {
    const diff = diffSources(before, after);
    const lines = linesOf(diff);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(MAX_SHOWN_LINES);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(MAX_LINE_CHARS + 1);
  });

  it("[budget:diff] is looked for up to the bounds, and else is both sources whole", () => {
    const changed = (count: number) =>
      [
        numbered(0, count)
          .map((line) => `${line} of old`)
          .join("\n"),
        numbered(0, count)
          .map((line) => `${line} of new`)
          .join("\n"),
      ] as const;
    expect(diffSources(...changed(MAX_CHANGED_LINES / 2)).replaced).toBe(false);
    expect(diffSources(...changed(MAX_CHANGED_LINES / 2 + 1)).replaced).toBe(true);
    const long = numbered(0, MAX_COMPARED_LINES).join("\n");
    expect(diffSources(`x\n${long}\ny`, `y\n${long}\nx`)).toMatchObject({ replaced: true, truncated: true });
  });
});
