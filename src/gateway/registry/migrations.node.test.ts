import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("the committed migrations make exactly the tables of schema.ts", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skillgate-migrations-"));
  try {
    await cp("migrations", folder, { recursive: true });
    const before = await readdir(folder);
    const kit = join(dirname(createRequire(import.meta.url).resolve("drizzle-kit")), "bin.cjs");
    // drizzle-kit takes the folder as relative whatever it looks like, and ends with 0 whatever happens: its words decide.
    const out = relative(".", folder);
    const options = ["--dialect", "sqlite", "--schema", "./src/gateway/registry/schema.ts", "--out", out];
    const { stdout } = await promisify(execFile)(process.execPath, [kit, "generate", ...options]);
    expect(stdout).toContain("No schema changes");
    expect(await readdir(folder)).toEqual(before);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 60_000);
