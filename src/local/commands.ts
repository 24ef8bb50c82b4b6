import type { Command } from "commander";
import { attestCommand } from "./attest/command.ts";
import { callCommand } from "./calling/call-command.ts";
import { devCommand } from "./calling/dev-command.ts";
import { lintCommand } from "./lint/command.ts";
import { memoryCommand } from "./memory-build.ts";
import { importCommand } from "./moving-in/command.ts";
import { publishCommand } from "./publish/publish-command.ts";
import { buildCommand } from "./site/build-command.ts";
import { initCommand } from "./site/init-command.ts";
import type { Terminal } from "./terminal.ts";

/** Everything that is done in words, in the order in which help shows it. */
export function commandsOf(terminal: Terminal): readonly Command[] {
  return [
    initCommand(terminal),
    buildCommand(terminal),
    devCommand(terminal),
    callCommand(terminal),
    lintCommand(terminal),
    attestCommand(terminal),
    memoryCommand(terminal),
    publishCommand(terminal),
    importCommand(terminal),
  ];
}
