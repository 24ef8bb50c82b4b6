import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

/** A project of its own around a copy of the bootstrap: one local package, no network. */
let project: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "skillgate-bootstrap-"));
  await mkdir(join(project, "src/dev"), { recursive: true });
  await mkdir(join(project, "local"), { recursive: true });
  await copyFile(join(import.meta.dirname, "bootstrap.mjs"), join(project, "src/dev/bootstrap.mjs"));
  await writeFile(join(project, "local/package.json"), JSON.stringify({ name: "local", version: "1.0.0" }));
  await writeVersion("1.0.0");
});

afterEach(() => rm(project, { recursive: true, force: true }));

/** Locks the local package in a version. */
async function writeVersion(version: string): Promise<void> {
  const root = { name: "project", version: "1.0.0", dependencies: { local: "file:local" } };
  await writeFile(join(project, "local/package.json"), JSON.stringify({ name: "local", version }));
  await writeFile(join(project, "package.json"), JSON.stringify({ ...root, type: "module" }));
  const packages = { "": root, local: { version }, "node_modules/local": { resolved: "local", link: true } };
  await writeFile(join(project, "package-lock.json"), JSON.stringify({ ...root, lockfileVersion: 3, packages }));
}

function bootstrap(script: string, ...args: string[]) {
  const child = spawn(process.execPath, [join(project, "src/dev/bootstrap.mjs"), "run", script, ...args], {
    env: { ...process.env, npm_execpath: "" },
  });
  let text = "";
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += chunk;
      for (const check of waiting) check();
    });
  }
  const prints = (part: string) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (text.includes(part)) resolve();
      };
      waiting.add(check);
      check();
    });
  const exit = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, exit, prints, output: () => text };
}

async function script(source: string): Promise<string> {
  const path = join(project, "script.ts");
  await writeFile(path, source);
  return path;
}

it("installs once, and again when the lock file names another version", async () => {
  const path = await script("console.log('ran')");
  const first = bootstrap(path);
  expect(await first.exit, first.output()).toBe(0);
  expect(first.output()).toContain("Installing packages");
  const second = bootstrap(path);
  expect(await second.exit).toBe(0);
  expect(second.output()).toBe("ran\n");
  await writeVersion("1.0.1");
  const third = bootstrap(path);
  expect(await third.exit, third.output()).toBe(0);
  expect(third.output()).toContain("Installing packages");
});

it("passes arguments and exit code on, with tools that neither report nor look for updates", async () => {
  const path = await script(
    "const { WRANGLER_SEND_METRICS: a, CLOUDFLARE_CF_FETCH_ENABLED: b } = process.env;\n" +
      "console.log(JSON.stringify([process.argv.slice(2), a, b])); process.exitCode = 7;",
  );
  const run = bootstrap(path, "--flag", "a b");
  expect(await run.exit).toBe(7);
  expect(JSON.parse(run.output().trim().split("\n").at(-1) ?? "")).toEqual([["--flag", "a b"], "false", "false"]);
});

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("hands %s to the script and waits for it", async (signal) => {
  const path = await script(
    `const alive = setInterval(() => {}, 1000);
     process.on(${JSON.stringify(signal)}, () => { console.log("stopping"); clearInterval(alive); });
     process.channel.unref();
     console.log("ready");`,
  );
  const run = bootstrap(path);
  await run.prints("ready");
  run.child.kill(signal);
  expect(await run.exit).toBe(0);
  expect(run.output()).toContain("stopping");
});

it("lets the script know when it is gone, even killed", async () => {
  const path = await script(
    `process.on("disconnect", () => { console.log("alone"); process.exit(0); });
     console.log("ready");`,
  );
  const run = bootstrap(path);
  await run.prints("ready");
  run.child.kill("SIGKILL");
  await run.prints("alone");
});

it("stops the script when whoever started it is gone, as after `kill` of npm", async () => {
  const path = await script(
    `const alive = setInterval(() => {}, 1000);
     process.on("SIGTERM", () => { console.log("stopping"); clearInterval(alive); });
     process.channel.unref();
     console.log("ready");`,
  );
  const command = '"$0" "$1" run "$2" & wait';
  const arguments_ = ["-c", command, process.execPath, join(project, "src/dev/bootstrap.mjs"), path];
  const shell = spawn("sh", arguments_, { env: { ...process.env, npm_execpath: "" } });
  let text = "";
  await new Promise<void>((resolve) => {
    shell.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.includes("ready")) shell.kill("SIGKILL");
    });
    // Closed once nobody holds the pipe any more: neither the bootstrap nor the script.
    shell.stdout.on("close", resolve);
  });
  expect(text).toContain("stopping");
});

it("explains itself when it is asked for something else", async () => {
  const child = spawn(process.execPath, [join(project, "src/dev/bootstrap.mjs"), "dance"]);
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(2);
});
