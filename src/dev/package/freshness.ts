import { stat } from "node:fs/promises";
import { join } from "node:path";
import { newest } from "../dashboard/build.ts";
import { ROOT } from "../stack/paths.ts";

const INPUTS = ["src", "package.json", "package-lock.json"];

/** Whether a file that a build writes last is newer than all sources. */
export async function isCurrent(file: string): Promise<boolean> {
  const built = await stat(file).catch(() => null);
  return built !== null && built.mtimeMs > (await newest(INPUTS.map((input) => join(ROOT, input))));
}
