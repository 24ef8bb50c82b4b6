import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
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
}

const REPORTS = join(DEV_FOLDER, "reports");

const STAGES: readonly Stage[] = [
  {
    name: "generated",
    title: "Generated files are current",
    commands: [["src/dev/publishers/generate.ts", "--check"]],
  },
  { name: "lint", title: "Format and lint", commands: [["node_modules/@biomejs/biome/bin/biome", "check"]] },
  {
    name: "types",
    title: "Types",
    commands: [
      ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.json"],
      ["node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.node.json"],
    ],
  },
  suite("core", "Core, in workerd"),
  suite("gateway", "Gateway, in workerd with its bindings"),
  suite("node", "Core and publishers, in Node"),
  suite("e2e", "End to end, against running gateways"),
];

/** A vitest project as a stage of its own: the suites share two cores, and the last measures what the others would disturb. */
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

/** Runs a Node script with our terminal; answers its exit code. */
function run(args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
    const forward = (signal: NodeJS.Signals) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, forward);
    child.on("error", () => resolve(1));
    child.on("exit", (code) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, forward);
      resolve(code ?? 1);
    });
  });
}

/** Adds what vitest's JSON report says; a suite that left none did not run. */
async function addReport(path: string, counts: Counts): Promise<void> {
  const report = await readFile(path, "utf8").then(
    (text) => JSON.parse(text) as Record<string, number>,
    () => undefined,
  );
  counts.passed += report?.numPassedTests ?? 0;
  counts.failed += report?.numFailedTests ?? 0;
  counts.skipped += (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
}

/** Runs the stages in order up to the first that fails; answers that one. */
async function runStages(stages: readonly Stage[], counts: Counts): Promise<Stage | undefined> {
  for (const [index, stage] of stages.entries()) {
    console.log(`\n━━ ${index + 1}/${stages.length} ${stage.title} (${stage.name})\n`);
    if (stage.report !== undefined) await rm(stage.report, { force: true });
    let failed = false;
    for (const command of stage.commands) {
      failed = (await run(command)) !== 0;
      if (failed) break;
    }
    if (stage.report !== undefined) await addReport(stage.report, counts);
    if (failed) return stage;
  }
  return undefined;
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown !== undefined) {
    console.error(`No stage "${unknown}". Usage: npm test [-- ${STAGES.map((stage) => stage.name).join("|")} …]`);
    return 2;
  }
  await mkdir(REPORTS, { recursive: true });
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const stages = names.length === 0 ? STAGES : STAGES.filter((stage) => names.includes(stage.name));
  const failed = await runStages(stages, counts);
  console.log(failed === undefined ? "\nEverything passed." : `\nFailed: ${failed.title} (${failed.name}).`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return failed === undefined ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
