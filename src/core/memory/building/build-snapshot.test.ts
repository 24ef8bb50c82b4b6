import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { indexOf } from "../fixture/snapshots.ts";
import { BuildError } from "./build-error.ts";
import { buildSnapshot } from "./build-snapshot.ts";
import { LEAST_CHARACTERS, lengthOf, MOST_CHARACTERS } from "./chunks.ts";

interface Entry {
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly content: string };
}

const build = (files: Readonly<Record<string, string>>) =>
  buildSnapshot(Object.entries(files).map(([path, text]) => ({ path, text })));
const textOf = (files: Readonly<Record<string, string>>) => new TextDecoder().decode(build(files).bytes);
const entriesOf = (files: Readonly<Record<string, string>>) => JSON.parse(textOf(files)) as Entry[];
const contentsOf = (text: string) => entriesOf({ "a.md": text }).map(({ metadata }) => metadata.content);

/** A sentence of 50 characters. */
const sentence = (word: string) => `${`${word} `.repeat(50).slice(0, 48).trimEnd().padEnd(49, "x")}.`;
const paragraph = (word: string, sentences: number) =>
  Array.from({ length: sentences }, () => sentence(word)).join(" ");
const code = (message: RegExp, code: string) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("the snapshot", () => {
  it("is compact JSON, sorted by id and by key, the same for any order of files and any line ends", () => {
    const files = {
      "b.md": `# B\n\n${paragraph("bee", 2)}\n`,
      "a/c.md": `---\ntags: [x, y]\n---\n${paragraph("sea", 60)}\n`,
    };
    const text = textOf(files);
    expect(text).toBe(textOf({ "a/c.md": files["a/c.md"].replaceAll("\n", "\r\n"), "b.md": `\ufeff${files["b.md"]}` }));
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
    const entries = JSON.parse(text) as Entry[];
    const ids = entries.map(({ id }) => id);
    expect(ids).toEqual(["a/c#0", "a/c#1", "a/c#2", "b#0"]);
    for (const { metadata } of entries) expect(Object.keys(metadata)).toEqual(Object.keys(metadata).sort());
  });

  it("sorts ids as strings", () => {
    const long = Array.from({ length: 12 }, (_, n) => `## S${n}\n\n${paragraph(`w${n}`, 2)}`).join("\n\n");
    expect(entriesOf({ "d.md": long }).map(({ id }) => id)).toEqual([
      "d#0",
      "d#1",
      "d#10",
      "d#11",
      ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `d#${n}`),
    ]);
  });

  it("can be searched, by tags and description too", () => {
    const front = "---\ntitle: Tea\ndescription: How to brew.\ntags: [kettle]\n---\n";
    const index = indexOf(build({ "tea.md": `${front}# Leaves\n\n${paragraph("leaf", 3)}` }).bytes);
    for (const query of ["kettle", "brew", "leaf", "leaves", "tea"]) expect(index.search(query, 1)).toHaveLength(1);
  });
});

describe("front matter", () => {
  it("becomes fields of every chunk", () => {
    const front = [
      ...["type: guide", 'title: "Tea: a guide"', "description: >", "  How to", "  brew.", "resource: /tea"],
      ...[
        "tags:",
        "  - green tea",
        "  - 2024",
        "date: 2024-02-30",
        "draft: false",
        "rank: 3",
        "nested: {a: 1}",
        "content: no",
      ],
    ];
    const [entry] = entriesOf({ "tea.md": `---\n${front.join("\n")}\n---\n\n# Green\n\n${paragraph("leaf", 2)}` });
    expect(entry?.metadata).toEqual({
      content: paragraph("leaf", 2),
      date: "2024-02-30",
      description: "How to brew.\n",
      draft: false,
      heading: "Green",
      okf_concept: "tea",
      okf_type: "guide",
      rank: 3,
      resource: "/tea",
      tags: ["green tea", "2024"],
      tags_text: "green tea 2024",
      title: "Tea: a guide: Green",
    });
  });

  it("is none where nothing closes it, or where it does not begin the file", () => {
    for (const text of [
      "---\ntitle: x\n\nSome text.",
      "\n---\ntitle: x\n---\ntext",
      "Some text.\n\n---\n\ntitle: x\n\n---\n",
    ]) {
      expect(entriesOf({ "a.md": text })[0]?.metadata.title).toMatch(/^a(?:: title: x)?$/);
    }
    expect(entriesOf({ "a.md": "---\n---\nSome text." })[0]?.metadata.content).toBe("Some text.");
  });

  it.each([
    ["is no YAML", "a: b: c", /front matter of x\.md is not YAML/],
    ["has a key twice", "a: 1\na: 2", /not YAML/],
    ["is a list", "- a", /must be a mapping/],
    ["uses aliases", "a: &x [1]\nb: *x", /aliases/],
    ["has a list for a title", "title: [a]", /`title` in the front matter of x\.md/],
    ["has a mapping for tags", "tags: {a: 1}", /`tags`/],
  ])("is refused when it %s", (_what, front, message) => {
    expect(() => build({ "x.md": `---\n${front}\n---\ntext` })).toThrow(code(message, "bad_front_matter"));
  });
});

describe("chunks", () => {
  it("begin at headings of the first three levels, written in either way, which only the text itself can have", () => {
    const fence = `\`\`\`sh\n# no heading\n${"echo a long enough line of code\n".repeat(3)}\n## none\n\`\`\``;
    const quote = `> # quoted\n> ${sentence("word")}\n> ${sentence("word")}`;
    const text = `Title\n=====\n\n${paragraph("top", 2)}\n\n<!--\n# hidden\n-->\n\n## One *more* [link](/x) \`code\` &amp; so\n\n${fence}\n\n${quote}\n\n#### Deep\n\n${paragraph("deep", 2)}`;
    const entries = entriesOf({ "a.md": text });
    expect(entries.map(({ metadata }) => [metadata.title, metadata.heading])).toEqual([
      ["Title", "Title"],
      ["Title: One more link code & so", "One more link code & so"],
    ]);
    expect(entries[1]?.metadata.content).toBe(`${fence}\n\n${quote}\n\n#### Deep\n\n${paragraph("deep", 2)}`);
    expect(JSON.stringify(entries)).not.toContain("hidden");
  });

  it("never part a code block or a quote, however long", () => {
    const fence = `~~~\n${"line of code\n\n".repeat(200)}~~~`;
    const quote = Array.from({ length: 60 }, () => `> ${sentence("quoted")}`).join("\n>\n");
    const contents = contentsOf(`${paragraph("before", 10)}\n\n${fence}\n\n${quote}\n\n${paragraph("after", 10)}`);
    expect(contents).toEqual([paragraph("before", 10), fence, quote, paragraph("after", 10)]);
  });

  it("part long paragraphs after sentences, lists between items and tables between rows, under the same head", () => {
    const text = contentsOf(paragraph("word", 60));
    expect(text.join(" ")).toBe(paragraph("word", 60));
    expect(text.every((content) => content.endsWith("."))).toBe(true);
    const items = Array.from({ length: 60 }, (_, n) => `- ${n} ${sentence("item")}`);
    expect(contentsOf(items.join("\n")).join("\n")).toBe(items.join("\n"));
    const rows = Array.from({ length: 60 }, (_, n) => `| ${n} | ${sentence("cell")} |`);
    const tables = contentsOf(["| a   | b     |", "| ------ | ----- |", ...rows].join("\n"));
    expect(tables.length).toBeGreaterThan(2);
    for (const table of tables) expect(table.startsWith("| a | b |\n| --- | --- |\n| ")).toBe(true);
    expect(tables.flatMap((table) => table.split("\n").slice(2))).toEqual(rows);
  });

  it("are neither tiny nor empty: what is short joins its neighbour with its heading", () => {
    const text = `# T\n\nHi.\n\n## A\n\n${paragraph("long", 2)}\n\n## License\n\nMIT\n\n## Empty\n\n---\n\n## End\n\n***\n`;
    expect(contentsOf(text)).toEqual([`Hi.\n\n## A\n\n${paragraph("long", 2)}\n\n## License\n\nMIT`]);
    expect(contentsOf("MIT")).toEqual(["MIT"]);
    expect(entriesOf({ "a.md": "text", "empty.md": "# Only a title\n" })).toHaveLength(1);
  });

  it("stay within their sizes for any text, and lose no word", () => {
    const words = fc.array(
      fc.constantFrom("word", "a", "日本語。", "x".repeat(1_500), "end.", "\n\n", "\n\n## H\n\n", "- i", "é"),
    );
    fc.assert(
      fc.property(words, (parts) => {
        const text = parts.join(" ");
        if (!/[\p{Alphabetic}\p{N}]/u.test(text.replaceAll("## H", ""))) return;
        const contents = contentsOf(text);
        const lengths = contents.map(lengthOf);
        for (const length of lengths) expect(length).toBeLessThanOrEqual(MOST_CHARACTERS + 3 * LEAST_CHARACTERS);
        if (lengths.length > 1) for (const length of lengths) expect(length).toBeGreaterThanOrEqual(LEAST_CHARACTERS);
        const letters = (some: string) => some.replaceAll("## H", "").replace(/[^\p{Alphabetic}\p{N}]/gu, "");
        expect(letters(contents.join(""))).toBe(letters(text));
      }),
    );
  });
});

describe("a build is refused", () => {
  it("without any text, with two documents of one name, and above what gateways accept", () => {
    expect(() => build({ "a.md": "# Title\n\n---\n" })).toThrow(code(/no text/, "nothing_to_search"));
    expect(() => build({ "a.md": "text", "a.markdown": "text" })).toThrow(code(/"a"/, "duplicate_concept"));
    const huge = Array.from({ length: 90_000 }, () => sentence("word")).join("\n\n");
    expect(() => build({ "a.md": huge })).toThrow(code(/gateways accept 4194304/, "too_large"));
    expect(new BuildError("too_large", "x")).toBeInstanceOf(Error);
  });
});
