import { readdir, readFile, readlink } from "node:fs/promises";
import { descendants } from "../../src/dev/stack/processes.ts";

const KIB_PER_MIB = 1024;

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTEN = "0A";

/**
 * Finds the process that listens on a loopback port among those that descend from this one. A stack runs two workerds, and only their
 * sockets tell which is the gateway's. Linux only.
 */
export async function listenerPid(port: number): Promise<number> {
  const inode = await listeningInode(port);
  for (const { pid } of await descendants(process.pid)) if (await holdsSocket(pid, inode)) return pid;
  throw new Error(`No child process listens on port ${port}.`);
}

/** Resident memory of a process, MiB. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / KIB_PER_MIB;
}

/** Runs `work` and answers the most memory that the process held meanwhile, MiB. */
export async function peakMib(pid: number, work: () => Promise<unknown>): Promise<number> {
  let peak = await residentMib(pid);
  const timer = setInterval(async () => {
    peak = Math.max(peak, await residentMib(pid));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(peak, await residentMib(pid));
}

async function listeningInode(port: number): Promise<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
  const row = rows.find(([, local, , state]) => local?.endsWith(suffix) && state === LISTEN);
  if (row?.[9] === undefined) throw new Error(`Nothing listens on port ${port}.`);
  return row[9];
}

async function holdsSocket(pid: number, inode: string): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
    if (target === `socket:[${inode}]`) return true;
  }
  return false;
}
