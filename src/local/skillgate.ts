#!/usr/bin/env node
import { runSkillgate } from "./program.ts";

// Whoever reads the results may have read enough of them, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await runSkillgate(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  report: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
  cwd: process.cwd(),
  now: Date.now,
  input: process.stdin,
  output: process.stdout,
});
