import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { generateSite, publisherFolders, staleFiles } from "./generate.ts";

const TOOL = 'registerTool({ name: "hello", handler() {} });\r\n';
const RECIPE = '---\nname: hello\ndescription: Says hello.\nmetadata:\n  version: "2.1.0"\n---\n\n# Hello\n';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-site-"));
  await mkdir(join(folder, "public/tools"), { recursive: true });
  await mkdir(join(folder, "public/skills/hello"), { recursive: true });
  await mkdir(join(folder, "public/.well-known/agent-skills"), { recursive: true });
  await writeFile(join(folder, "public/tools/hello.js"), TOOL);
  await writeFile(join(folder, "public/skills/hello/SKILL.md"), RECIPE);
  await writeSite([{ name: "hello" }]);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const writeSite = (skills: object[]) =>
  writeFile(join(folder, "site.json"), JSON.stringify({ title: "T", summary: "S", skills }));
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("generateSite", () => {
  it("hashes the exact bytes of tool and recipe into llms.txt and index.json", async () => {
    const [llmsTxt, index] = await generateSite(folder);
    const meta = `{"version":"2.1.0","sha256":"${sha256(RECIPE)}","tool":"/tools/hello.js","tool_sha256":"${sha256(TOOL)}"}`;
    expect(llmsTxt?.content).toBe(
      `# T\n\n> S\n\n## Skills\n\n- [hello](/skills/hello/SKILL.md): Says hello. <!-- skill: ${meta} -->\n`,
    );
    expect(JSON.parse(index?.content ?? "")).toMatchObject({
      $schema: expect.stringContaining("0.2.0"),
      skills: [
        {
          name: "hello",
          type: "skill-md",
          url: "/skills/hello/SKILL.md",
          digest: `sha256:${sha256(RECIPE)}`,
          tool_sha256: sha256(TOOL),
        },
      ],
    });
  });

  it("declares a wrong hash where site.json asks for one", async () => {
    await writeSite([{ name: "hello", toolSha256: "0".repeat(64) }]);
    expect((await generateSite(folder))[0]?.content).toContain(`"tool_sha256":"${"0".repeat(64)}"`);
  });

  it("refuses a tool that site.json does not list", async () => {
    await writeFile(join(folder, "public/tools/forgotten.js"), "");
    await expect(generateSite(folder)).rejects.toThrow('does not list "forgotten"');
  });

  it("refuses a recipe whose name is not its folder's", async () => {
    await writeFile(join(folder, "public/skills/hello/SKILL.md"), RECIPE.replace("name: hello", "name: hullo"));
    await expect(generateSite(folder)).rejects.toThrow('has the name "hullo"');
  });

  it.each([
    ["no frontmatter", "# Hello\n", "has the name null"],
    ["frontmatter that is not YAML", RECIPE.replace("Says hello.", "Says: hello."), "has the name null"],
    ["no description", RECIPE.replace("description: Says hello.\n", ""), 'lacks "description"'],
    ["no version", RECIPE.replace('  version: "2.1.0"\n', ""), 'lacks "metadata.version"'],
  ])("refuses a recipe with %s", async (_what, recipe, message) => {
    await writeFile(join(folder, "public/skills/hello/SKILL.md"), recipe);
    await expect(generateSite(folder)).rejects.toThrow(message);
  });
});

describe("a site with documents", () => {
  const document = join(import.meta.dirname, "../../..", "test/README.md");
  const withDocuments = (documents: string[]) =>
    writeFile(
      join(folder, "site.json"),
      JSON.stringify({ title: "T", summary: "S", skills: [{ name: "hello" }], documents }),
    );

  it("publishes copies, a list and a snapshot, whose hash stands before the skills in llms.txt", async () => {
    await withDocuments(["test/README.md"]);
    const files = new Map(
      (await generateSite(folder)).map(({ path, content }) => [path.slice(folder.length), content]),
    );
    expect(files.get("/public/docs/test/README.md")).toBe(await readFile(document, "utf8"));
    expect(JSON.parse(files.get("/public/docs/index.json") ?? "").documents).toMatchObject([
      { id: "test/README", path: "/docs/test/README.md" },
    ]);
    const snapshot = files.get("/public/memory.json") ?? "";
    expect(JSON.parse(snapshot)[0].id).toBe("test/README#0");
    const line = `<!-- skills-memory: {"snapshot":"/memory.json","snapshot_sha256":"${sha256(snapshot)}","format":"minimemory-okf-v1"} -->`;
    expect(files.get("/public/llms.txt")).toContain(`${line}\n\n## Skills`);
  });

  it("refuses a copy that is not listed any more", async () => {
    await withDocuments(["test/README.md"]);
    await mkdir(join(folder, "public/docs"), { recursive: true });
    await writeFile(join(folder, "public/docs/old.md"), "old");
    await expect(generateSite(folder)).rejects.toThrow("old.md is not listed in site.json");
  });
});

describe("staleFiles", () => {
  it("finds a missing and a changed file, and nothing once both are written", async () => {
    const files = await generateSite(folder);
    expect(await staleFiles(files)).toHaveLength(2);
    for (const file of files) await writeFile(file.path, file.content);
    expect(await staleFiles(files)).toEqual([]);
    await writeFile(join(folder, "public/tools/hello.js"), `${TOOL} `);
    expect(await staleFiles(await generateSite(folder))).toHaveLength(2);
  });

  it("finds none in the reference publishers", async () => {
    const folders = await publisherFolders();
    expect(folders.map((path) => path.split("/").at(-1))).toEqual(["bookstore", "demo", "docs", "hostile"]);
    for (const path of folders) expect(await staleFiles(await generateSite(path))).toEqual([]);
  });
});

describe("the hostile publisher", () => {
  it("says for every skill what must come of it, and its README repeats it", async () => {
    const path = (await publisherFolders()).find((each) => each.endsWith("hostile")) ?? "";
    const site = JSON.parse(await readFile(join(path, "site.json"), "utf8")) as {
      skills: { name: string; expect: { call?: string; rejected?: string } }[];
    };
    const readme = await readFile(join(path, "README.md"), "utf8");
    for (const { name, expect: expected } of site.skills) {
      const row = readme.split("\n").find((line) => line.startsWith(`| \`${name}\``)) ?? "";
      expect(row, name).toContain(expected.call ?? expected.rejected ?? "nothing expected");
    }
  });
});
