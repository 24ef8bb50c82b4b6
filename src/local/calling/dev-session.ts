import type { CallReport } from "../../core/serve.ts";
import { CommandError } from "../command-error.ts";
import { printable, type Terminal } from "../terminal.ts";
import { answerText } from "./answer-text.ts";
import { askArguments } from "./ask-arguments.ts";
import { readArguments } from "./call-command.ts";
import type { ToolCaller } from "./tool-caller.ts";
import type { TypedLines } from "./typed-lines.ts";

export interface Session {
  readonly caller: ToolCaller;
  readonly lines: TypedLines;
  readonly terminal: Pick<Terminal, "print" | "report" | "ending">;
  /** What the call before cost. */
  readonly latestCall: () => CallReport | null;
}

/** Calls what is typed, line by line, until the lines end. */
export async function callByLines(session: Session): Promise<void> {
  const { lines, terminal } = session;
  for (;;) {
    const line = (await lines.ask("skillgate>"))?.trim();
    if (line === undefined || line === ".exit") return;
    try {
      if (line === "" || line === ".list") await list(session);
      else if (line.includes("\uFFFD"))
        terminal.report("The line is not valid UTF-8, or holds U+FFFD, which is written \\ufffd.");
      else if (line.startsWith(".")) terminal.report("There are .list and .exit, and the names of tools.");
      else if (!(await callTyped(line, session))) return;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      terminal.report(printable(error.message));
    }
  }
}

async function list({ caller, terminal }: Session): Promise<void> {
  for (const { name, description = "" } of await caller.tools()) {
    terminal.report(printable(`  ${name}  ${description.split("\n", 1)[0]}`));
  }
}

/** Whether there may be more lines. */
async function callTyped(line: string, { caller, lines, terminal, latestCall }: Session): Promise<boolean> {
  const [name = "", json] = /^(\S+)(?:\s+(.+))?$/s.exec(line)?.slice(1) ?? [];
  const tool = await caller.tool(name);
  const ask = (question: string) => lines.ask(printable(question));
  const complain = (sentence: string) => terminal.report(printable(sentence));
  const args = json === undefined ? await askArguments(tool, ask, complain) : readArguments(json);
  if (args === null) return false;
  const end = await caller.call(name, args, terminal.ending);
  if (end.ok) terminal.print(answerText(end.answer));
  else terminal.report(printable(end.message));
  const cost = latestCall();
  if (cost !== null) terminal.report(`${cost.code}, ${cost.gasUsed} gas, ${Math.round(cost.durationMs)} ms`);
  return true;
}
