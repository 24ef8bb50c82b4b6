import { Command } from "commander";
import { GatewayApi, TOKEN_VARIABLE } from "../gateway-api.ts";
import type { Terminal } from "../terminal.ts";
import { type ImportFlags, readImport } from "./values.ts";

interface Flags extends ImportFlags {
  readonly gateway: string;
  readonly token?: string;
  readonly apply?: true;
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
    .addHelpText(
      "after",
      "\nEach value may be @FILE: what stands in the file. Secrets are better kept out of a command line.",
    )
    .action(async (flags: Flags) => {
      const gateway = new GatewayApi(flags.gateway, flags.token, terminal);
      const request = await readImport(flags, terminal);
      const answer = await gateway.post(flags.apply ? "/import" : "/import?dryRun=true", request);
      terminal.print(JSON.stringify(answer, null, 2));
      terminal.report(flags.apply ? "Moved in." : "Nothing is changed yet: --apply does it.");
    });
}
