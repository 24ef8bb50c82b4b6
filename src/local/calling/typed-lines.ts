import { createInterface } from "node:readline";
import type { Terminal } from "../terminal.ts";

/** What somebody types or a script pipes in, line by line. */
export interface TypedLines extends Disposable {
  /** Shows the question and waits for the next line; `null` when there are no more. */
  ask(question: string): Promise<string | null>;
  /** Shows a line that nobody asked for, without spoiling what is being typed. */
  interject(line: string): void;
}

/** Longest line that is taken, characters. */
const MAX_LINE = 1024 * 1024;

/** @param complete the words that a tabulator may stand for. */
export function readTypedLines(
  { input, output, report, ending }: Pick<Terminal, "input" | "output" | "report" | "ending">,
  complete: () => readonly string[],
): TypedLines {
  const isTerminal = input?.isTTY === true && output !== undefined;
  const waiting: ((line: string | null) => void)[] = [];
  const typed: string[] = [];
  let isOpen = input !== undefined;
  const reader =
    input === undefined
      ? null
      : createInterface({
          ...{ input, terminal: isTerminal, crlfDelay: Number.POSITIVE_INFINITY },
          ...(isTerminal ? { output } : {}),
          completer: (line: string) => [complete().filter((word) => word.startsWith(line)), line],
        });
  const close = () => {
    isOpen = false;
    for (const settle of waiting.splice(0)) settle(null);
  };
  reader?.on("line", (line) => {
    const settle = waiting.shift();
    const text = line.slice(0, MAX_LINE);
    if (settle === undefined) typed.push(text);
    else settle(text);
  });
  reader?.on("close", close);
  // Ctrl+C in a terminal of readline's own raw mode.
  reader?.on("SIGINT", () => reader.close());
  const end = () => reader?.close();
  ending?.addEventListener("abort", end, { once: true });
  return {
    ask(question) {
      const line = typed.shift();
      if (!isTerminal) report(question);
      if (line !== undefined) return Promise.resolve(line);
      if (!isOpen) return Promise.resolve(null);
      if (isTerminal) {
        reader?.setPrompt(`${question} `);
        reader?.prompt();
      }
      return new Promise((settle) => waiting.push(settle));
    },
    interject(line) {
      report(isTerminal && waiting.length > 0 ? `\r\u001b[K${line}` : line);
      if (isTerminal && waiting.length > 0) reader?.prompt(true);
    },
    [Symbol.dispose]: () => {
      ending?.removeEventListener("abort", end);
      reader?.close();
    },
  };
}
