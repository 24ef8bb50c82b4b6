import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { DEV_FOLDER, ROOT } from "./stack/paths.ts";

/** One step of `npm test`. A suite also leaves a report to count from. */
interface Stage {
  readonly name: string;
  readonly title: string;
  readonly commands: readonly (readonly string[])[];
  readonly report?: string;
}

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  readonly failures: string[];
}

const REPORTS = join(DEV_FOLDER, "reports");

/**
 * Groups run one after the other; within a group the lanes run at once, since no suite in them needs more than one core, and the
 * stages of a lane one after the other. The last suite keeps both cores busy by itself.
 */
const GROUPS: readonly (readonly (readonly Stage[])[])[] = [
  [
    [
      {
        name: "generated",
        title: "Generated files are current",
        commands: [["src/dev/publishers/generate.ts", "--check"]],
      },
      { name: "lint", title: "Format and lint", commands: [["node_modules/@biomejs/biome/bin/biome", "check"]] },
      suite("core", "Core, in workerd"),
      suite("gateway", "Gateway, in workerd with its bindings"),
    ],
    [
      {
        name: "types",
        title: "Types",
        commands: [
          ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.json"],
          ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.node.json"],
        ],
      },
      suite("node", "Core and publishers, in Node"),
    ],
  ],
  [[suite("e2e", "End to end, against running gateways")]],
];

const NAMES = GROUPS.flat(2).map(({ name }) => name);

/** A vitest project as a stage of its own. */
function suite(project: string, title: string): Stage {
  const report = join(REPORTS, `${project}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  return {
    name: project,
    title,
    commands: [["node_modules/vitest/vitest.mjs", "run", "--project", project, ...reporters]],
    report,
  };
}

/** Runs a Node script; answers its exit code and, where it does not write to our terminal, what it wrote. */
function run(args: readonly string[], isLive: boolean): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["inherit", ...outputs(isLive)] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
    const forward = (signal: NodeJS.Signals) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, forward);
    const finish = (code: number) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, forward);
      resolve({ code, output: Buffer.concat(chunks).toString() });
    };
    child.on("error", () => finish(1));
    child.on("close", (code) => finish(code ?? 1));
  });
}

function outputs(isLive: boolean): ("inherit" | "pipe")[] {
  return isLive ? ["inherit", "inherit"] : ["pipe", "pipe"];
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Adds what vitest's JSON report says; a suite that left none did not run. */
async function addReport(path: string, counts: Counts): Promise<void> {
  const report = await readFile(path, "utf8").then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (report === undefined) return;
  counts.passed += report.numPassedTests;
  counts.failed += report.numFailedTests;
  counts.skipped += report.numPendingTests + report.numTodoTests;
  counts.failures.push(...failuresOf(report));
}

/** Each on a line: where, which, and how its message begins. A file may fail without a test of it. */
function failuresOf({ testResults }: Report): readonly string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(ROOT, name);
    const failed = assertionResults
      .filter((test) => test.status === "failed")
      .map(({ fullName, failureMessages }) => `${file} > ${fullName}: ${firstLine(failureMessages.join("\n"))}`);
    return status === "failed" && failed.length === 0 ? [`${file}: ${firstLine(message)}`] : failed;
  });
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}

/** Runs the stages in order up to the first that fails; answers that one. Only one lane at a time can write as it goes. */
async function runLane(stages: readonly Stage[], isLive: boolean, counts: Counts): Promise<Stage | undefined> {
  for (const stage of stages) {
    const title = `\n━━ ${stage.title} (${stage.name})\n`;
    if (isLive) console.log(title);
    if (stage.report !== undefined) await rm(stage.report, { force: true });
    const begin = performance.now();
    let failed = false;
    let output = "";
    for (const command of stage.commands) {
      const ended = await run(command, isLive);
      output += ended.output;
      failed = ended.code !== 0;
      if (failed) break;
    }
    if (!isLive) console.log(`${title}\n${output}`);
    console.log(`━━ ${stage.name}: ${((performance.now() - begin) / 1000).toFixed(0)} s`);
    if (stage.report !== undefined) await addReport(stage.report, counts);
    if (failed) return stage;
  }
  return undefined;
}

/** Answers the first stage that failed; no group begins after that. */
async function runGroups(names: readonly string[], counts: Counts): Promise<Stage | undefined> {
  for (const group of GROUPS) {
    const lanes = group
      .map((lane) => lane.filter(({ name }) => names.includes(name)))
      .filter((lane) => lane.length > 0);
    const ended = await Promise.all(lanes.map((lane, index) => runLane(lane, index === 0, counts)));
    const failed = ended.find((stage) => stage !== undefined);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    console.error(`No stage "${unknown}". Usage: npm test [-- ${NAMES.join("|")} …]`);
    return 2;
  }
  await mkdir(REPORTS, { recursive: true });
  const counts: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  const failed = await runGroups(names.length === 0 ? NAMES : names, counts);
  console.log(failed === undefined ? "\nEverything passed." : `\nFailed: ${failed.title} (${failed.name}).`);
  for (const failure of counts.failures) console.log(`  ${failure}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return failed === undefined ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
