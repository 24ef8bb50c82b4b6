import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readCredentials, writePrivateJson } from "./kept-files.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-kept-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

it("makes a new admin token each time nothing is kept", async () => {
  const path = join(folder, "credentials.json");
  const [first, second] = [await readCredentials(path), await readCredentials(path)];
  expect(first.adminToken).toMatch(/^adm_[\w-]{32}$/);
  expect(second.adminToken).not.toBe(first.adminToken);
});

it("reads back what was written, in a file that only its owner can read, with nothing left beside it", async () => {
  const path = join(folder, "deeper", "credentials.json");
  await writePrivateJson(path, { adminToken: "a", clientToken: "c" });
  await writePrivateJson(path, { adminToken: "a", clientToken: "d" });
  expect(await readCredentials(path)).toEqual({ adminToken: "a", clientToken: "d" });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(folder, "deeper"))).toEqual(["credentials.json"]);
});

it("starts afresh from a broken file", async () => {
  const path = join(folder, "credentials.json");
  await writeFile(path, '{"adminToken":');
  expect((await readCredentials(path)).adminToken).toMatch(/^adm_/);
});
