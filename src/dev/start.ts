import { join, relative } from "node:path";
import type { LogLine } from "./stack/gateway.ts";
import { writePrivateJson } from "./stack/kept-files.ts";
import { readOptions, USAGE } from "./stack/options.ts";
import { CONNECTION_FILE } from "./stack/paths.ts";
import { readableLine } from "./stack/request-lines.ts";
import { startProblem } from "./stack/start-problem.ts";
import { stopWish } from "./stack/stop-wish.ts";
import type { Stack } from "./stack.ts";

/** How long a stop may take before the process ends all the same. */
const STOP_LIMIT_MS = 10_000;

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options === "help") {
    process.stdout.write(USAGE);
    return;
  }
  if ("problem" in options) {
    process.stderr.write(`${options.problem}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }

  const { port, quiet, dataDir } = options;
  const print = (sentence: string) => {
    if (!quiet) console.log(sentence);
  };
  const wish = stopWish(process);
  const givenUp = new AbortController();
  void wish.promise.then(() => givenUp.abort());
  const stateDir = join(dataDir, "state", String(port));
  let stack: Stack | undefined;
  // Until the stack stands, the requests are our own.
  const onLog = (line: LogLine) => {
    if (stack !== undefined) print(readableLine(line));
  };
  try {
    // Only now: loading what runs workerd takes longer than refusing a wrong option.
    const { startStack } = await import("./stack.ts");
    stack = await startStack({ port, stateDir, onProgress: print, onLog, signal: givenUp.signal });
  } catch (error) {
    // Whoever stops a start in the middle of it has been told nothing new.
    if (wish.made) return;
    console.error(startProblem(error as Error, { port, stateDir }));
    process.exitCode = 1;
    return;
  }
  if (!wish.made) {
    const { url, adminToken, clientToken, origins } = stack;
    const connectionFile = join(dataDir, CONNECTION_FILE);
    await writePrivateJson(connectionFile, { url, adminToken, clientToken, origins });
    const { instructions } = await import("./stack/instructions.ts");
    console.log(instructions(stack, relative(process.cwd(), connectionFile)));
  }
  await wish.promise;
  print("Stopping…");
  setTimeout(() => process.exit(0), STOP_LIMIT_MS).unref();
  await stack.stop();
}

await main(process.argv.slice(2));
