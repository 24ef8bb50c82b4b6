import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { script } from "../../core/discovery/fixture/publisher.ts";
import { run } from "../fixture/running.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { openSite } from "../serve/site-files.ts";
import { buildSite } from "./build.ts";
import { LlmsTxtLines } from "./llms-txt-lines.ts";
import { writeSite } from "./write-site.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-careful-"));
  await put({
    "llms.txt": "# S\n\n## Skills\n\n- [one](skills/one/SKILL.md): Does one.\n",
    "skills/one/SKILL.md": "---\nname: one\ndescription: Does one.\n---\n",
    "skills/one/tool.js": script("one", 'description: "x"'),
  });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const INDEX = ".well-known/agent-skills/index.json";
const read = (path: string) => readFile(join(folder, path), "utf8");
const build = (...args: string[]) => run(["build", ...args], { cwd: folder });

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** As `dev` builds while somebody is at work on the site. */
async function buildAtWork() {
  const site = await openSite(folder, { cwd: "/" });
  const options = { site, origin: null, attestations: [], sandbox: await createNodeSandbox(), now: () => 0 };
  return { site, build: await buildSite({ ...options, isAtWork: true, makesLlmsTxt: false }) };
}

describe("while somebody is at work on a site", () => {
  it("keeps what its author wrote into index.json, though the files that it is about are not there for a moment", async () => {
    expect((await build()).code).toBe(0);
    const { skills, ...others } = JSON.parse(await read(INDEX));
    const author = { homepage: "https://one.example", signature: "abc" };
    await put({ [INDEX]: JSON.stringify({ ...others, skills: [{ ...skills[0], ...author }] }) });
    for (const gone of ["skills/one/SKILL.md", "skills/one/tool.js", "skills"]) {
      const before = await mkdtemp(join(tmpdir(), "skillgate-aside-"));
      await cp(join(folder, "skills"), before, { recursive: true });
      await rm(join(folder, gone), { recursive: true });
      const atWork = await buildAtWork();
      await writeSite(atWork.site, atWork.build.changed);
      expect(JSON.parse(await read(INDEX)).skills, gone).toMatchObject([{ name: "one", ...author }]);
      await cp(before, join(folder, "skills"), { recursive: true });
      await rm(before, { recursive: true });
    }
    const { build: whole } = await buildAtWork();
    expect(whole).toMatchObject({ failures: [] });
    expect(JSON.parse(await read(INDEX)).skills).toMatchObject([{ name: "one", ...author }]);
  });

  it.each(["", undefined])("makes no llms.txt in the place of one that is %j for a moment", async (text) => {
    expect((await build()).code).toBe(0);
    const index = await read(INDEX);
    if (text === undefined) await rm(join(folder, "llms.txt"));
    else await put({ "llms.txt": text });
    const { build: atWork } = await buildAtWork();
    expect(atWork).toMatchObject({ changed: [], failures: [{ file: "llms.txt", code: "absent" }] });
    expect(await read(INDEX)).toBe(index);
  });

  it("writes over nothing that was written since it was read", async () => {
    const atWork = await buildAtWork();
    await put({ "llms.txt": "# The author's own\n" });
    await expect(writeSite(atWork.site, atWork.build.changed)).rejects.toMatchObject({
      code: "bad_file",
      message: expect.stringContaining("llms.txt changed while the site was built"),
    });
    expect(await read("llms.txt")).toBe("# The author's own\n");
    await expect(stat(join(folder, INDEX))).rejects.toThrow("ENOENT");
  });
});

describe("files that are links", () => {
  it("are written through, and modes stay", async () => {
    await put({ "content/llms.txt": await read("llms.txt") });
    await rm(join(folder, "llms.txt"));
    await symlink("content/llms.txt", join(folder, "llms.txt"));
    await chmod(join(folder, "content/llms.txt"), 0o640);
    expect((await build()).code).toBe(0);
    expect((await lstat(join(folder, "llms.txt"))).isSymbolicLink()).toBe(true);
    expect(await read("content/llms.txt")).toContain("tool_sha256");
    expect((await stat(join(folder, "content/llms.txt"))).mode & 0o777).toBe(0o640);
  });

  it.each([
    ["outside", "llms.txt", "outside_site"],
    ["nowhere", INDEX, "leads nowhere"],
  ])("that lead %s are refused: %s", async (where, path, why) => {
    const outside = await mkdtemp(join(tmpdir(), "skillgate-outside-"));
    const target = join(outside, "file");
    if (where === "outside") await writeFile(target, "secret");
    await rm(join(folder, path), { force: true });
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(target, join(folder, path));
    const built = await build();
    expect(built.code).not.toBe(0);
    expect(built.stderr).toContain(why);
    expect(await readFile(target, "utf8").catch(() => null)).toBe(where === "outside" ? "secret" : null);
    await rm(outside, { recursive: true });
  });
});

it("names entries of index.json that are about one skill, and loses nothing of what only one of them says", async () => {
  expect((await build()).code).toBe(0);
  const { skills, ...others } = JSON.parse(await read(INDEX));
  const entries = [{ ...skills[0], signature: "a" }, { name: "x", url: "https://x.example/SKILL.md" }, skills[0]];
  entries[2] = { ...skills[0], homepage: "https://one.example", signature: "b" };
  await put({ [INDEX]: JSON.stringify({ ...others, skills: entries }) });
  const checked = await build("--check");
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining("one: its entries 1 and 3 become one") });
  await build();
  expect(JSON.parse(await read(INDEX)).skills).toMatchObject([
    { name: "one", signature: "a", homepage: "https://one.example" },
    { name: "x" },
  ]);
});

describe("new lines of llms.txt", () => {
  const NEW = '- [new](new/SKILL.md): New. <!-- skill: {"tool":"t.js","tool_sha256":"0"} -->';
  const added = (text: string) => {
    const lines = new LlmsTxtLines(text);
    lines.appendSkills([NEW], []);
    return lines.toString();
  };

  it.each([
    ["a continued paragraph", "- [a](a): A,\n  and more.\nLazily.\n", "\n## More\n"],
    ["nested items", "- [a](a): A.\n  - detail\n  - detail\n", "- - -\n"],
    ["a second paragraph", "- [a](a): A.\n\n  More of it.\n\n\tAnd more.\n", "\nOther text.\n"],
    ["code of the item", "- [a](a): A.\n  ```js\n1;\n\n2;\n  ```\n", "<!-- note -->\n"],
    ["code with a line like an item's", "- [a](a): A.\n\n````\n```\n- [b](b): B.\n````\n", "\nText.\n"],
    ["a comment with an item", "- [a](a): A.\n<!--\n- [b](b): B.\n-->\n", "\nText.\n"],
  ])("stand behind %s", (_what, before, after) => {
    const head = "# T\n\n## Skills\n\n";
    expect(added(head + before + after)).toBe(`${head}${before}${NEW}\n${after}`);
  });

  it.each([
    ["of code", "~~~\n## Skills\n\n- [b](b): B.\n~~~\n"],
    ["of a comment", "<!--\n## Skills\n- [b](b): B.\n-->\n"],
  ])("stand in a section of their own where the only one is that %s", (_what, block) => {
    expect(added(`# T\n\n${block}\n## More\n`)).toBe(`# T\n\n${block}\n## More\n\n## Skills\n\n${NEW}\n`);
  });

  it("stand before what was opened and never closed", () => {
    expect(added("## Skills\n\n- [a](a): A.\n\n```\n- [b](b): B.\n")).toBe(
      `## Skills\n\n- [a](a): A.\n\n${NEW}\n\`\`\`\n- [b](b): B.\n`,
    );
  });
});
