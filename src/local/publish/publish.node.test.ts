import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildZip } from "../../../test/archives/build.ts";
import { archiveOf, utf8 } from "../../core/agent-skills/fixture/publications.ts";
import { run } from "../fixture/running.ts";

const RECIPE = "---\nname: ask_docs\ndescription: Asks.\n---\n";
const TOOL = "registerTool({ name: 'ask_docs', handler: () => 1 });";
const LLMS = `# Handbook

> Everything about it.

<!-- skills-memory: {"snapshot":"/memory.json","snapshot_sha256":"x","format":"minimemory-okf-v1"} -->

## Skills

- [ask_docs](skills/ask/SKILL.md): Asks. <!-- skill: {"version":"1.0.0","tool":"/skills/ask/tool.js","tool_sha256":"stale","scope":"docs"} -->
- [deploy](skills/deploy/SKILL.md): Deploys.
- [about](about.html): A page.
`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-publish-"));
  await write("llms.txt", LLMS);
  await write("skills/ask/SKILL.md", RECIPE);
  await write("skills/ask/tool.js", TOOL);
  await write("skills/deploy/SKILL.md", "# Deploy");
  await write("skills/deploy/references/a.md", "a");
  await write("memory.json", "[]");
  await write("data/facts.json", "{}");
  await write("about.html", "<p>");
  await write(".env", "SECRET=1");
  await write(".well-known/agent-skills/index.json", "{}");
  await write(".well-known/agent-skills/attestations.json", "[]");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
}

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");

async function publication() {
  const { stdout, stderr } = await run(["publish", folder, "--dry-run"]);
  return { read: JSON.parse(stdout), stderr };
}

it("reads skills, scripts, memories and data of a folder, and hashes what is there", async () => {
  const { read, stderr } = await publication();
  expect(read).toEqual({
    title: "Handbook",
    description: "Everything about it.",
    skills: [
      {
        ...{
          name: "ask-docs",
          type: "skill-md",
          description: "Asks.",
          url: "/skills/ask/SKILL.md",
          sha256: sha256(RECIPE),
        },
        ...{ version: "1.0.0", scope: "docs" },
        tool: { url: "/skills/ask/tool.js", sha256: sha256(TOOL), name: "ask_docs" },
      },
      {
        name: "deploy",
        type: "skill-md",
        description: "Deploys.",
        url: "/skills/deploy/SKILL.md",
        sha256: sha256("# Deploy"),
      },
    ],
    listings: [],
    memories: [{ url: "/memory.json", sha256: sha256("[]") }],
    files: [
      { url: "/.well-known/agent-skills/attestations.json", sha256: sha256("[]") },
      { url: "/data/facts.json", sha256: sha256("{}") },
      { url: "/skills/deploy/references/a.md", sha256: sha256("a") },
    ],
  });
  expect(stderr).toContain("The line of about links no SKILL.md");
});

it("packs a skill's folder, hides a skill and adds listings where its settings say so", async () => {
  const skills = { deploy: { pack: true, visibility: "authenticated" } };
  const listings = [{ name: "partner", skills: [{ name: "x", description: "X.", file: "skills/ask/SKILL.md" }] }];
  await write("skillgate-site.json", JSON.stringify({ skills, listings }));
  const { read } = await publication();
  expect(read.skills[1]).toMatchObject({ type: "archive", url: "/skills/deploy.tar.gz", visibility: "authenticated" });
  expect(read.listings).toMatchObject([
    { name: "partner", skills: [{ name: "x", type: "skill-md", sha256: sha256(RECIPE) }] },
  ]);
  expect(read.files.map(({ url }: { url: string }) => url)).not.toContain("/skills/deploy/references/a.md");
});

it("refuses settings of a skill that is not published, which a misspelt name would leave public", async () => {
  for (const name of ["deplyo", "ask-docs", "about"]) {
    await write("skillgate-site.json", JSON.stringify({ skills: { [name]: { visibility: "authenticated" } } }));
    const { code, stderr } = await run(["publish", folder, "--dry-run"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`In skillgate-site.json, skills.${name} is about no skill`),
    });
  }
});

it("hides the files beside a hidden skill, however deep, and no others", async () => {
  await write("skillgate-site.json", JSON.stringify({ skills: { deploy: { visibility: "authenticated" } } }));
  await write("skills/deploy/notes.txt", "n");
  await write("skills/ask/references/b.md", "b");
  const visibilities = async () => {
    const { read } = await publication();
    return Object.fromEntries(
      read.files.map((file: Record<string, string>) => [file.url, file.visibility ?? "public"]),
    );
  };
  expect(await visibilities()).toEqual({
    "/.well-known/agent-skills/attestations.json": "public",
    "/data/facts.json": "public",
    "/skills/ask/references/b.md": "public",
    "/skills/deploy/notes.txt": "authenticated",
    "/skills/deploy/references/a.md": "authenticated",
  });
  await write("SKILL.md", "# All");
  await write("llms.txt", `${LLMS}- [all](SKILL.md): All.\n`);
  await write("skillgate-site.json", JSON.stringify({ skills: { all: { visibility: "authenticated" } } }));
  expect(await visibilities()).toMatchObject({
    "/.well-known/agent-skills/attestations.json": "public",
    "/data/facts.json": "authenticated",
    "/skills/ask/references/b.md": "public",
    "/skills/deploy/references/a.md": "public",
  });
  // Also where a listing hides it, whoever is shown the skill elsewhere.
  const skill = { name: "x", description: "X.", file: "skills/deploy/SKILL.md", visibility: "authenticated" };
  await write("skillgate-site.json", JSON.stringify({ listings: [{ name: "team", skills: [skill] }] }));
  expect(await visibilities()).toMatchObject({ "/skills/deploy/references/a.md": "authenticated" });
  expect((await publication()).stderr).toContain(
    "as the skill in whose folder they lie: skills/deploy/notes.txt, skills/deploy/references/a.md.",
  );
});

it("names the files that it leaves out for their type", async () => {
  await write("skills/deploy/scripts/run.py", "1");
  expect((await publication()).stderr).toMatch(
    /Not published.*about\.html, skills\/deploy\/scripts\/run\.py\..*"pack"/,
  );
  await write("skillgate-site.json", JSON.stringify({ skills: { deploy: { pack: true } } }));
  expect((await publication()).stderr).not.toContain("run.py");
});

it("writes an archive anew in its canonical form where its settings say so", async () => {
  const zip = buildZip([{ name: "SKILL.md", body: "# Deploy" }, { name: "d/" }, { name: "d/a.md", body: "a" }]);
  await write("llms.txt", "# X\n\n## Skills\n\n- [deploy](skills/deploy.zip): Deploys.\n");
  await write("skills/deploy.zip", zip);
  await write("skillgate-site.json", JSON.stringify({ skills: { deploy: { pack: true } } }));
  const { read } = await publication();
  const files = { "SKILL.md": utf8("# Deploy"), "d/a.md": utf8("a") };
  expect(read.skills).toMatchObject([
    { type: "archive", url: "/skills/deploy.tar.gz", sha256: sha256(await archiveOf(files)) },
  ]);
  expect(JSON.stringify(read.files)).not.toContain("deploy.zip");
  const limits = { max_entries: 1 };
  await write("skillgate-site.json", JSON.stringify({ skills: { deploy: { pack: true, limits } } }));
  const { code, stderr } = await run(["publish", folder, "--dry-run"]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("max_entries") });
});

it("leaves its name to a line without a scope, wherever it stands", async () => {
  await write("llms.txt", `${LLMS}- [ask_docs](skills/deploy/SKILL.md): Asks all.\n`);
  const { read } = await publication();
  expect(read.skills.map(({ name }: { name: string }) => name)).toEqual(["docs-ask-docs", "deploy", "ask-docs"]);
});

it("publishes nothing from outside of the folder", async () => {
  await symlink("/etc/hostname", join(folder, "data/host.txt"));
  await write("llms.txt", "# X\n\n## Skills\n\n- [x](../x/SKILL.md): X.\n");
  const { code, stderr } = await run(["publish", folder, "--dry-run"]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("bad_file") });
  await write("llms.txt", LLMS);
  expect(JSON.stringify((await publication()).read.files)).not.toContain("host.txt");
});

it("says what is missing", async () => {
  expect((await run(["publish", folder])).stderr).toContain("--gateway and --site");
  expect((await run(["publish", folder, "--gateway", "https://g.example", "--site", "x"])).stderr).toContain(
    "no_token",
  );
  await write("skillgate-site.json", '{"skills":{"deploy":{"hook":"x"}}}');
  const wrong = await run(["publish", folder, "--dry-run"]);
  expect(wrong.stderr).toContain("bad_file: In skillgate-site.json, skills.deploy.hook is not known here.");
  await write(
    "skillgate-site.json",
    '{"skills":{"deploy":{"visibility":"x"}},"listings":[{"name":"a","skills":["b"]}]}',
  );
  expect((await run(["publish", folder, "--dry-run"])).stderr).toContain(
    "skills.deploy.visibility must be public or authenticated; listings.0.skills.0 must be a JSON object.",
  );
  await rm(join(folder, "llms.txt"));
  await rm(join(folder, "skillgate-site.json"));
  expect((await run(["publish", folder, "--dry-run"])).stderr).toContain("llms.txt is not there");
});
