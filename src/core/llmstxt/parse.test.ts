import { describe, expect, it } from "vitest";
import { type LlmsTxt, type MemoryLine, parseLlmsTxt } from "./parse.ts";

const H = "a".repeat(64);
const META = `<!-- skill: {"tool":"/t.js","tool_sha256":"${H}"} -->`;
const bullet = (name: string) => `- [${name}](/s): D ${META}`;
const withJson = (json: string) => `- [x](/s): D <!-- skill: ${json} -->`;
const withKeys = (keys: string) => withJson(`{"tool":"/t.js","tool_sha256":"${H}",${keys}}`);
const section = (...lines: string[]) => parseLlmsTxt(["## Skills", ...lines].join("\n"));
const memory = (fields: Record<string, unknown>) => `<!-- skills-memory: ${JSON.stringify(fields)} -->`;
const OKF = { snapshot: "/m", snapshot_sha256: H, format: "minimemory-okf-v1" };

/** `S` executable, `N` prose with its code: one entry a line, in document order. */
function summary({ skills, prose }: LlmsTxt): string[] {
  const entries = [
    ...skills.map(({ line, name }) => [line, `S ${name}`] as const),
    ...prose.map(({ line, name, code }) => [line, `N ${name} ${code}`] as const),
  ];
  return entries.sort(([a], [b]) => a - b).map(([, text]) => text);
}

const scopeOf = (line: MemoryLine) => line.scope;

describe("the 30 tricky inputs", () => {
  const table: readonly (readonly [title: string, text: string, expected: readonly string[]])[] = [
    ["1 a bullet without a Skills heading", bullet("x"), []],
    ["2 spaces and upper case in the heading", `##   SKILLS  \n${bullet("x")}`, ["S x"]],
    ["3 an indented heading", `   ## Skills\n${bullet("x")}`, ["S x"]],
    ["4 a heading with more text", `## Skills (beta)\n${bullet("x")}`, []],
    ["4 a closed heading", `## Skills ##\n${bullet("x")}`, []],
    ["4 a deeper heading", `### Skills\n${bullet("x")}`, []],
    ["4 a setext heading", `Skills\n---\n${bullet("x")}`, []],
    ["4 a heading without a space", `##Skills\n${bullet("x")}`, []],
    [
      "5 sections that close and open again",
      `## Skills\n${bullet("a")}\n## Other\n${bullet("b")}\n## Skills\n${bullet("c")}`,
      ["S a", "S c"],
    ],
    [
      "6 headings that close nothing",
      `## Skills\n### Sub\n${bullet("a")}\n# Top\n${bullet("b")}\n##NoSpace\n${bullet("c")}`,
      ["S a", "S b", "S c"],
    ],
    ["7 a bullet inside a code fence", `## Skills\n\`\`\`\n${bullet("x")}\n\`\`\``, ["S x"]],
    ["8 another bullet sign", `## Skills\n${bullet("x").replace("-", "*")}`, []],
    ["9 an indented bullet", `## Skills\n    ${bullet("x")}`, ["S x"]],
    ["10 no colon behind the link", `## Skills\n- [x](/s) D ${META}`, []],
    ["11 an empty link", `## Skills\n- [x](): D ${META}`, ["S x"]],
    ["12 a parenthesis in the link", `## Skills\n- [x](/a(b).md): D ${META}`, []],
    ["13 prose", "## Skills\n- [x](/s/SKILL.md): just prose", ["N x no_metadata"]],
    ["14 metadata without a tool", `## Skills\n${withJson('{"version":"1","sha256":"x"}')}`, ["N x no_tool"]],
    ["15 metadata that is no JSON", `## Skills\n${withJson("{bad}")}`, ["N x bad_metadata"]],
    ["16 a comment that never closes", '## Skills\n- [x](/s): D <!-- skill: {"tool":"/t.js"', ["N x no_metadata"]],
    ["17 words behind the comment", `## Skills\n${bullet("x")} trailing words`, ["N x no_metadata"]],
    ["18 nested braces", `## Skills\n${withKeys('"o":{"a":{"b":1}}')}`, ["S x"]],
    ["19 an arrow inside a string", `## Skills\n${withKeys('"n":"a } --> b"')}`, ["S x"]],
    ["20 two skill comments", `## Skills\n${bullet("x")} ${META}`, ["N x bad_metadata"]],
    ["21 an unrelated comment before", `## Skills\n- [x](/s): D <!-- note --> ${META}`, ["S x"]],
    ["22 a good scope", `## Skills\n${withKeys('"scope":"kdd-1_a"')}`, ["S x"]],
    ...['"Kdd"', '"1a"', '""', "null", "7"].map(
      (scope) => [`22 the scope ${scope}`, `## Skills\n${withKeys(`"scope":${scope}`)}`, ["N x bad_scope"]] as const,
    ),
    ["22 a bad scope and no tool", `## Skills\n${withJson('{"scope":"A"}')}`, ["N x bad_scope"]],
    ["23 a recipe hash", `## Skills\n${withKeys(`"sha256":"${H}"`)}`, ["S x"]],
    ["23 a recipe hash that is a number", `## Skills\n${withKeys('"sha256":5')}`, ["S x"]],
    ["24 empty strings", `## Skills\n${withJson('{"tool":"","tool_sha256":""}')}`, ["S x"]],
    ["25 an array", `## Skills\n${withJson("[1]")}`, ["N x no_metadata"]],
    ["25 null", `## Skills\n${withJson("null")}`, ["N x no_metadata"]],
    ["25 an upper-case tag", `## Skills\n${bullet("x").replace("skill:", "Skill:")}`, ["N x no_metadata"]],
    [
      "25 a comment over two lines",
      `## Skills\n- [x](/s): D <!-- skill: {"tool":"/t.js",\n"tool_sha256":"${H}"} -->`,
      ["N x no_metadata"],
    ],
    ["26 a byte order mark and CRLF", `\uFEFF## Skills\r\n${bullet("x")}\r\n${bullet("y")}\r\n`, ["S x", "S y"]],
    ["27 a bracket inside the name", "## Skills\n- [a b]c](/s): D", []],
    ["27 an empty name", "## Skills\n- [](/s): D", []],
    ["27 spaces around the name", "## Skills\n- [ a ](/s): D", ["N  a  no_metadata"]],
    ["28 an upper-case hash", `## Skills\n${withJson(`{"tool":"/t","tool_sha256":"${"A".repeat(64)}"}`)}`, ["S x"]],
  ];
  it.each(table)("%s", (_title, text, expected) => {
    expect(summary(parseLlmsTxt(text))).toEqual(expected);
  });

  it("11, 13, 16, 17, 20, 21 keep link and description as written", () => {
    expect(section(`- [x](): D ${META}`).skills[0]).toEqual({
      line: 2,
      scope: null,
      name: "x",
      description: "D",
      tool: "/t.js",
      toolSha256: H,
      version: null,
      recipeUrl: "",
      recipeSha256: null,
    });
    expect(section("- [x](/s/SKILL.md): just prose").prose[0]).toEqual({
      line: 2,
      name: "x",
      url: "/s/SKILL.md",
      description: "just prose",
      code: "no_metadata",
      reason: "The line ends with no skill metadata, so the skill is a link for people.",
    });
    expect(section('- [x](/s): D <!-- skill: {"tool":"/t.js"').prose[0]?.description).toBe(
      'D <!-- skill: {"tool":"/t.js"',
    );
    expect(section(`${bullet("x")} trailing words`).prose[0]?.description).toBe(`D ${META} trailing words`);
    expect(section(`${bullet("x")} ${META}`).prose[0]?.description).toBe("D");
    expect(section(`- [x](/s): D <!-- note --> ${META}`).skills[0]?.description).toBe("D <!-- note -->");
  });

  it("18, 22, 23, 24, 28 keep the metadata as written", () => {
    expect(section(withKeys('"scope":"kdd-1_a","version":"1.2"')).skills[0]).toMatchObject({
      scope: "kdd-1_a",
      version: "1.2",
    });
    expect(section(withKeys(`"sha256":"${H}","version":2`)).skills[0]).toMatchObject({
      recipeSha256: H,
      version: null,
    });
    expect(section(withKeys('"sha256":5')).skills[0]?.recipeSha256).toBeNull();
    expect(section(withJson('{"tool":"","tool_sha256":""}')).skills[0]).toMatchObject({ tool: "", toolSha256: "" });
    const upper = "A".repeat(64);
    expect(section(withJson(`{"tool":"/t","tool_sha256":"${upper}"}`)).skills[0]?.toolSha256).toBe(upper);
  });

  it("29 takes memory lines anywhere and reports those it cannot use", () => {
    const parsed = parseLlmsTxt(
      [
        memory(OKF),
        memory({ ...OKF, snapshot: "/dup" }),
        memory({ ...OKF, scope: "z" }),
        memory({ ...OKF, scope: "u", format: "v9" }),
        memory({ ...OKF, scope: "BAD" }),
        "<!-- skills-memory: {bad} -->",
        memory({ snapshot: "/m" }),
        `text ${memory({ ...OKF, scope: "t" })}`,
        "## Skills",
        memory({ ...OKF, scope: "tight" })
          .replaceAll("<!-- ", "<!--")
          .replaceAll(" -->", "-->"),
        `- ${memory({ ...OKF, scope: "item" })}`,
      ].join("\n"),
    );
    expect(parsed.memories.map(scopeOf)).toEqual([null, "z", "u", "tight"]);
    expect(parsed.memories[0]).toEqual({
      line: 1,
      scope: null,
      snapshot: "/m",
      sha256: H,
      format: "minimemory-okf-v1",
      supported: true,
    });
    expect(parsed.memories[2]?.supported).toBe(false);
    expect(parsed.badMemories.map(({ line, code }) => [line, code])).toEqual([
      [5, "bad_scope"],
      [6, "bad_json"],
      [7, "bad_shape"],
    ]);
    expect(parsed.skills).toEqual([]);
    expect(parsed.prose).toEqual([]);
  });

  it("[X-29] 30 an unsupported memory line does not hide a later supported one of its scope", () => {
    const { memories } = parseLlmsTxt(`${memory({ ...OKF, format: "v9" })}\n${memory(OKF)}\n${memory(OKF)}`);
    expect(memories.map(({ line, supported }) => [line, supported])).toEqual([
      [1, false],
      [2, true],
    ]);
  });
});

describe("details of the grammar", () => {
  it("[10.2-crlf] reads LF, CRLF, and a byte order mark alike, memory lines included", () => {
    const clean = `# T\n\n${memory(OKF)}\n\n## Skills\n${bullet("a")}\n- [p](/p): prose\n\n## End\n${bullet("z")}\n`;
    const expected = parseLlmsTxt(clean);
    expect(expected.skills).toHaveLength(1);
    expect(parseLlmsTxt(clean.replaceAll("\n", "\r\n"))).toEqual(expected);
    expect(parseLlmsTxt(`\uFEFF${clean.replaceAll("\n", "\r\n")}`)).toEqual(expected);
  });

  it("does not break lines at a lone carriage return", () => {
    expect(summary(parseLlmsTxt(`## Skills\r${bullet("x")}`))).toEqual([]);
    expect(section("- [x](/s): a\rb").prose[0]?.description).toBe("a\rb");
  });

  it("takes tabs and no-break spaces as white space", () => {
    expect(summary(parseLlmsTxt(`##\u00a0skills\n\t-\t[x](/s):\tD\t<!--\tskill:\t{}\t-->\t`))).toEqual(["N x no_tool"]);
  });

  it("does not take letters that only resemble those of skills", () => {
    expect(summary(parseLlmsTxt(`## \u017fkills\n${bullet("x")}`))).toEqual([]);
    expect(summary(parseLlmsTxt(`## s\u212aills\n${bullet("x")}`))).toEqual([]);
  });

  it("takes a comment without spaces around it", () => {
    const line = `- [x](/s): D<!--skill:{"tool":"/t.js","tool_sha256":"${H}"}-->`;
    expect(section(line).skills[0]?.description).toBe("D");
  });

  it("lets the last of duplicate keys win and ignores unknown ones, __proto__ included", () => {
    const keys = '"tool":"/second.js","unknown":[1],"__proto__":{"scope":"x","version":"9"}';
    expect(section(withKeys(keys)).skills[0]).toMatchObject({ tool: "/second.js", scope: null, version: null });
  });

  it("returns lines of one name all, and counts lines from 1", () => {
    expect(section(bullet("x"), "", bullet("x")).skills.map(({ line }) => line)).toEqual([2, 4]);
  });

  it("keeps a comment of another tag in the description", () => {
    expect(section("- [x](/s): D <!-- skills: {} -->").prose[0]?.description).toBe("D <!-- skills: {} -->");
  });
});
