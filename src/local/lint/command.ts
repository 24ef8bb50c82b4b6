import { Command, Option } from "commander";
import { DEFAULT_DISCOVERY_LIMITS } from "../../core/limits.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { repeatable } from "../repeated-options.ts";
import { REVIEWER_HELP, readTrustedReviewers } from "../reviewer-options.ts";
import { openOrigin } from "../serve/origin-or-folder.ts";
import type { Terminal } from "../terminal.ts";
import type { AttestationMode } from "./attestations.ts";
import { lintOrigin } from "./lint.ts";
import { reportText } from "./report-text.ts";

interface LintFlags {
  readonly reviewer: readonly string[];
  readonly reviewers?: string;
  readonly mode: AttestationMode;
  readonly strict?: true;
  readonly json?: true;
}

/** `skillgate lint <origin>` */
export function lintCommand(terminal: Terminal): Command {
  return new Command("lint")
    .description("Check a publisher as a gateway would, before the gateway does.")
    .argument("<origin>", "the site, such as https://publisher.example or http://127.0.0.1:9000, or its folder")
    .addOption(repeatable("--reviewer <attester=key>", REVIEWER_HELP))
    .option("--reviewers <file>", "a JSON file of reviewers: {attester: {public_key, registered_at}}")
    .addOption(
      new Option("--mode <mode>", "what attestations must do: with enforcing, every skill must be attested")
        .choices(["off", "advisory", "enforcing"])
        .default("advisory"),
    )
    .option("--strict", "let warnings fail too")
    .option("--json", "print the report as JSON")
    .addHelpText("after", "\nExit codes: 0 nothing failed, 1 something did, 2 the command line is wrong.")
    .action(async (text: string, flags: LintFlags) => {
      const reviewers = await readTrustedReviewers(flags, terminal);
      await using opened = await openOrigin(text, terminal);
      const { origin, fetch } = opened;
      terminal.report(`Checking ${origin} …`);
      const report = await lintOrigin({
        origin,
        fetch,
        sandbox: await createNodeSandbox(),
        limits: DEFAULT_DISCOVERY_LIMITS,
        now: terminal.now,
        reviewers,
        mode: flags.mode,
      });
      terminal.print(flags.json ? JSON.stringify(report, null, 2) : reportText(report));
      if (!report.ok || (flags.strict && report.warnings > 0)) terminal.fail();
    });
}
