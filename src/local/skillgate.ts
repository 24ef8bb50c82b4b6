#!/usr/bin/env node
import { runSkillgate } from "./program.ts";

process.exitCode = await runSkillgate(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  report: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
  cwd: process.cwd(),
  now: Date.now,
});
