import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { run } from "./fixture/running.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-memory-"));
  await mkdir(join(folder, "docs/guide"), { recursive: true });
  await writeFile(
    join(folder, "docs/guide/install.md"),
    "# Install\n\nRun the installer and wait until it says that it is done.\n",
  );
  await writeFile(
    join(folder, "docs/faq.markdown"),
    "# Questions\n\nWhy is there no snapshot in the folder that I have built?\n",
  );
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const skillgate = (...args: string[]) => run(args, { cwd: folder });

it("writes the snapshot, prints its line for llms.txt, and finds it current until a file changes", async () => {
  const built = await skillgate("memory", "build", "docs", "--out", "notes.json");
  expect(built).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^2 documents, 2 chunks of \d+ to \d+ characters/),
  });
  const line = /^<!-- skills-memory: (\{.*\}) -->$/.exec(built.stdout)?.[1] ?? "";
  const snapshot = await readFile(join(folder, "notes.json"), "utf8");
  expect(JSON.parse(snapshot).map(({ id }: { id: string }) => id)).toEqual(["faq#0", "guide/install#0"]);
  const { hash } = await import("node:crypto");
  expect(JSON.parse(line)).toEqual({
    snapshot: "/notes.json",
    snapshot_sha256: hash("sha256", snapshot),
    format: "minimemory-okf-v1",
  });

  expect((await skillgate("memory", "build", "docs", "--out", "notes.json", "--check")).code).toBe(0);
  await writeFile(
    join(folder, "docs/faq.markdown"),
    "# Questions\n\nWhat else is there to ask about all of these things?\n",
  );
  const stale = await skillgate("memory", "build", "docs", "--out", "notes.json", "--check");
  expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining("notes.json is not what docs gives") });
  expect(await readFile(join(folder, "notes.json"), "utf8")).toBe(snapshot);
});

it("passes over hidden folders, packages and links", async () => {
  for (const name of [".git", "node_modules"]) {
    await mkdir(join(folder, "docs", name));
    await writeFile(join(folder, "docs", name, "x.md"), "not to be searched, whatever else is");
  }
  await symlink(join(folder, "docs/faq.markdown"), join(folder, "docs/link.md"));
  expect((await skillgate("memory", "build", "docs")).stderr).toMatch(/^2 documents/);
});

it("says what is wrong with a folder or a file", async () => {
  expect(await skillgate("memory", "build", "absent")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("absent cannot be read"),
  });
  await mkdir(join(folder, "empty"));
  expect((await skillgate("memory", "build", "empty")).stderr).toContain("holds no Markdown file");
  await writeFile(join(folder, "docs/bad.md"), "---\na: b: c\n---\n");
  expect((await skillgate("memory", "build", "docs")).stderr).toContain("front matter of bad.md is not YAML");
  await writeFile(join(folder, "docs/bad.md"), Uint8Array.of(0xff));
  expect((await skillgate("memory", "build", "docs")).stderr).toContain("is not valid UTF-8");
  expect((await skillgate("memory")).code).toBe(2);
});
