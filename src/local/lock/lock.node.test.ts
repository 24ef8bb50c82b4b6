import { chmod, mkdtemp, readdir, readFile, readlink, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CatalogSkill } from "../../core/catalog.ts";
import { adder, Publisher, sha256Of } from "../../core/discovery/fixture/publisher.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { Runtime } from "../../core/runtime/runtime.ts";
import type { CommandError } from "../command-error.ts";
import { NOON, run } from "../fixture/running.ts";
import { createNodeSandboxLater } from "../node-sandbox.ts";
import { exclusively } from "./exclusively.ts";
import { PinFile, type PinFileOptions } from "./pin-file.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-lock-"));
  file = join(folder, "skills.lock");
});

afterEach(async () => {
  await chmod(folder, 0o755);
  await rm(folder, { recursive: true, force: true });
});

const sandbox = createNodeSandboxLater();

/** One run of the command: which tools it serves, and what it refuses. */
async function served(publisher: Publisher, options: Partial<PinFileOptions> = {}) {
  const told: string[] = [];
  const pins = await openPins({ ...options, onPinned: (message) => told.push(message) });
  const { origin, fetch } = publisher;
  const runtime = await Runtime.create({ origins: [{ origin, fetch }], sandbox, checkPins: pins.check });
  await runtime.start();
  const [status] = runtime.statuses;
  const tools = runtime.catalogs.flatMap(({ skills }) => skills.map(({ skill }) => skill.publicName as string));
  return { tools, refused: status?.state === "discovered" ? status.refused : [], told, runtime };
}

function openPins(options: Partial<PinFileOptions> = {}): Promise<PinFile> {
  const defaults = { file, cwd: "/", isUpdate: false, isFrozen: false, now: () => NOON, onPinned: () => {} };
  return PinFile.open({ ...defaults, ...options });
}

const content = () => readFile(file, "utf8");
const pinned = async () => {
  const { origins } = JSON.parse(await content()) as {
    origins: Record<string, { name: string; tool_sha256: string }[]>;
  };
  return Object.fromEntries(
    Object.values(origins)
      .flat()
      .map(({ name, tool_sha256 }) => [name, tool_sha256]),
  );
};

async function site(skills: Record<string, string | undefined>, recipe?: string): Promise<Publisher> {
  const publisher = new Publisher();
  for (const [name, source] of Object.entries(skills)) {
    await publisher.skill({
      name,
      ...(source === undefined ? {} : { source }),
      ...(recipe === undefined ? {} : { recipe }),
    });
  }
  return publisher;
}

const changed = `${adder("sum")}// changed\n`;

describe("--lock", () => {
  it("pins what verified at first use, and is quiet about it later", async () => {
    const first = await served(await site({ sum: undefined }));
    expect(first).toMatchObject({ tools: ["sum"], refused: [] });
    expect(first.told).toEqual([expect.stringMatching(/^pinned sum of https:\/\/publisher\.example at [0-9a-f]{64}$/)]);
    const before = await content();
    expect(await served(await site({ sum: undefined }))).toMatchObject({ tools: ["sum"], told: [] });
    expect(await content()).toBe(before);
    expect(await readdir(folder)).toEqual(["skills.lock"]);
  });

  it("refuses what changed with both hashes and the date, serves the rest, and keeps the pin", async () => {
    await served(await site({ sum: undefined, other: undefined }));
    const before = await content();
    const { tools, refused } = await served(await site({ sum: changed, other: undefined }));
    expect(tools).toEqual(["other"]);
    expect(refused).toMatchObject([{ name: "sum", code: "pin_mismatch" }]);
    for (const part of [await sha256Of(adder("sum")), await sha256Of(changed), "2026-03-01T12:00:00.000Z"]) {
      expect(refused[0]?.message).toContain(part);
    }
    expect(await content()).toBe(before);
  });

  it("refuses a recipe that changed or that came later; one that is gone is no change", async () => {
    await served(await site({ sum: undefined }, "# One"));
    expect((await served(await site({ sum: undefined }, "# Two"))).refused).toMatchObject([{ code: "pin_mismatch" }]);
    expect((await served(await site({ sum: undefined }))).tools).toEqual(["sum"]);
    expect((await served(await site({ sum: undefined }, "# One"))).tools).toEqual(["sum"]);
  });

  it("pins a recipe that could not be had at first use once it can be, and holds it from then on", async () => {
    const publisher = await site({ sum: undefined }, "# One");
    const recipe = "/skills/root/sum/SKILL.md";
    publisher.put(recipe, new Response("down", { status: 503 }));
    expect(await served(publisher)).toMatchObject({ tools: ["sum"], refused: [] });
    expect(await content()).not.toContain("recipe_sha256");
    publisher.put(recipe, "# One");
    expect((await served(publisher, { isFrozen: true })).refused).toMatchObject([
      { code: "not_pinned", message: expect.stringContaining("SKILL.md is not in the lock file") },
    ]);
    const late = await served(publisher);
    expect(late).toMatchObject({ tools: ["sum"], refused: [] });
    expect(late.told).toEqual([expect.stringMatching(/^pinned the recipe of sum of .* at [0-9a-f]{64}$/)]);
    expect((await served(await site({ sum: undefined }, "# Two"))).refused).toMatchObject([{ code: "pin_mismatch" }]);
    publisher.put(recipe, new Response("down", { status: 503 }));
    expect((await served(publisher)).tools, "and one that fails later is no change").toEqual(["sum"]);
  });

  it("[10.2-lock] pins the line that verified, where another of the same name did not", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "sum", metadata: { tool_sha256: "0".repeat(64) } });
    await publisher.skill({ name: "sum" });
    expect((await served(publisher)).tools).toEqual(["sum"]);
    expect(await pinned()).toEqual({ sum: await sha256Of(adder("sum")) });
    expect((await served(publisher)).tools).toEqual(["sum"]);
  });

  it("[10.1-I] lets no new line stand for a pinned skill", async () => {
    await served(await site({ sum: undefined }));
    const { tools, refused } = await served(await site({ sum2: changed, sum: changed }));
    expect(tools).toEqual([]);
    expect(refused).toMatchObject([{ name: "sum", code: "pin_mismatch" }]);
    expect(await pinned()).toEqual({ sum: await sha256Of(adder("sum")) });
  });

  it("keeps the pins of skills and origins that are gone", async () => {
    await served(await site({ sum: undefined, gone: undefined }));
    await served(new Publisher("https://other.example").line("").put("/llms.txt", "# None\n"));
    await served(await site({ sum: undefined, more: undefined }));
    expect(Object.keys(await pinned())).toEqual(["gone", "more", "sum"]);
  });

  it("takes changes on --lock-update, at the first look alone, and says so", async () => {
    await served(await site({ sum: undefined, other: undefined }));
    const publisher = await site({ sum: changed, other: undefined });
    const { tools, told, runtime } = await served(publisher, { isUpdate: true, now: () => NOON + 1_000 });
    expect(tools).toEqual(["sum", "other"]);
    expect(told).toEqual([expect.stringContaining(`instead of ${await sha256Of(adder("sum"))}`)]);
    expect(await pinned()).toMatchObject({ sum: await sha256Of(changed) });
    publisher.put("/llms.txt", (await site({ sum: `${changed}//\n` })).llmsTxt());
    publisher.put("/skills/root/sum/tool.js", `${changed}//\n`);
    await runtime.refresh();
    expect(runtime.statuses).toMatchObject([{ refused: [{ code: "pin_mismatch" }] }]);
  });

  it("follows a link instead of replacing it", async () => {
    await writeFile(join(folder, "real.lock"), '{"lockfile_version":1,"origins":{}}');
    await symlink("real.lock", file);
    await served(await site({ sum: undefined }));
    expect(await readFile(join(folder, "real.lock"), "utf8")).toContain('"sum"');
  });

  it("takes no link that leads nowhere", async () => {
    await symlink("gone.lock", file);
    await expect(openPins({})).rejects.toMatchObject({ code: "bad_file", exitCode: 2 });
    expect(await readlink(file)).toBe("gone.lock");
  });
});

describe("--frozen", () => {
  it("uses only what is pinned, and never writes", async () => {
    await served(await site({ sum: undefined }));
    const before = await content();
    const { tools, refused } = await served(await site({ sum: undefined, more: undefined }), { isFrozen: true });
    expect(tools).toEqual(["sum"]);
    expect(refused).toMatchObject([{ name: "more", code: "not_pinned" }]);
    expect(await content()).toBe(before);
  });

  it("needs a file", async () => {
    await expect(openPins({ isFrozen: true })).rejects.toMatchObject({ code: "bad_file", exitCode: 2 });
  });
});

describe("a file that is not one of pins", () => {
  it.each([
    ["is cut off", '{"lockfile_version":1,'],
    ["is of a later version", '{"lockfile_version":99,"origins":{}}'],
    ["has a key twice", '{"lockfile_version":1,"origins":{},"origins":{}}'],
    ["is not UTF-8", Buffer.from([0xff])],
  ])("ends the command with 2 and stays as it is: one that %s", async (_, bytes) => {
    await writeFile(file, bytes);
    const ran = await run(["https://publisher.example", "--lock", file]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("bad_file: The lock file") });
    expect(await readFile(file)).toEqual(Buffer.from(bytes));
  });

  it("may be a folder, a device, or beside none", async () => {
    for (const path of [folder, "/dev/null", join(folder, "nowhere", "skills.lock")]) {
      const error = (await openPins({ file: path }).catch((caught: unknown) => caught)) as CommandError;
      expect([error.code, error.exitCode]).toEqual(["bad_file", 2]);
      expect(error.message).toMatch(/is not a (?:file|folder)\.$/);
    }
  });

  it("refuses nothing that was pinned before and takes nothing new, when it is spoilt later", async () => {
    const publisher = await site({ sum: undefined });
    const { runtime } = await served(publisher);
    await writeFile(file, "spoilt");
    await publisher.skill({ name: "more" });
    await runtime.refresh();
    expect(runtime.catalogs[0]?.skills.map(({ skill }) => skill.name)).toEqual(["sum"]);
    expect(runtime.statuses).toMatchObject([{ refused: [{ name: "more", code: "pin_not_kept" }] }]);
    expect(await content()).toBe("spoilt");
  });
});

it("keeps new skills out where the file's folder is gone, and serves what was pinned", async () => {
  const publisher = await site({ sum: undefined });
  const { runtime } = await served(publisher);
  await rm(folder, { recursive: true });
  await publisher.skill({ name: "more" });
  await runtime.refresh();
  expect(runtime.catalogs[0]?.skills.map(({ skill }) => skill.name)).toEqual(["sum"]);
  expect(runtime.statuses).toMatchObject([
    { refused: [{ code: "pin_not_kept", message: expect.stringContaining("ENOENT") }] },
  ]);
  folder = await mkdtemp(join(tmpdir(), "skillgate-lock-"));
});

describe("processes at once", () => {
  const skill = (name: string): CatalogSkill =>
    ({
      skill: { scope: null, name, toolSha256: "a".repeat(64) as Sha256Hex, recipe: null },
    }) as unknown as CatalogSkill;
  const origin = (index: number) => `https://publisher${index}.example` as CanonicalOrigin;

  it("lose no pin of each other's", async () => {
    const files = await Promise.all(Array.from({ length: 8 }, () => openPins()));
    await Promise.all(files.map((pins, index) => pins.check(origin(index % 3), [skill(`skill${index}`)], [])));
    expect(Object.keys(await pinned())).toHaveLength(8);
    expect(await readdir(folder)).toEqual(["skills.lock"]);
  });

  it("agree on who was first", async () => {
    const other = { ...skill("sum"), skill: { ...skill("sum").skill, toolSha256: "b".repeat(64) as Sha256Hex } };
    const [one, two] = [await openPins(), await openPins()];
    const refusals = await Promise.all([one.check(origin(0), [skill("sum")], []), two.check(origin(0), [other], [])]);
    expect(refusals.flat()).toMatchObject([{ code: "pin_mismatch" }]);
  });

  it("take away a lock whose owner is gone or stuck, and no other", async () => {
    const id = "11111111-2222-4333-8444-555555555555";
    const lock = `${file}.skillgate-lock`;
    await writeFile(lock, `skillgate 2147483646 ${id}\n`);
    await (await openPins()).check(origin(0), [skill("sum")], []);
    for (const age of [-60, 60]) {
      await writeFile(lock, `skillgate ${process.pid} ${id}\n`);
      await utimes(lock, Date.now() / 1_000 - age, Date.now() / 1_000 - age);
      await (await openPins()).check(origin(1), [skill(`after${age}`)], []);
    }
    expect(Object.keys(await pinned())).toEqual(["sum", "after-60", "after60"]);
    await exclusively(file, async (isOurs) => {
      expect(await isOurs()).toBe(true);
      await writeFile(lock, `skillgate ${process.pid} ${id}\n`);
      expect(await isOurs()).toBe(false);
    });
    expect(await readFile(lock, "utf8")).toContain(id);
  });

  it("never take away a file that is not a lock of theirs, however old it is", async () => {
    for (const [name, text] of [
      [`${file}.lock`, "# yarn lockfile v1\n"],
      [`${file}.skillgate-lock`, '{"lockfile_version":1,"origins":{}}'],
      [`${file}.skillgate-lock`, ""],
    ] as const) {
      await writeFile(name, text);
      await utimes(name, 0, 0);
      const refusals = await (await openPins()).check(origin(0), [skill("sum")], []);
      expect(await readFile(name, "utf8")).toBe(text);
      if (name.endsWith("-lock")) {
        expect(refusals).toMatchObject([{ code: "pin_not_kept", message: expect.stringContaining("move it away") }]);
      } else {
        expect(refusals).toEqual([]);
        await rm(file);
      }
    }
  });
});
