import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../stack/paths.ts";

const INPUTS = ["src", "package.json", "package-lock.json"];

/** Whether a file that a build writes last is newer than all sources. */
export async function isCurrent(file: string): Promise<boolean> {
  const built = await stat(file).catch(() => null);
  if (built === null) return false;
  for (const input of INPUTS) if ((await newest(join(ROOT, input))) > built.mtimeMs) return false;
  return true;
}

async function newest(path: string): Promise<number> {
  const info = await stat(path);
  if (!info.isDirectory()) return info.mtimeMs;
  const times = await Promise.all((await readdir(path)).map((name) => newest(join(path, name))));
  return Math.max(0, ...times);
}
