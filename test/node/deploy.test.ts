import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = new URL("../..", import.meta.url).pathname;
const LIMIT_BYTES = 1_000_000;

let folder = "";
let output = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-deploy-"));
  const args = [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "deploy", "--dry-run", "--outdir", folder];
  const env = { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" };
  const done = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, timeout: 110_000 });
  output = done.stdout;
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

it("deploys as wrangler.toml says, with every binding that the README names", () => {
  for (const binding of [
    "env.RATE_LIMITER",
    "env.ORIGIN_HUB",
    "env.METRICS",
    "env.AUDIT_HEAD",
    "env.LIVE_FEED",
    "env.NOTIFIER",
    "env.DB",
    "env.SITES",
  ])
    expect(output).toContain(binding);
  expect(output).toContain("--dry-run: exiting now.");
});

it("is a compressed Worker of less than 1 MB", async () => {
  const uploaded = (await readdir(folder)).filter((name) => /\.(js|wasm)$/.test(name));
  expect(uploaded.filter((name) => name.endsWith(".wasm"))).toHaveLength(2);
  const files = await Promise.all(uploaded.map((name) => readFile(join(folder, name))));
  expect(gzipSync(Buffer.concat(files)).length).toBeLessThan(LIMIT_BYTES);
});
