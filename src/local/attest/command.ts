import { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { keygenCommand } from "./keygen-command.ts";
import { signCommand } from "./sign-command.ts";
import { verifyCommand } from "./verify-command.ts";

/** `skillgate attest …` */
export function attestCommand(terminal: Terminal): Command {
  return new Command("attest")
    .description("Vouch for the code of skills, and check who vouches for it.")
    .addCommand(keygenCommand(terminal))
    .addCommand(signCommand(terminal))
    .addCommand(verifyCommand(terminal));
}
