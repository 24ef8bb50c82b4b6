import { Command } from "commander";
import type { Json } from "../../core/json.ts";
import { readAttestationsFile } from "../files.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { readOrigin } from "../origin-connection.ts";
import { repeatable } from "../repeated-options.ts";
import { openSite, type SiteFiles } from "../serve/site-files.ts";
import { shellCommand } from "../shell-command.ts";
import { printable, type Terminal } from "../terminal.ts";
import { buildSite } from "./build.ts";
import type { SiteBuild } from "./site-draft.ts";
import { writeSite } from "./write-site.ts";

interface BuildFlags {
  readonly check?: true;
  readonly origin?: string;
  readonly attestations: readonly string[];
}

/** `skillgate build [dir]` */
export function buildCommand(terminal: Terminal): Command {
  return new Command("build")
    .description("Write the hashes, index, attestations and snapshots of a site, and check that a gateway takes it.")
    .argument("[dir]", "the folder of the site", ".")
    .option("--check", "write nothing; end with 1 and name what is not as it would become")
    .option("--origin <origin>", "where the site is, or will be, such as https://user.github.io/repo")
    .addOption(repeatable("--attestations <file>", "add what a reviewer sent"))
    .addHelpText("after", HELP)
    .action(async (folder: string, flags: BuildFlags) => {
      const site = await openSite(folder, terminal);
      const origin = flags.origin === undefined ? null : readOrigin(flags.origin);
      const attestations: Json[] = [];
      for (const file of flags.attestations) attestations.push(...(await readAttestationsFile(file, terminal)));
      const sandbox = await createNodeSandbox();
      const build = await buildSite({ site, origin, attestations, sandbox, now: terminal.now });
      if (flags.check) reportDrift(folder, build, terminal);
      else await writeOrRefuse(site, build, terminal);
    });
}

const HELP = `
What is not listed yet is added: a folder skills/<name> with SKILL.md and tool.js. Prose, order and line endings of llms.txt stay.
memory.json is made of the Markdown in memory/, and so with every snapshot that llms.txt names.
Exit codes: 0 done, 1 a skill that no gateway would take, or with --check a file that is not current, 2 the command line is wrong.`;

/** Nothing of a site that cannot be served is written. */
async function writeOrRefuse(site: SiteFiles, build: SiteBuild, terminal: Terminal): Promise<void> {
  reportBuild(build, terminal);
  if (build.failures.length > 0) {
    terminal.report("Nothing was written.");
    terminal.fail();
    return;
  }
  await writeSite(site, build.changed);
  for (const { path } of build.changed) terminal.print(`wrote ${printable(path)}`);
  if (build.changed.length === 0) terminal.report(`Everything is current: ${counted(build)}.`);
}

function reportDrift(folder: string, build: SiteBuild, terminal: Terminal): void {
  reportBuild(build, terminal);
  for (const { path, reasons } of build.changed) {
    for (const reason of reasons) terminal.print(printable(`${path}: ${reason}`));
  }
  const command = shellCommand("skillgate", "build", ...(folder === "." ? [] : [folder]));
  if (build.changed.length > 0) terminal.report(printable(`Run ${command} and commit what it writes.`));
  if (build.changed.length > 0 || build.failures.length > 0) terminal.fail();
  else terminal.report(`Everything is current: ${counted(build)}.`);
}

/** Failures and notes, for people. */
export function reportBuild({ failures, notes }: SiteBuild, terminal: Pick<Terminal, "report">): void {
  for (const { file, code, message } of failures) terminal.report(printable(`failure: ${file}: ${code}: ${message}`));
  for (const note of notes) terminal.report(printable(`note: ${note}`));
}

function counted({ skills }: SiteBuild): string {
  const tools = skills.filter(({ tool }) => tool !== null).length;
  return `${tools} tool${tools === 1 ? "" : "s"}`;
}
