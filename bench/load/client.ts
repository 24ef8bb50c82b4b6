import { fork } from "node:child_process";
import { join } from "node:path";
import type { FromGenerator, LoadJob, LoadResult, ToGenerator } from "./job.ts";

/** A load generator in a process of its own; it runs one job at a time. */
export interface Generator {
  run(job: LoadJob): Promise<LoadResult>;
  /** Ends the running job as soon as its open requests are answered. */
  finish(): void;
  stop(): void;
}

export function startGenerator(): Generator {
  const child = fork(join(import.meta.dirname, "generator.ts"), { serialization: "advanced" });
  let settle: { resolve: (result: LoadResult) => void; reject: (error: Error) => void } | undefined;
  const take = () => {
    const waiting = settle;
    settle = undefined;
    return waiting;
  };
  child.on("message", (answer: FromGenerator) => {
    const waiting = take();
    if (answer.ok) waiting?.resolve(answer.result);
    else waiting?.reject(new Error(`The load generator failed: ${answer.message}`));
  });
  child.on("exit", (code) => take()?.reject(new Error(`The load generator ended with code ${code}.`)));
  const send = (message: ToGenerator) => child.send(message);
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        send({ kind: "run", job });
      }),
    finish: () => send({ kind: "stop" }),
    stop: () => child.disconnect(),
  };
}
