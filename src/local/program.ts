import { Command, CommanderError } from "commander";
import { VERSION } from "../core/version.ts";
import { CommandError } from "./command-error.ts";
import { refuseRepeated } from "./repeated-options.ts";
import { addServeOptions, type ServeFlags, serveCommand } from "./stdio/command.ts";
import { printable, type Terminal } from "./terminal.ts";

const NAME = "skillgate";

/**
 * Runs the command line.
 *
 * @param args without the program's own name.
 * @returns the exit code: 0 done, 1 problems found or something failed, 2 the command line is wrong; `call` has 3 and 4 besides.
 */
export async function runSkillgate(args: readonly string[], terminal: Omit<Terminal, "fail">): Promise<number> {
  let exitCode = 0;
  const fail = () => {
    exitCode = 1;
  };
  try {
    const own = withFailure(terminal, fail);
    // A client waits for the first answer; what only the other commands need takes as long to load as all the rest.
    const commands = isServing(args) ? [] : (await import("./commands.ts")).commandsOf(own);
    await createProgram(own, commands, args[0]).parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CommandError) {
      terminal.report(`${NAME}: ${error.code}: ${printable(error.message)}`);
      return error.exitCode;
    }
    terminal.report(`${NAME}: internal: ${printable(error instanceof Error ? error.message : String(error))}`);
    return 1;
  }
}

/** As it is: what it only makes when it is asked for stays so. */
function withFailure(terminal: Omit<Terminal, "fail">, fail: () => void): Terminal {
  return Object.create(terminal, { fail: { value: fail, enumerable: true } }) as Terminal;
}

/** Whether the arguments are certain to be origins to serve, and no command. */
function isServing(args: readonly string[]): boolean {
  const [first = ""] = args;
  const isAskedForHelp = args.some((arg) => arg === "--help" || arg === "-h");
  return !WORD.test(first) && !isAskedForHelp && args.some((arg) => /^https?:\/\//i.test(arg));
}

const WORD = /^[a-z]+$/;

/** @param first argument: where it is a word and no origin, only a command can be meant, and a similar one is suggested. */
function createProgram(terminal: Terminal, commands: readonly Command[], first = ""): Command {
  const program: Command = addServeOptions(new Command(NAME))
    .description(
      "Serves the skills of static sites over MCP; makes, checks and calls such sites, signs for them, and moves into a gateway.",
    )
    // A subcommand's options are its own, whatever the program's are called.
    .enablePositionalOptions()
    .version(VERSION, "-v, --version", "print the version")
    .helpOption("-h, --help", "print help");
  for (const command of commands) program.addCommand(command);
  if (!WORD.test(first)) {
    program
      .argument("[origins...]", "the sites to serve, such as https://publisher.example or http://127.0.0.1:9000")
      .action((origins: readonly string[], flags: ServeFlags) => serve(program, origins, flags, terminal));
  }
  for (const command of withSubcommands(program)) {
    refuseRepeated(command);
    command
      .exitOverride()
      .showHelpAfterError(`Run "${fullName(command)} --help" to see what there is.`)
      .configureOutput({
        writeOut: (text) => terminal.print(text.trimEnd()),
        writeErr: (text) => terminal.report(text.trimEnd()),
        outputError: (text, write) => write(text.replace(/^error: /, `${NAME}: usage: `)),
      });
  }
  return program;
}

async function serve(program: Command, origins: readonly string[], flags: ServeFlags, terminal: Terminal) {
  if (flags.serve !== undefined) {
    if (origins.length > 0) throw new CommandError("usage", "The option --serve takes the place of origins.");
    const { serveFolder } = await import("./stdio/serve-folder.ts");
    return serveFolder(flags.serve, flags, terminal);
  }
  if (flags.port !== undefined) throw new CommandError("usage", "The option --port needs --serve.");
  if (origins.length === 0) program.help({ error: true });
  await serveCommand(origins, flags, terminal);
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
