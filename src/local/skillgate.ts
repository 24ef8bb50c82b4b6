#!/usr/bin/env node
import { runSkillgate } from "./program.ts";
import { showsColors } from "./terminal.ts";

// Whoever reads the results may have read enough of them, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

// Nobody has to read what is told beside the results: a client may close that end.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

let ending: AbortSignal | undefined;

/** Only commands that last are told; all others end at once, as processes do. */
function endingOfProcess(): AbortSignal {
  if (ending !== undefined) return ending;
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  ending = controller.signal;
  return ending;
}

process.exitCode = await runSkillgate(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  report: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
  cwd: process.cwd(),
  now: Date.now,
  input: process.stdin,
  output: process.stdout,
  isColored: showsColors(process.stderr, process.env),
  get ending() {
    return endingOfProcess();
  },
  onHangup: (listener) => process.on("SIGHUP", listener),
});

// Whoever asked for an end gets one, though what was written last is read by nobody.
if (ending?.aborted) process.exit();
