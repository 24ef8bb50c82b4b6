import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { script } from "../../core/discovery/fixture/publisher.ts";
import { run } from "../fixture/running.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-build-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const skillgate = (...args: string[]) => run(args, { cwd: folder });
const read = (path: string) => readFile(join(folder, path), "utf8");
const sha256 = (content: string) => createHash("sha256").update(content).digest("hex");
const json = async (path: string) => JSON.parse(await read(path));

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

const tool = (name: string, more = 'description: "x"') => script(name, more);
const recipe = (name: string, more = "") => `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n\n# ${name}\n`;
const INDEX = ".well-known/agent-skills/index.json";
const ATTESTATIONS = ".well-known/agent-skills/attestations.json";

/** A built site with the skill `one`. */
async function site(): Promise<void> {
  await put({
    "llms.txt": "# S\n\n## Skills\n\n- [one](/skills/one/SKILL.md): Does one.\n",
    "skills/one/SKILL.md": recipe("one"),
    "skills/one/tool.js": tool("one"),
  });
  expect((await skillgate("build")).code).toBe(0);
}

/** Every file with its bytes and the time of its last writing. */
async function everything(): Promise<readonly (readonly [string, string, number])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (path) => [path, await readFile(path, "latin1"), (await stat(path)).mtimeMs] as const),
  );
}

describe("init", () => {
  it("makes a site that is built, passes lint as a folder, and is not made twice", async () => {
    const made = await skillgate("init", "new", "--skill", "greet");
    expect(made.code).toBe(0);
    expect(made.stdout.split("\n")).toContain(join("new", ".github/workflows/skills.yml"));
    expect(await skillgate("build", "new", "--check")).toMatchObject({ code: 0, stdout: "" });
    const linted = await skillgate("lint", "new", "--strict");
    expect([linted.code, linted.stdout]).toEqual([0, expect.stringContaining("PASS: 1 skill, 0 failures, 0 warnings")]);

    const before = await everything();
    expect(await skillgate("init", "new")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("file_exists: There is already llms.txt, .github/workflows/skills.yml"),
    });
    expect(await everything()).toEqual(before);
  });

  it("keeps what a repository has already, and says so", async () => {
    await put({ ".gitattributes": "*.md text\n", "README.md": "Mine.\n" });
    const made = await skillgate("init");
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("kept .gitattributes as it is") });
    expect(await read(".gitattributes")).toBe("*.md text\n");
  });

  it("refuses a name that no tool should have", async () => {
    for (const name of ["", "../x", "Hello", "a b", "x".repeat(65)]) {
      expect((await skillgate("init", "new", "--skill", name)).code, name).toBe(2);
    }
    await expect(stat(join(folder, "new"))).rejects.toThrow("ENOENT");
  });
});

describe("build", () => {
  it("writes hashes into the author's lines, and leaves prose, order, line endings and other fields as they are", async () => {
    await put({
      "llms.txt": [
        "\uFEFF# Mein Laden  ",
        "> Größe — ätsch",
        "",
        "## Skills",
        "Some prose between.",
        '- [b](/skills/b/SKILL.md): Does b. <!-- skill: {"x":{"y": 1},"tool":"/tools/b.js","tool_sha256":"old","scope":"s"} -->  ',
        "- [guide](/guide.html): For people.",
        "  - [a](skills/a/SKILL.md): Says  <!-- this -->",
        "## Optional",
        "- [a](/other): not a skill",
        "\tend",
      ].join("\r\n"),
      "skills/a/SKILL.md": recipe("a", 'metadata:\n  version: "1.2.0"\n'),
      "skills/a/tool.js": tool("a"),
      "skills/b/SKILL.md": "no frontmatter\r\n",
      "tools/b.js": tool("b"),
    });
    const built = await skillgate("build");
    expect(built.code).toBe(0);
    expect(built.stdout.split("\n")).toEqual(["wrote llms.txt", `wrote ${INDEX}`]);
    const a = `{"version":"1.2.0","sha256":"${sha256(recipe("a", 'metadata:\n  version: "1.2.0"\n'))}","tool":"skills/a/tool.js","tool_sha256":"${sha256(tool("a"))}"}`;
    const b = `{"x":{"y":1},"tool":"/tools/b.js","tool_sha256":"${sha256(tool("b"))}","scope":"s","sha256":"${sha256("no frontmatter\r\n")}"}`;
    expect(await read("llms.txt")).toBe(
      [
        "\uFEFF# Mein Laden  ",
        "> Größe — ätsch",
        "",
        "## Skills",
        "Some prose between.",
        `- [b](/skills/b/SKILL.md): Does b. <!-- skill: ${b} -->  `,
        "- [guide](/guide.html): For people.",
        `  - [a](skills/a/SKILL.md): Says  <!-- this --> <!-- skill: ${a} -->`,
        "## Optional",
        "- [a](/other): not a skill",
        "\tend",
      ].join("\r\n"),
    );
    expect((await json(INDEX)).skills).toMatchObject([
      { name: "b", url: "/skills/b/SKILL.md", scope: "s", tool: "/tools/b.js" },
      { name: "a", url: "../../skills/a/SKILL.md", description: "Does a.", version: "1.2.0" },
    ]);
  });

  it("changes no byte the second time, and checks without writing", async () => {
    await site();
    await put({ "memory/faq.md": "# Questions\n\nWhat else is there to ask about all of these things?\n" });
    expect((await skillgate("build")).code).toBe(0);
    const built = await everything();
    expect(await skillgate("build")).toMatchObject({ code: 0, stdout: "" });
    expect(await skillgate("build", "--check")).toMatchObject({ code: 0, stdout: "" });
    expect(await everything()).toEqual(built);

    await put({
      "skills/one/tool.js": `${tool("one")} `,
      "memory/faq.md": "# Questions\n\nNothing that anybody has ever asked us before.\n",
    });
    await rm(join(folder, INDEX));
    const drifted = await everything();
    const checked = await skillgate("build", "--check");
    expect(checked.code).toBe(1);
    expect(checked.stdout.split("\n")).toEqual([
      "memory.json: is not what memory/ gives",
      "llms.txt: the memory line: snapshot_sha256 is not that of memory.json",
      "llms.txt: one: tool_sha256 is not that of /skills/one/tool.js",
      `${INDEX}: is missing`,
    ]);
    expect(await everything()).toEqual(drifted);
  });

  it("lists skills that are not listed, behind the last one, and makes an llms.txt where there is none", async () => {
    await put({
      "skills/b/SKILL.md": recipe("b"),
      "skills/b/tool.js": tool("b"),
      "skills/prose/SKILL.md": recipe("prose"),
    });
    const first = await skillgate("build");
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("skills/prose is not listed in llms.txt") });
    expect(await read("llms.txt")).toMatch(
      /^# skillgate-build-\w+\n\n## Skills\n\n- \[b\]\(skills\/b\/SKILL.md\): Does b\. <!-- skill: .* -->\n$/,
    );
    await put({
      "skills/a/SKILL.md": recipe("a"),
      "tools/a.js": tool("a"),
      "llms.txt": `${(await read("llms.txt")).trim()}\n\n## More\nText`,
    });
    expect((await skillgate("build")).code).toBe(0);
    expect(await read("llms.txt")).toMatch(
      /\n- \[b\].*\n- \[a\]\(skills\/a\/SKILL.md\): Does a\. .*"tool":"tools\/a\.js".*\n\n## More\nText$/,
    );
  });

  it("says which line was meant to list a skill, and lists it", async () => {
    await put({
      "skills/a/SKILL.md": recipe("a"),
      "skills/a/tool.js": tool("a"),
      "llms.txt": "# T\n\n## Skills\n\n* [a](skills/a/SKILL.md): Does a.\n",
    });
    const built = await skillgate("build");
    expect(built).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Line 5 of llms.txt links skills/a/SKILL.md"),
    });
    expect((await json(INDEX)).skills).toHaveLength(1);
  });

  it("puts a new skill into an empty section and into a file that ends without a newline", async () => {
    await put({ "skills/a/SKILL.md": recipe("a"), "skills/a/tool.js": tool("a"), "llms.txt": "# T\r\n\r\n## SKILLS" });
    expect((await skillgate("build")).code).toBe(0);
    expect(await read("llms.txt")).toMatch(/^# T\r\n\r\n## SKILLS\r\n\r\n- \[a\].* -->\r\n$/);
    await put({
      "skills/b/SKILL.md": recipe("b"),
      "skills/b/tool.js": tool("b"),
      "llms.txt": (await read("llms.txt")).trimEnd(),
    });
    expect((await skillgate("build")).code).toBe(0);
    expect(await read("llms.txt")).toMatch(/\r\n- \[a\].* -->\r\n- \[b\].* -->\r\n$/);
  });

  it("keeps fields and entries of index.json that others wrote, and drops what is gone, saying so", async () => {
    await site();
    await put({
      "notes.tar.gz": "archive",
      [INDEX]: JSON.stringify({
        $schema: "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        publisher: "me",
        skills: [
          { name: "gone", type: "skill-md", description: "x", url: "/skills/gone/SKILL.md", digest: "sha256:x" },
          {
            name: "elsewhere",
            type: "skill-md",
            description: "x",
            url: "https://other.example/SKILL.md",
            digest: "sha256:x",
          },
          { name: "packed", type: "archive", description: "x", url: "../../notes.tar.gz", digest: "sha256:x" },
          { homepage: "https://one.example", name: "one", signature: "abc" },
        ],
      }),
    });
    const built = await skillgate("build");
    expect(built).toMatchObject({ code: 0, stderr: expect.stringContaining("The `signature` of one in index.json") });
    const index = await json(INDEX);
    expect([index.publisher, index.skills.map(({ name }: { name: string }) => name)]).toEqual([
      "me",
      ["one", "elsewhere", "packed"],
    ]);
    expect(index.skills[0]).toMatchObject({
      homepage: "https://one.example",
      signature: "abc",
      url: "/skills/one/SKILL.md",
    });
    expect(await skillgate("build")).toMatchObject({ code: 0, stdout: "" });
  });

  it("resolves what is on a project site against its base", async () => {
    await site();
    expect((await skillgate("build", "--origin", "https://user.github.io/repo")).code).toBe(0);
    expect((await json(INDEX)).skills[0].url).toBe("/repo/skills/one/SKILL.md");
  });
});

describe("build takes nothing that a gateway would not", () => {
  it.each([
    ["a syntax error", { "skills/one/tool.js": "registerTool({" }, "skills/one/tool.js: load_failed"],
    ["a throw while loading", { "skills/one/tool.js": 'throw new Error("no")' }, "skills/one/tool.js: load_failed"],
    ["an endless loop", { "skills/one/tool.js": "for (;;);" }, "skills/one/tool.js: gas_exhausted"],
    ["another name", { "skills/one/tool.js": tool("two") }, "skills/one/tool.js: name_mismatch"],
    [
      "a schema that is none",
      { "skills/one/tool.js": tool("one", "inputSchema: { type: 7 }") },
      "skills/one/tool.js: bad_schema",
    ],
    [
      "a tool at an address, where nobody said that it is the site's",
      {
        "llms.txt":
          '## Skills\n- [one](): x <!-- skill: {"tool":"https://me.example/t.js","tool_sha256":"0000000000000000000000000000000000000000000000000000000000000000"} -->',
      },
      "outside_origin: The field `tool` leads outside the origin. Where the site is, --origin says.",
    ],
    [
      "a line that cannot be read",
      { "llms.txt": "## Skills\n- [one](/x): y <!-- skill: {bad} -->" },
      "llms.txt: bad_metadata: Line 2",
    ],
    [
      "a recipe that is not there",
      { "llms.txt": "## Skills\n- [x](/skills/x/SKILL.md): y" },
      "skills/x/SKILL.md: absent: Line 2",
    ],
    [
      "an index of another standard",
      { [INDEX]: '{"$schema":"https://other.example","skills":[]}' },
      "index.json: unknown_schema",
    ],
    ["an index that is not JSON", { [INDEX]: "{" }, "index.json: bad_json"],
    ["attestations that are no list", { [ATTESTATIONS]: "{}" }, "attestations.json: bad_shape"],
    ["notes that are not YAML", { "memory/a.md": "---\na: b: c\n---\n" }, "memory: bad_front_matter"],
  ])("%s", async (_what, files, failure) => {
    await site();
    await put(files as Readonly<Record<string, string>>);
    const before = await everything();
    const built = await skillgate("build");
    expect(built).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(failure) });
    expect(built.stderr).toContain("Nothing was written.");
    expect(await everything()).toEqual(before);
  });

  it("links that leave the site", async () => {
    await site();
    const outside = await mkdtemp(join(tmpdir(), "skillgate-outside-"));
    await writeFile(join(outside, "tool.js"), tool("one"));
    await rm(join(folder, "skills/one/tool.js"));
    await symlink(join(outside, "tool.js"), join(folder, "skills/one/tool.js"));
    expect(await skillgate("build")).toMatchObject({ code: 1, stderr: expect.stringContaining("outside_site") });
    await site().catch(() => {});
    await rm(join(folder, "skills/one/tool.js"));
    await writeFile(join(folder, "skills/one/tool.js"), tool("one"));
    await rm(join(folder, ".well-known"), { recursive: true });
    await symlink(outside, join(folder, ".well-known"));
    expect(await skillgate("build")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("link that leaves the site"),
    });
    expect(await readdir(outside), "no folder is made there either").toEqual(["tool.js"]);
    await rm(outside, { recursive: true });
  });

  it("an llms.txt that is no text, or a folder that is none", async () => {
    await site();
    await writeFile(join(folder, "llms.txt"), Uint8Array.of(0x23, 0xff));
    const built = await skillgate("build");
    expect(built).toMatchObject({ code: 1, stderr: expect.stringContaining("failure: llms.txt: bad_encoding") });

    expect(await skillgate("build", "absent")).toMatchObject({ code: 2, stderr: expect.stringContaining("bad_file") });
  });
});

describe("attestations", () => {
  const entry = (skill: string, tool_sha256: string, more = {}) => ({
    origin: "https://me.example",
    skill,
    tool_sha256,
    attester: "human:ada",
    signed_on: "2026-01-01",
    valid_until: "2026-12-31",
    signature: Buffer.alloc(64).toString("base64"),
    ...more,
  });

  it("are added, replaced with a word, and none is dropped; what is of other code is named", async () => {
    await site();
    const hash = sha256(tool("one"));
    const odd = { not: "readable" };
    const old = entry("one", "0".repeat(64));
    await put({ [ATTESTATIONS]: JSON.stringify([odd, old, entry("one", hash, { kept: "field" })]) });
    await put({
      "sent.json": JSON.stringify([
        entry("one", hash, { valid_until: "2027-06-30" }),
        entry("one", hash, { attester: "human:bo" }),
      ]),
    });
    const built = await skillgate("build", "--attestations", "sent.json");
    expect(built).toMatchObject({ code: 0, stdout: `wrote ${ATTESTATIONS}` });
    expect(built.stderr).toContain(
      "The attestation of one by human:ada until 2027-06-30 takes the place of the one until 2026-12-31.",
    );
    expect(built.stderr).toContain(`for code that is not served: ${"0".repeat(64)}`);
    expect(built.stderr).not.toContain("another origin");
    const written = await json(ATTESTATIONS);
    expect(written).toEqual([
      odd,
      old,
      entry("one", hash, { valid_until: "2027-06-30" }),
      entry("one", hash, { attester: "human:bo" }),
    ]);
    expect(await skillgate("build", "--attestations", "sent.json")).toMatchObject({ code: 0, stdout: "" });
    expect((await skillgate("build", "--check", "--origin", "https://you.example")).stderr).toContain("another origin");
  });

  it("that cannot be read are not added", async () => {
    await site();
    await put({ "sent.json": JSON.stringify([entry("one", "nonsense")]) });
    expect(await skillgate("build", "--attestations", "sent.json")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("bad_tool_sha256: An attestation to be added"),
    });
    await expect(stat(join(folder, ATTESTATIONS))).rejects.toThrow("ENOENT");
  });
});
