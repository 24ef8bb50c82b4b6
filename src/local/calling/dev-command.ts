import { basename } from "node:path";
import { Command } from "commander";
import type { Sandbox } from "../../core/sandbox/sandbox.ts";
import type { CallReport } from "../../core/serve.ts";
import { CommandError } from "../command-error.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { connectTo } from "../origin-connection.ts";
import { readPort } from "../serve/port-option.ts";
import { openSite, type SiteFiles } from "../serve/site-files.ts";
import { serveSite } from "../serve/site-server.ts";
import { watchSite } from "../serve/watch.ts";
import { shellCommand } from "../shell-command.ts";
import { buildSite } from "../site/build.ts";
import { reportBuild } from "../site/build-command.ts";
import { writeSite } from "../site/write-site.ts";
import { printable, type Terminal } from "../terminal.ts";
import { callByLines } from "./dev-session.ts";
import { ToolCaller } from "./tool-caller.ts";
import { readTypedLines } from "./typed-lines.ts";

interface DevFlags {
  readonly port: number;
  readonly prompt: boolean;
}

const DEFAULT_PORT = 9000;

/** `skillgate dev [dir]` */
export function devCommand(terminal: Terminal): Command {
  return new Command("dev")
    .description("Serve a site on this machine, build it whenever a file changes, and call its tools.")
    .argument("[dir]", "the folder of the site", ".")
    .option(
      "--port <n>",
      `the port; 0 for any free one (default: ${DEFAULT_PORT}, or another where it is taken)`,
      readPort,
    )
    .option("--no-prompt", "ask for no calls: serve until the process is ended")
    .addHelpText("after", HELP)
    .action(async (folder: string, flags: Partial<DevFlags>) => {
      const site = await openSite(folder, terminal);
      const sandbox = await createNodeSandbox();
      let written = await rebuild(site, sandbox, terminal, true);
      const port = flags.port ?? DEFAULT_PORT;
      await using server = await serveSite({ site, port, orAnother: flags.port === undefined });
      await using connection = connectTo(server.origin);
      const opened = { ...connection, origin: server.origin };
      let latest: CallReport | null = null;
      const caller = await ToolCaller.open({
        ...{ opened, sandbox },
        onCall: (report) => {
          latest = report;
        },
      });
      terminal.report(`Serving ${printable(folder)} at ${server.origin}`);
      terminal.report(`To add it to a client: ${addingLine(site.folder, server.origin)}`);

      let names = await listTools(caller, terminal);
      using lines = readTypedLines(flags.prompt === false ? { report: terminal.report } : terminal, () => names);
      const interjecting = { report: (line: string) => lines.interject(line) };
      await using _watch = await watchSite(site.folder, async (paths) => {
        // What the build before wrote comes back as a change, of which everything has been said.
        const isOwn = paths.every((path) => written.has(path));
        if (!isOwn) interjecting.report(printable(`changed: ${shortened(paths)}`));
        try {
          written = await rebuild(site, sandbox, interjecting, false);
        } catch (error) {
          // A folder that cannot be written to may be writable at the next change.
          if (!(error instanceof CommandError)) throw error;
          interjecting.report(printable(error.message));
        }
        await caller.refresh();
        if (!isOwn) names = await listTools(caller, interjecting);
      });
      try {
        if (flags.prompt === false) await ended(terminal.ending);
        else await callByLines({ caller, lines, terminal, latestCall: () => latest });
      } finally {
        caller.close();
      }
    });
}

const HELP = `
At the prompt, type a tool's name to be asked for its arguments, or its name and a JSON object. .list lists the tools, .exit ends.
Without a terminal each line of stdin is one such answer: results are on stdout, everything else on stderr.`;

/**
 * What can be built is written, whatever else is wrong: one broken skill harms only itself. What is not there may be on its way from an editor
 * or another branch.
 *
 * @param isFirst whether an `llms.txt` is made where there is none.
 * @returns the paths that were written.
 */
async function rebuild(
  site: SiteFiles,
  sandbox: Sandbox,
  terminal: Pick<Terminal, "report">,
  isFirst: boolean,
): Promise<ReadonlySet<string>> {
  const build = await buildSite({
    ...{ site, origin: null, attestations: [], sandbox, now: Date.now },
    ...{ isAtWork: true, makesLlmsTxt: isFirst },
  });
  reportBuild(build, terminal);
  await writeSite(site, build.changed);
  for (const { path } of build.changed) terminal.report(printable(`wrote ${path}`));
  return new Set(build.changed.map(({ path }) => path));
}

/** Reports what there is to call, or why there is nothing. @returns the names. */
async function listTools(caller: ToolCaller, terminal: Pick<Terminal, "report">): Promise<readonly string[]> {
  try {
    const names = (await caller.tools()).map(({ name }) => name);
    terminal.report(printable(`Tools: ${names.join(", ")}`));
    return names;
  } catch (error) {
    terminal.report(printable(`No tools: ${(error as Error).message}`));
    return [];
  }
}

/** For Claude Code; others take the same command in their settings. */
export function addingLine(folder: string, origin: string): string {
  const name =
    basename(folder)
      .replace(/[^A-Za-z0-9_-]+/g, "-")
      .replace(/^-+/, "") || "site";
  return shellCommand("claude", "mcp", "add", name, "--", "npx", "-y", "skillgate", origin);
}

function shortened(paths: readonly string[]): string {
  return paths.length > 5 ? `${paths.slice(0, 5).join(", ")} and ${paths.length - 5} more` : paths.join(", ");
}

/** Without a signal, never: the process is ended from outside. */
function ended(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done) => {
    if (signal?.aborted) done();
    signal?.addEventListener("abort", () => done(), { once: true });
  });
}
