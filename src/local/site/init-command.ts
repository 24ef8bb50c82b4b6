import { lstat, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Command } from "commander";
import { CommandError } from "../command-error.ts";
import { errorCode } from "../files.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { openSite } from "../serve/site-files.ts";
import { shellCommand } from "../shell-command.ts";
import { printable, type Terminal } from "../terminal.ts";
import { buildSite } from "./build.ts";
import { reportBuild } from "./build-command.ts";
import { SKILL_NAME, type StarterFile, starterSite } from "./starter.ts";
import { writeSite } from "./write-site.ts";

interface InitFlags {
  readonly skill: string;
}

/** `skillgate init [dir]` */
export function initCommand(terminal: Terminal): Command {
  return new Command("init")
    .description("Make a site with one skill, its recipe and a workflow for GitHub that checks them.")
    .argument("[dir]", "its folder, which is made where there is none", ".")
    .option("--skill <name>", "what the skill is called", "hello")
    .addHelpText("after", "\nNo file is ever overwritten: where one of the site's is there already, nothing is made.")
    .action(async (folder: string, { skill }: InitFlags) => {
      if (!SKILL_NAME.test(skill)) {
        throw new CommandError("usage", `--skill must match ${SKILL_NAME.source}.`);
      }
      const root = resolve(terminal.cwd, folder);
      const files = starterSite(skill);
      const present = await presentAmong(root, files);
      const inTheWay = files.filter((file) => present.has(file.path) && file.keeps !== true);
      if (inTheWay.length > 0) {
        const names = inTheWay.map(({ path }) => path).join(", ");
        throw new CommandError("file_exists", `There is already ${names}: nothing was made.`);
      }
      const made = files.filter(({ path }) => !present.has(path));
      for (const file of made) await writeNew(root, file);
      for (const path of present) terminal.report(`kept ${printable(join(folder, path))} as it is`);

      const site = await openSite(root, terminal);
      const sandbox = await createNodeSandbox();
      const build = await buildSite({ site, origin: null, attestations: [], sandbox, now: terminal.now });
      reportBuild(build, terminal);
      await writeSite(site, build.changed);
      const paths = new Set([...made, ...build.changed].map(({ path }) => path));
      for (const path of paths) terminal.print(printable(join(folder, path)));
      const command = shellCommand("npx", "skillgate", "dev", ...(folder === "." ? [] : [folder]));
      terminal.report(printable(`Now run ${command}, change the skill and call it.`));
    });
}

/** Looked at before anything is made, so that a site is made whole or not at all. */
async function presentAmong(root: string, files: readonly StarterFile[]): Promise<ReadonlySet<string>> {
  const present = new Set<string>();
  for (const { path } of files) {
    if ((await lstat(join(root, path)).catch(() => null)) !== null) present.add(path);
  }
  return present;
}

async function writeNew(root: string, { path, content }: StarterFile): Promise<void> {
  const file = join(root, path);
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content, { flag: "wx" });
  } catch (error) {
    throw new CommandError("bad_file", `The file ${path} cannot be made (${errorCode(error)}).`);
  }
}
