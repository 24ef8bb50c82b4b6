import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { HOST } from "../../src/dev/stack/ports.ts";
import { type WorkerdOptions, writeConfig } from "./config.ts";

export const WORKERD = join(ROOT, "node_modules/workerd/bin/workerd");
const READY_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A workerd of our own. */
export interface Workerd {
  readonly pid: number;
  /** Port of the Worker. */
  readonly port: number;
  /** Port of the second Worker; 0 without one. */
  readonly sidePort: number;
  /** Milliseconds from the start of the process until it listened. */
  readonly readyMs: number;
  readonly startedAt: number;
  stop(): Promise<void>;
}

/** Prepares a Worker for {@link Prepared.start}, which may be called again and again on the same data. */
export async function prepareWorkerd(parent: string, name: string, options: WorkerdOptions) {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, `${name}-`));
  const config = await writeConfig(folder, options);
  return { start: () => startWorkerd(config, folder), remove: () => rm(folder, { recursive: true, force: true }) };
}
export type Prepared = Awaited<ReturnType<typeof prepareWorkerd>>;

async function startWorkerd(config: string, folder: string): Promise<Workerd> {
  const errors = join(folder, "stderr.log");
  const file = await open(errors, "a");
  const startedAt = performance.now();
  // `--experimental` is what Miniflare's D1 object asks for. The log lines go to stdout and are dropped: in production nobody writes them
  // to a disk on the request's thread.
  const child = spawn(WORKERD, ["serve", "--experimental", "--control-fd=3", config], {
    stdio: ["ignore", "ignore", file.fd, "pipe"],
  });
  running.add(child);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  void exited.then(() => running.delete(child));
  await file.close();
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
    await exited;
    clearTimeout(timer);
  };
  try {
    const ports = await listening(child, exited, config);
    return {
      pid: child.pid ?? 0,
      port: ports.get("main") ?? 0,
      sidePort: ports.get("side") ?? 0,
      readyMs: performance.now() - startedAt,
      startedAt,
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${(await readFile(errors, "utf8")).slice(-4_000)}`);
  }
}

/** Waits until workerd says on its control channel that every socket listens. */
async function listening(child: ChildProcess, exited: Promise<void>, config: string): Promise<Map<string, number>> {
  const wanted = (await readFile(config, "utf8")).match(/address = "/g)?.length ?? 0;
  const ports = new Map<string, number>();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("workerd did not listen in time.")), READY_LIMIT_MS);
    void exited.then(() => reject(new Error("workerd ended at once.")));
    let rest = "";
    child.stdio[3]?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = JSON.parse(line) as { event: string; socket: string; port: number };
        if (message.event === "listen") ports.set(message.socket, message.port);
      }
      if (ports.size < wanted) return;
      clearTimeout(timer);
      resolve(ports);
    });
  });
}

/** Resident memory of a process in bytes; `null` where the platform has no /proc. */
export async function residentBytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  return found === null ? null : Number(found[1]) * 1024;
}

/** CPU time of a process in microseconds, all threads, as the scheduler counts it; `null` where the platform has no /proc. */
export async function cpuMicroseconds(pid: number): Promise<number | null> {
  try {
    let nanoseconds = 0;
    for (const thread of await readdir(`/proc/${pid}/task`)) {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0");
      nanoseconds += Number(text.split(" ")[0]);
    }
    return nanoseconds / 1000;
  } catch {
    return null;
  }
}

export function urlOf(port: number): string {
  return `http://${HOST}:${port}`;
}
