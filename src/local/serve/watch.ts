import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isPublic } from "./site-path.ts";

/** What the files of a site were at one moment: by path, what changes whenever their content does. */
type Glimpse = ReadonlyMap<string, string>;

const LEAST_INTERVAL_MS = 250;

/** Looking may take this part of the time at most, however large the site is. */
const SHARE = 1 / 20;

/** Most files that are looked at; a site of more is not watched beyond them. */
const MAX_FILES = 20_000;

/**
 * Tells of changes to the files of a folder that a server of it would give, in batches: once for what an editor or a build
 * writes at a time. It looks again and again instead of asking the system, whose events differ from one to the next and do
 * not reach mounted folders at all.
 *
 * @param onChange gets the paths, `/`-separated; the next change is told when it has settled. It must not reject.
 * @returns what ends the watch when it is disposed of.
 */
export async function watchSite(
  folder: string,
  onChange: (paths: readonly string[]) => Promise<void> | void,
): Promise<AsyncDisposable> {
  const closing = new AbortController();
  const ended = watch(folder, await glimpse(folder), onChange, closing.signal);
  return {
    [Symbol.asyncDispose]: () => {
      closing.abort();
      return ended;
    },
  };
}

async function watch(
  folder: string,
  first: Glimpse,
  onChange: (paths: readonly string[]) => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  let seen = first;
  let interval = LEAST_INTERVAL_MS;
  while (await passes(interval, signal)) {
    const begin = performance.now();
    let now = await glimpse(folder);
    interval = Math.max(LEAST_INTERVAL_MS, (performance.now() - begin) / SHARE);
    if (differences(seen, now).length === 0) continue;
    // Whoever writes may not be done.
    for (let before = seen; differences(before, now).length > 0; ) {
      if (!(await passes(LEAST_INTERVAL_MS / 5, signal))) return;
      before = now;
      now = await glimpse(folder);
    }
    const changed = differences(seen, now);
    seen = now;
    if (changed.length > 0) await onChange(changed);
  }
}

/** Whether time passed without an end. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => {});
  return !signal.aborted;
}

async function glimpse(folder: string): Promise<Glimpse> {
  const files = new Map<string, string>();
  const open: (readonly string[])[] = [[]];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    // A folder or a file may go while it is looked at; then it has gone.
    const entries = await readdir(join(folder, ...at), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = [...at, entry.name];
      if (entry.name === "node_modules" || !isPublic(path) || files.size >= MAX_FILES) continue;
      if (entry.isDirectory()) open.push(path);
      else {
        const facts = await stat(join(folder, ...path), { bigint: true }).catch(() => null);
        if (facts?.isFile()) files.set(path.join("/"), `${facts.ino} ${facts.mtimeNs} ${facts.size}`);
      }
    }
  }
  return files;
}

function differences(before: Glimpse, after: Glimpse): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}
