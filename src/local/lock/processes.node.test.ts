import { spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { PinFile } from "./pin-file.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-processes-"));
  file = join(folder, "skills.lock");
});

afterEach(async () => {
  await chmod(folder, 0o755);
  await rm(folder, { recursive: true, force: true });
});

/** What a process does: pins its skills one after the other, and says of each whether it was refused. */
const PINNING = `
import { PinFile } from ${JSON.stringify(new URL("./pin-file.ts", import.meta.url).href)};
const [file, name, count] = process.argv.slice(1);
const pins = await PinFile.open({ file, cwd: "/", isUpdate: false, isFrozen: false, now: Date.now, onPinned() {} });
for (let index = 0; index < Number(count); index++) {
  const skill = { scope: null, name: name + index, toolSha256: "a".repeat(64), recipe: null };
  const refusals = await pins.check("https://publisher.example", [{ skill }], []);
  console.log(JSON.stringify([skill.name, ...refusals.map(({ code, message }) => code + " " + message)]));
}`;

function start(name: string, count: number, owner: { uid?: number } = {}) {
  const args = ["--input-type=module", "--no-warnings", "-e", PINNING, file, name, String(count)];
  const child = spawn(process.execPath, args, { ...owner, stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.once("close", resolve));
  return { child, exited, lines: createInterface({ input: child.stdout }) };
}

const names = async () => {
  const { origins } = JSON.parse(await readFile(file, "utf8")) as { origins: Record<string, { name: string }[]> };
  return Object.values(origins).flatMap((pins) => pins.map(({ name }) => name));
};

describe("processes of their own", () => {
  it("that pin at the same time lose no pin", async () => {
    const running = ["a", "b", "c"].map((name) => start(name, 20));
    await Promise.all(running.map(({ exited }) => exited));
    expect((await names()).length).toBe(60);
    expect(await readdir(folder)).toEqual(["skills.lock"]);
  });

  it("that are killed while they pin leave every pin that they told of, and nothing in the way", async () => {
    const { child, exited, lines } = start("killed", 1_000_000);
    const told: string[] = [];
    for await (const line of lines) {
      told.push(...(JSON.parse(line) as string[]));
      if (told.length === 5) child.kill("SIGKILL");
    }
    await exited;
    // The worst moments to be killed at, whichever it was this time.
    const id = "11111111-2222-4333-8444-555555555555";
    await writeFile(`${file}.skillgate-lock`, `skillgate ${child.pid} ${id}\n`);
    await writeFile(`${file}.skillgate-lock.${id}`, `skillgate ${child.pid} ${id}\n`);
    await writeFile(`${file}.${id}.partial`, '{"lockfile_version":1,');
    await writeFile(`${file}.notes.partial`, "somebody's own");
    const options = { file, cwd: "/", isUpdate: false, isFrozen: false, now: Date.now, onPinned: () => {} };
    const skill = { scope: null, name: "after", toolSha256: "b".repeat(64), recipe: null };
    const pins = await PinFile.open(options);
    const admitted = [{ skill }] as unknown as Parameters<PinFile["check"]>[1];
    expect(await pins.check("https://publisher.example" as CanonicalOrigin, admitted, [])).toEqual([]);
    expect(await names()).toEqual(expect.arrayContaining([...told, "after"]));
    expect((await readdir(folder)).sort()).toEqual(["skills.lock", "skills.lock.notes.partial"]);
  });

  it("that may not write to the folder keep new skills out, say why, and serve what is pinned", async () => {
    await start("sum", 1).exited;
    const before = await readFile(file);
    await chmod(folder, 0o555);
    // Whoever is root may write everywhere.
    const { exited, lines } = start("sum", 2, process.getuid?.() === 0 ? { uid: 65_534 } : {});
    const told: unknown[] = [];
    for await (const line of lines) told.push(JSON.parse(line));
    await exited;
    expect(told).toEqual([["sum0"], ["sum1", expect.stringMatching(/^pin_not_kept .*EACCES/)]]);
    expect(await readFile(file)).toEqual(before);
  });
});
