import { readdir, readFile } from "node:fs/promises";

/** A process as Linux shows it under `/proc`. */
export interface ProcessInfo {
  readonly pid: number;
  readonly command: string;
  /** Resident memory, bytes. */
  readonly residentBytes: number;
}

/** All processes that descend from one, itself left out. Linux only: elsewhere there is no `/proc`. */
export async function descendants(pid: number): Promise<readonly ProcessInfo[]> {
  const processes = await listProcesses();
  const found: ProcessInfo[] = [];
  const parents = new Set([pid]);
  // A child may have a smaller id than its parent once the ids wrap round: go on until nothing new is found.
  for (let grown = true; grown; ) {
    grown = false;
    for (const process of processes) {
      if (!parents.has(process.parent) || parents.has(process.pid)) continue;
      parents.add(process.pid);
      found.push({ pid: process.pid, command: process.command, residentBytes: process.residentBytes });
      grown = true;
    }
  }
  return found;
}

/** Whether a process is there; one that ended and waits to be reaped is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const info = await readProcess(pid);
  return info !== undefined && info.state !== "Z";
}

async function listProcesses() {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(ids.map(readProcess));
  return all.filter((process) => process !== undefined);
}

async function readProcess(pid: number) {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
    return {
      pid,
      command: field("Name"),
      state: field("State"),
      parent: Number(field("PPid")),
      residentBytes: Number(field("VmRSS")) * 1024,
    };
  } catch {
    // Gone meanwhile.
    return undefined;
  }
}
