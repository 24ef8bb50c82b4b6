import { randomUUID } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../files.ts";

/** How long to wait for another process, milliseconds. What is done under the lock takes a few. */
const WAIT_MS = 10_000;
const LOOK_MS = 20;
/** A lock of a process that is gone, or that is this old, milliseconds, is nobody's. */
const STALE_MS = 30_000;

/** Whether the lock is still this process's. Asked right before what was done under it becomes visible. */
export type IsOurs = () => Promise<boolean>;

/**
 * Runs work that no other process does at the same time, as far as it goes through here: while it runs, `<path>.lock` exists and names its
 * owner. One that a process left behind when it died is taken away.
 *
 * @throws what the work throws; an error of the file system where the lock cannot be made; `LockBusy` after ten seconds.
 */
export async function exclusively<T>(path: string, work: (isOurs: IsOurs) => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const owner = `${process.pid} ${randomUUID()}\n`;
  const isOurs = async () => (await textOf(lock)) === owner;
  await acquire(lock, owner);
  try {
    return await work(isOurs);
  } finally {
    if (await isOurs()) await rm(lock, { force: true });
  }
}

/** Another process has held the lock for longer than any of them should. */
export class LockBusy extends Error {
  override readonly name = "LockBusy";
}

async function acquire(lock: string, owner: string): Promise<void> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    if (await create(lock, owner)) return;
    const holder = await textOf(lock);
    if (holder !== null && (await isStale(lock, holder))) await takeAway(lock, holder);
    else if (performance.now() > until) throw new LockBusy(`Another process holds ${lock}.`);
    else await sleep(LOOK_MS);
  }
}

async function create(lock: string, owner: string): Promise<boolean> {
  let handle: FileHandle;
  try {
    handle = await open(lock, "wx");
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
  try {
    await handle.writeFile(owner);
  } finally {
    await handle.close();
  }
  return true;
}

async function isStale(lock: string, holder: string): Promise<boolean> {
  const pid = Number.parseInt(holder, 10);
  // One that has only just been created has no words in it yet.
  if (Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid)) return true;
  const found = await stat(lock).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > STALE_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

/** Of two processes that find the same stale lock, the one that comes too late may have moved away the other's new one: that is put back. */
async function takeAway(lock: string, holder: string): Promise<void> {
  const aside = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, aside);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  if ((await textOf(aside)) === holder) await rm(aside, { force: true });
  else await rename(aside, lock);
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}
