import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { findFreeRun } from "../../src/dev/stack/ports.ts";
import { descendants, isRunning } from "../../src/dev/stack/processes.ts";

interface Connection {
  url: string;
  adminToken: string;
  clientToken: string;
  origins: { demo: string; bookstore: string; hostile: string; docs: string };
}

interface Run {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
}

const exec = promisify(execFile);
const STEP_MS = 100;
const STEPS = 600;

let dataDir: string;
let port: number;
const runs: Run[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "skillgate-start-"));
  port = await findFreeRun(5);
});

afterEach(async () => {
  for (const run of runs.splice(0)) {
    run.process.kill("SIGTERM");
    await run.exit;
  }
});

afterAll(() => rm(dataDir, { recursive: true, force: true }));

/** Runs what `npm start` runs. */
function npmStart(...args: string[]): Run {
  const child = spawn(process.execPath, ["src/dev/bootstrap.mjs", "start", ...args], { cwd: ROOT });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  child.stderr.on("data", (chunk) => {
    text += chunk;
  });
  const exit = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)));
  const run = { process: child, output: () => text, exit };
  runs.push(run);
  return run;
}

async function started(...args: string[]): Promise<Run> {
  const run = npmStart("--port", String(port), "--data", dataDir, ...args);
  let ended = false;
  void run.exit.then(() => {
    ended = true;
  });
  await until(() => ended || run.output().includes("Ctrl-C stops everything"));
  if (ended) throw new Error(`The start ended early:\n${run.output()}`);
  return run;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let step = 0; step < STEPS; step++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  throw new Error("What was waited for did not happen.");
}

const connection = async () => JSON.parse(await readFile(join(dataDir, "skillgate.json"), "utf8")) as Connection;

async function stock(origin: string, book: string): Promise<number> {
  return ((await (await fetch(`${origin}/api/books/${book}`)).json()) as { stock: number }).stock;
}

/** Ends a run and checks that nothing of it is left. */
async function ends(run: Run, signal: NodeJS.Signals): Promise<number | null> {
  const family = await descendants(run.process.pid ?? 0);
  expect(family.filter((process) => process.command === "workerd").length).toBeGreaterThan(0);
  run.process.kill(signal);
  const code = await run.exit;
  await until(async () => (await Promise.all(family.map(({ pid }) => isRunning(pid)))).every((running) => !running));
  return code;
}

// A start takes seconds, more on a busy machine: two of them show everything. SIGTERM and SIGHUP are tried on the parts that hear them.
describe("npm start", { timeout: 180_000 }, () => {
  it("prints what works when pasted, reports a busy port, ends with 0 on Ctrl-C, keeps its data and tokens for the next start, and takes its children along even when it is killed", async () => {
    const run = await started();
    const output = run.output();
    const command = /curl -sS [\s\S]*?-d '.*'/.exec(output)?.[0] ?? "";
    const { stdout } = await exec("bash", ["-c", command]);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { structuredContent: { result: 42 } } });

    const file = await connection();
    expect(file).toEqual({
      url: `http://127.0.0.1:${port}`,
      adminToken: expect.any(String),
      clientToken: expect.stringMatching(/^sg_/),
      origins: {
        demo: `http://127.0.0.1:${port + 1}`,
        bookstore: `http://127.0.0.1:${port + 2}`,
        hostile: `http://127.0.0.1:${port + 3}`,
        docs: `http://127.0.0.1:${port + 4}`,
      },
    });
    expect((await stat(join(dataDir, "skillgate.json"))).mode & 0o777).toBe(0o600);
    expect(output).toContain(file.clientToken);
    expect(output).toContain(file.adminToken);

    expect(output).toContain(`claude mcp add --transport http demo http://127.0.0.1:${port}/mcp/127.0.0.1:${port + 1}`);
    const [cursor, vsCode] = [...output.matchAll(/^ {4}\{\n[\s\S]*?^ {4}\}$/gm)].map(([block]) => JSON.parse(block));
    expect(Object.keys(cursor.mcpServers)).toEqual(["demo", "bookstore", "docs"]);
    expect(vsCode.servers.demo).toMatchObject({
      type: "http",
      headers: { Authorization: `Bearer ${file.clientToken}` },
    });

    const second = npmStart("--port", String(port), "--data", dataDir);
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(`Port ${port} is already in use`);
    expect(second.output()).toContain("--port");

    const left = await stock(file.origins.bookstore, "b001");
    await fetch(`${file.origins.bookstore}/api/orders`, { method: "POST", body: '{"book_id":"b001","quantity":1}' });

    expect(await ends(run, "SIGINT")).toBe(0);
    // One line for the call above, and no token in it.
    expect(run.output()).toMatch(/200 tools\/call sum_numbers ok/);
    expect(run.output().slice(output.length)).not.toContain(file.clientToken);

    const next = await started("--quiet");
    expect(await connection()).toEqual(file);
    expect(await stock(file.origins.bookstore, "b001")).toBe(left - 1);
    expect(await ends(next, "SIGKILL")).toBeNull();
  });

  it.each(["Building", "Starting"])(
    "goes no further in its start after Ctrl-C while %s, and ends with 0",
    async (step) => {
      const run = npmStart("--port", String(port), "--data", dataDir);
      await until(() => run.output().includes(`${step} the gateway`));
      run.process.kill("SIGINT");
      expect(await run.exit).toBe(0);
      expect(run.output()).not.toContain("Ctrl-C stops everything");
    },
  );

  it("refuses a wrong option with its usage", async () => {
    const run = npmStart("--port", "zero");
    expect(await run.exit).toBe(2);
    expect(run.output()).toContain("--port must be a number");
    expect(run.output()).toContain("Usage: npm start");
  });

  it("explains itself with --help", async () => {
    const run = npmStart("--help");
    expect(await run.exit).toBe(0);
    expect(run.output()).toContain("--port N");
  });
});
