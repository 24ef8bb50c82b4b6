import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../src/dev/stack/paths.ts";

export type Revision = "2025-11-25" | "2026-07-28";

export interface ConformanceOptions {
  /** An MCP endpoint on a loopback name. Two scenarios drop its query: give the path form of a gateway's endpoint. */
  readonly url: string;
  /** Sent as bearer with everything the suite sends. */
  readonly token?: string;
  readonly revision: Revision;
  /** A YAML file of the suite's baseline format; a scenario in it that passes fails the run too. */
  readonly expectedFailures: string;
  /** Runs these alone, each under the revision and without the baseline, instead of all that the revision requires. */
  readonly scenarios?: readonly string[];
}

export interface ConformanceRun {
  /** 0 when nothing failed that was not expected to. */
  readonly exitCode: number;
  /** Scenarios with a check that succeeded and none that failed, by name; one that skips everything is in neither list. */
  readonly passed: readonly string[];
  /** Scenarios with a failed check, expected or not. */
  readonly failed: readonly string[];
  /** What the suite printed. Where `exitCode` is not 0, the folder with every check's details is kept and named at its end. */
  readonly output: string;
}

const CLI = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const PRELOAD = join(import.meta.dirname, "bearer-preload.mjs");
const TIMEOUT_MS = 120_000;

/** The baseline of what no stateless server of tools and resources can pass. */
export function expectedFailures(revision: Revision): string {
  return join(import.meta.dirname, `expected-failures.${revision}.yaml`);
}

/** Runs the official conformance suite against a running server. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceRun> {
  const { url, revision, scenarios } = options;
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  const common = ["server", "--url", url, "-o", folder];
  let exitCode = 0;
  let output = "";
  const suite = async (...args: string[]) => {
    const run = await runSuite([...common, ...args], options.token);
    exitCode ||= run.exitCode;
    output += run.output;
  };
  if (scenarios === undefined) {
    await suite("--requirements", revision, "--expected-failures", options.expectedFailures);
  } else {
    for (const scenario of scenarios) await suite("--scenario", scenario, "--spec-version", revision);
  }
  const checks = await readChecks(folder);
  if (exitCode === 0) await rm(folder, { recursive: true, force: true });
  else output += `\nDetails of every check: ${folder}\n`;
  return { exitCode, output, ...checks };
}

function runSuite(args: readonly string[], token: string | undefined): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", PRELOAD, CLI, ...args], {
      env: { PATH: process.env.PATH, ...(token === undefined ? {} : { MCP_BEARER: token }) },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (chunk: string) => {
        output += chunk;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => resolve({ exitCode: code ?? 1, output }));
  });
}

/** The suite leaves one folder a scenario, `server-<scenario>-<time>`, with a `checks.json`. */
async function readChecks(folder: string): Promise<{ passed: string[]; failed: string[] }> {
  const passed: string[] = [];
  const failed: string[] = [];
  for (const path of await readdir(folder, { recursive: true })) {
    if (!path.endsWith("checks.json")) continue;
    const checks = JSON.parse(await readFile(join(folder, path), "utf8")) as { status: string }[];
    const scenario = path.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T.*$/, "");
    if (checks.some(({ status }) => status === "FAILURE" || status === "WARNING")) failed.push(scenario);
    else if (checks.some(({ status }) => status === "SUCCESS")) passed.push(scenario);
  }
  return { passed: passed.sort(), failed: failed.sort() };
}
