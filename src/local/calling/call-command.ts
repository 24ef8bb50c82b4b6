import { Command } from "commander";
import { decodeUtf8 } from "../../core/integrity.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { CommandError } from "../command-error.ts";
import { createNodeSandbox } from "../node-sandbox.ts";
import { openOrigin } from "../serve/origin-or-folder.ts";
import { printable, type Terminal } from "../terminal.ts";
import { answerText } from "./answer-text.ts";
import { ToolCaller } from "./tool-caller.ts";

/** What a request to a gateway may have. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

/** `skillgate call <origin> <tool> [json]` */
export function callCommand(terminal: Terminal): Command {
  return new Command("call")
    .description("Call one tool of a site. Its result, as JSON, is on stdout.")
    .argument("<origin>", "the site, such as https://publisher.example or http://127.0.0.1:9000, or its folder")
    .argument("<tool>", "the tool's public name")
    .argument("[json]", "the arguments, a JSON object; - reads them from stdin", "{}")
    .addHelpText(
      "after",
      "\nExit codes: 0 the tool answered, 1 it failed or refused its arguments, 2 the command line is wrong or there is no such tool,\n" +
        "3 the tool is listed and not served, since it does not verify, 4 the site could not be reached or discovered.",
    )
    .action(async (text: string, tool: string, json: string) => {
      const args = readArguments(json === "-" ? await readInput(terminal) : wellEncoded(json));
      await using opened = await openOrigin(text, terminal);
      const caller = await ToolCaller.open({ opened, sandbox: await createNodeSandbox() });
      try {
        const end = await caller.call(tool, args, terminal.ending);
        if (end.ok) terminal.print(answerText(end.answer));
        else {
          terminal.report(printable(end.message));
          terminal.fail();
        }
      } finally {
        caller.close();
      }
    });
}

/** @throws {CommandError} `bad_value`. */
export function readArguments(json: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new CommandError("bad_value", `The arguments are not JSON: ${(error as SyntaxError).message}.`);
  }
  if (isJsonObject(value)) return value;
  throw new CommandError("bad_value", 'The arguments must be a JSON object, such as {"a": 1}.');
}

async function readInput({ input }: Pick<Terminal, "input">): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input ?? []) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_ARGUMENT_BYTES) {
      throw new CommandError("bad_value", `The arguments have more than ${MAX_ARGUMENT_BYTES} bytes, the limit.`);
    }
    chunks.push(bytes);
  }
  try {
    return decodeUtf8(Buffer.concat(chunks));
  } catch {
    throw new CommandError("bad_value", "The arguments are not valid UTF-8.");
  }
}

/** Bytes that are no UTF-8 come to us as U+FFFD; whoever means that character can write its escape. */
function wellEncoded(json: string): string {
  if (!json.includes("\uFFFD")) return json;
  throw new CommandError("bad_value", "The arguments are not valid UTF-8, or hold U+FFFD, which is written \\ufffd.");
}
