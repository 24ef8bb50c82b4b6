import { randomUUID } from "node:crypto";
import { link, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../files.ts";

/** How long to wait for another process, milliseconds. What is done under the lock takes a few. */
const WAIT_MS = 10_000;
const LOOK_MS = 20;
/** A lock of a process that is gone, or that is this far from now, milliseconds, is nobody's. Less than the wait, so that none is in vain. */
const STALE_MS = 5_000;
/** What this program writes into a lock. Whatever else bears its name is somebody's file. */
const OURS = /^skillgate (\d{1,10}) [0-9a-f-]{36}\n$/;

/** Whether the lock is still this process's. Asked right before what was done under it becomes visible. */
export type IsOurs = () => Promise<boolean>;

/**
 * Runs work that no other process does at the same time, as far as it goes through here: while it runs, `<path>.skillgate-lock` exists and
 * names its owner. One that a process left behind when it died is taken away; a file that this program did not write never is.
 *
 * @throws what the work throws; an error of the file system where the lock cannot be made; `LockBusy` after ten seconds, and at once where
 * somebody else's file is in the way.
 */
export async function exclusively<T>(path: string, work: (isOurs: IsOurs) => Promise<T>): Promise<T> {
  const lock = `${path}.skillgate-lock`;
  const owner = `skillgate ${process.pid} ${randomUUID()}\n`;
  const isOurs = async () => (await textOf(lock)) === owner;
  await acquire(lock, owner);
  try {
    await removeLeftovers(lock);
    return await work(isOurs);
  } finally {
    if (await isOurs()) await rm(lock, { force: true });
  }
}

/** Another process has held the lock for longer than any of them should, or somebody else's file has its name. */
export class LockBusy extends Error {
  override readonly name = "LockBusy";
}

async function acquire(lock: string, owner: string): Promise<void> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    if (await create(lock, owner)) return;
    const holder = await textOf(lock);
    if (holder === null) continue;
    const pid = OURS.exec(holder)?.[1];
    if (pid === undefined) throw new LockBusy(`${lock} is not a lock of Skillgate: move it away.`);
    if (await isStale(lock, Number(pid))) await takeAway(lock, holder);
    else if (performance.now() > until) throw new LockBusy(`Another process holds ${lock}.`);
    else await sleep(LOOK_MS);
  }
}

/** With its owner in it from the first moment: a process that dies here leaves a lock that says so, or none. */
async function create(lock: string, owner: string): Promise<boolean> {
  const written = `${lock}.${randomUUID()}`;
  try {
    await writeFile(written, owner, { flag: "wx" });
    await link(written, lock);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(written, { force: true });
  }
}

/** What processes left beside the lock that were killed while they took it, or took one away. */
async function removeLeftovers(lock: string): Promise<void> {
  const [folder, name] = [dirname(lock), basename(lock)];
  for (const entry of await readdir(folder)) {
    if (!entry.startsWith(`${name}.`)) continue;
    const path = join(folder, entry);
    const pid = OURS.exec((await textOf(path)) ?? "")?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(path, { force: true });
  }
}

async function isStale(lock: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return true;
  const found = await stat(lock).catch(() => null);
  return found !== null && Math.abs(Date.now() - found.mtimeMs) > STALE_MS;
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
  const found = await textOf(aside);
  // Whoever has the lock by now may have cleared away what its dead owner left.
  if (found === null || found === holder) await rm(aside, { force: true });
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
