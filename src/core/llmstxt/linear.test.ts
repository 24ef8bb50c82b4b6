import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLlmsTxt, parseWith } from "./parse.ts";
import { Scanner } from "./scanner.ts";

const KIB = 1024;

/** Fills a text of `length` characters: fixed head and tail, the unit repeated in between. */
function filled(length: number, head: string, unit: string, tail = ""): string {
  const room = length - head.length - tail.length;
  return head + unit.repeat(Math.ceil(room / unit.length)).slice(0, room) + tail;
}

const SKILL = "## Skills\n- [x](/s): ";
const OPEN = `${SKILL}D <!-- skill: {`;
const MEMORY = '<!-- skills-memory: {"snapshot":"/m","snapshot_sha256":"h","format":"f"} -->\n';

const ADVERSARIAL: Readonly<Record<string, (length: number) => string>> = {
  "spaces inside a description": (n) => filled(n, `${SKILL}a`, " ", "b"),
  "spaces behind a description": (n) => filled(n, `${SKILL}a`, " "),
  "spaces and one comment": (n) => filled(n, `${SKILL}a`, " ", "<!-- skill: {} -->"),
  "spaces before an unclosed comment": (n) => filled(n, `${SKILL}a`, " ", "<!-- skill: {} --> b"),
  "closing braces": (n) => filled(n, OPEN, "}", " -->"),
  "ends of comments": (n) => filled(n, OPEN, "} --> "),
  "ends of comments, then a word": (n) => filled(n, OPEN, "}-->", " word"),
  "beginnings of comments": (n) => filled(n, SKILL, "<!--", "} -->"),
  "beginnings of comments with spaces": (n) => filled(n, SKILL, "<!--          ", "} -->"),
  "beginnings of tagged comments": (n) => filled(n, SKILL, "<!-- skill: ", "} -->"),
  "tags without an object": (n) => filled(n, SKILL, "<!-- skill: x", "} -->"),
  "whole comments": (n) => filled(n, SKILL, "<!-- skill: {} -->"),
  "nested comments": (n) => filled(n, SKILL, "<!-- skill: {<!-- skill: {", "}} -->"),
  "opening brackets": (n) => filled(n, "## Skills\n- ", "["),
  "names that never close": (n) => filled(n, "## Skills\n", "- [x\n"),
  "links that never close": (n) => filled(n, "## Skills\n", "- [x](y\n"),
  "one link that never closes": (n) => filled(n, "## Skills\n- [x](", "y"),
  "white space alone": (n) => filled(n, "", " "),
  "white space lines": (n) => filled(n, "", "\u00a0\u2003 \t\n"),
  "hash signs": (n) => filled(n, "", "#"),
  "heading prefixes": (n) => filled(n, "## ", " ", "Skill"),
  "headings that open and close": (n) => filled(n, "", "## Skills\n## x\n"),
  "one giant line": (n) => filled(n, SKILL, "word "),
  "carriage returns": (n) => filled(n, SKILL, "\r"),
  "tiny lines": (n) => filled(n, "## Skills\n", "-\n"),
  "empty lines": (n) => filled(n, "## Skills\n", "\n"),
  "bullets of prose": (n) => filled(n, "## Skills\n", "- [x](y): z\n"),
  "bullets of bad metadata": (n) => filled(n, "## Skills\n", "- [x](y): z <!-- skill: {{} -->\n"),
  "memory lines of one scope": (n) => filled(n, "", MEMORY),
  "memory lines that are no JSON": (n) => filled(n, "", "<!-- skills-memory: {{} -->\n"),
  "one memory line of spaces": (n) => filled(n, "<!-- skills-memory: {", " ", "} -->"),
  "arrays in metadata": (n) => filled(n, `${OPEN}"a":`, "[", "} -->"),
  "objects in metadata": (n) => filled(n, `${OPEN}"a":`, '{"a":', "} -->"),
  "keys in metadata": (n) => filled(n, `${OPEN}"a":1`, ',"a":1', "} -->"),
};

function stepsFor(text: string): number {
  const scanner = new Scanner(text);
  parseWith(scanner);
  return scanner.steps;
}

describe("[10.1-H] the parser's work grows linearly", () => {
  it.each(Object.keys(ADVERSARIAL))("with %s", (name) => {
    const make = ADVERSARIAL[name];
    if (make === undefined) throw new Error(name);
    const [small = 0, middle = 0, large = 0] = [64, 128, 256].map((size) => stepsFor(make(size * KIB)));
    expect(middle / small).toBeLessThanOrEqual(2.2);
    expect(large / middle).toBeLessThanOrEqual(2.2);
    // A constant number of looks at each character, whatever the input.
    expect(large).toBeLessThanOrEqual(8 * 256 * KIB);
  });

  it("with a thousand memory scopes and as many skills", () => {
    const make = (count: number) =>
      `${Array.from({ length: count }, (_, i) => MEMORY.replace("{", `{"scope":"s${i}",`)).join("")}## Skills\n${Array.from(
        { length: count },
        (_, i) => `- [n${i}](/s): D <!-- skill: {"tool":"/t","tool_sha256":"h"} -->\n`,
      ).join("")}`;
    const parsed = parseLlmsTxt(make(1000));
    expect(parsed.memories).toHaveLength(1000);
    expect(parsed.skills).toHaveLength(1000);
    expect(stepsFor(make(2000)) / stepsFor(make(1000))).toBeLessThanOrEqual(2.2);
  });

  it("with any text at all, and never throws", () => {
    const fragment = fc.constantFrom(
      "## Skills",
      "\n",
      "\r\n",
      "\r",
      "- [x](/s): ",
      "[",
      "](",
      "):",
      "<!--",
      "skill:",
      "skills-memory:",
      '{"tool":"/t","tool_sha256":"h"}',
      "{",
      "}",
      "-->",
      " ",
      "\u00a0",
      "\uFEFF",
      "\ud800",
      "##",
      "x",
    );
    const anyText = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.array(fragment, { maxLength: 60 }).map((parts) => `## Skills\n${parts.join("")}`),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        expect(stepsFor(text)).toBeLessThanOrEqual(8 * text.length + 32);
      }),
      { numRuns: 2000 },
    );
  });
});

it("reports metadata nested too deeply instead of overflowing the stack", () => {
  const depth = 120_000;
  const value = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const { skills, prose } = parseLlmsTxt(`${OPEN}"tool":"/t","tool_sha256":"h","a":${value}} -->\n- [y](/y): z`);
  // Whether the engine's JSON parser takes that depth is its own affair; the next line is read either way.
  expect(skills.length + prose.length).toBe(2);
  expect(prose.at(-1)?.name).toBe("y");
});

it("agrees with a backtracking pattern of the grammar on short lines", () => {
  const pattern = /^\s*-\s+\[([^\]]+)\]\(([^)]*)\):\s*(.*?)\s*(?:<!--\s*skill:\s*(\{.*?\})\s*-->)?\s*$/s;
  const fragment = fc.constantFrom(
    "- ",
    "[x]",
    "(/s)",
    ":",
    " ",
    "<!--",
    "skill:",
    "{",
    "}",
    '"a":1',
    "-->",
    "w",
    "\t",
  );
  const line = fc
    .tuple(fc.constantFrom("", "- [x](/s):", "- [x](/s): D <!-- skill: {"), fc.array(fragment, { maxLength: 14 }))
    .map(([head, parts]) => head + parts.join(""));
  fc.assert(
    fc.property(line, (text) => {
      const { skills, prose } = parseLlmsTxt(`## Skills\n${text}`);
      const match = pattern.exec(text);
      const found = skills[0] ?? prose[0];
      expect(found !== undefined).toBe(match !== null);
      if (match === null || found === undefined) return;
      expect(found.name).toBe(match[1]);
      expect(found.description).toBe(match[3]);
      expect(prose[0]?.code === "no_metadata").toBe(match[4] === undefined);
    }),
    { numRuns: 3000 },
  );
});
