import { Command } from "commander";
import { CommandError } from "../command-error.ts";
import { GatewayApi, TOKEN_VARIABLE } from "../gateway-api.ts";
import type { Terminal } from "../terminal.ts";
import { answerText, isAllAccepted, readAnswer } from "./answer.ts";
import { type ImportFlags, readImport } from "./values.ts";

interface Flags extends ImportFlags {
  readonly gateway: string;
  readonly token?: string;
  readonly apply?: true;
  readonly json?: true;
}

/** `skillgate import` */
export function importCommand(terminal: Terminal): Command {
  return new Command("import")
    .description(
      "Move clients, origins and reviewers in from a reference gateway. Shows what would happen, unless --apply.",
    )
    .requiredOption("--gateway <url>", "the gateway to move into, such as https://gateway.example")
    .option("--clients <json>", "the value of CLIENTS; clients keep their tokens")
    .option("--auth-token <token>", "the value of AUTH_TOKEN, whose hash becomes that of one client")
    .option("--allowed-origins <list>", "the value of ALLOWED_ORIGINS; origins still have to be probed and activated")
    .option("--reviewers <json>", "the value of REVIEWERS")
    .option("--token <token>", `the operator's token; better set ${TOKEN_VARIABLE}`)
    .option("--apply", "do it, instead of showing it")
    .option("--json", "print the gateway's answer as JSON")
    .addHelpText(
      "after",
      "\nEach value may be @FILE: what stands in the file. Secrets are better kept out of a command line.",
    )
    .action(async (flags: Flags) => {
      const gateway = new GatewayApi(flags.gateway, flags.token, terminal);
      const request = await readImport(flags, terminal);
      const answer = await gateway.post(flags.apply ? "/import" : "/import?dryRun=true", request);
      const read = readAnswer(answer);
      if (read === null) throw new CommandError("gateway_refused", "The gateway's answer does not say what it did.");
      terminal.print(flags.json ? JSON.stringify(answer, null, 2) : answerText(read));
      if (!isAllAccepted(read)) terminal.fail();
      terminal.report(flags.apply ? "Moved in." : "Nothing is changed yet: --apply does it.");
    });
}
