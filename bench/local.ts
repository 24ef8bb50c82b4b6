import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { buildPackage, PACKAGE_FOLDER } from "../src/dev/package/build.ts";
import { LISTED_TOOLS } from "./publisher.ts";
import { quantile, round } from "./statistics.ts";

const WARM_UP_CALLS = 2_000;

/** What the command costs its one client; milliseconds. */
export interface LocalFigures {
  readonly starts: number;
  /** From the start of the process to its answer to `tools/list`, discovery of five skills included. */
  readonly first_answer_p50_ms: number;
  readonly calls: number;
  /** One call of `sum_numbers` after the other over the process's streams. */
  readonly call_p50_ms: number;
  readonly call_p99_ms: number;
}

/** Measures `skillgate <origin>` as the npm package has it. */
export async function measureLocal(
  origin: string,
  { starts, calls }: { readonly starts: number; readonly calls: number },
): Promise<LocalFigures> {
  await buildPackage();
  const command = join(PACKAGE_FOLDER, "skillgate.js");
  const firsts: number[] = [];
  for (let turn = 0; turn < starts; turn++) {
    const startedAt = performance.now();
    const client = new Client(command, origin);
    const answer = await client.ask("tools/list", {});
    firsts.push(performance.now() - startedAt);
    if ((answer.result?.tools?.length ?? 0) !== LISTED_TOOLS) throw new Error(`local: ${JSON.stringify(answer)}`);
    await client.end();
  }
  const client = new Client(command, origin);
  const call = async () => {
    const answer = await client.ask("tools/call", { name: "sum_numbers", arguments: { a: 19.5, b: 22.5 } });
    if (answer.result?.structuredContent?.result !== 42) throw new Error(`local: ${JSON.stringify(answer)}`);
  };
  for (let n = 0; n < WARM_UP_CALLS; n++) await call();
  const latencies: number[] = [];
  for (let n = 0; n < calls; n++) {
    const startedAt = performance.now();
    await call();
    latencies.push(performance.now() - startedAt);
  }
  await client.end();
  return {
    starts,
    first_answer_p50_ms: round(quantile(firsts, 0.5), 1),
    calls,
    call_p50_ms: round(quantile(latencies, 0.5), 4),
    call_p99_ms: round(quantile(latencies, 0.99), 4),
  };
}

interface Answer {
  readonly result?: {
    readonly tools?: readonly unknown[];
    readonly structuredContent?: { readonly result?: unknown };
  };
}

/** One request at a time over a process's streams. */
class Client {
  readonly #process: ChildProcessWithoutNullStreams;
  #text = "";
  #wake: (answer: Answer) => void = () => {};

  constructor(command: string, origin: string) {
    this.#process = spawn(process.execPath, [command, origin]);
    this.#process.stderr.resume();
    this.#process.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      this.#text += chunk;
      if (!this.#text.endsWith("\n")) return;
      const answer = JSON.parse(this.#text) as Answer;
      this.#text = "";
      this.#wake(answer);
    });
  }

  ask(method: string, params: object): Promise<Answer> {
    const answer = new Promise<Answer>((resolve) => {
      this.#wake = resolve;
    });
    this.#process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    return answer;
  }

  async end(): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.stdin.end();
    await exited;
  }
}
