import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { unstable_getMiniflareWorkerOptions } from "wrangler";
import { ROOT } from "./paths.ts";

type ConfiguredOptions = ReturnType<typeof unstable_getMiniflareWorkerOptions>["workerOptions"];

/** A Worker as `wrangler deploy` would upload it, with the bindings of its wrangler.toml, ready for workerd. */
export interface BuiltWorker {
  readonly name: string;
  readonly options: ConfiguredOptions;
  readonly modules: readonly {
    type: "ESModule" | "CompiledWasm";
    path: string;
    contents: string | Uint8Array<ArrayBuffer>;
  }[];
}

export interface WorkerSource {
  readonly name: string;
  /** Relative to the repository. */
  readonly config: string;
  /** Files and folders that the bundle is made of, relative to the repository; packages need not be named. */
  readonly sources: readonly string[];
  /** As small as a deployment may make it. */
  readonly minify?: boolean;
}

const exec = promisify(execFile);
const BUNDLES = join(ROOT, ".dev/build");
/** The bindings of wrangler.toml, kept beside the bundle: reading them takes the whole of wrangler, which loads in a second or two. */
const OPTIONS = "options.json";
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** Bundles a Worker with wrangler, or takes the last bundle when no source is newer. */
export async function buildWorker(source: WorkerSource): Promise<BuiltWorker> {
  const folder = join(BUNDLES, source.name);
  const inputs = [...source.sources, source.config, "node_modules/.package-lock.json"].map((path) => join(ROOT, path));
  if ((await newest(inputs)) >= (await modified(join(folder, OPTIONS)))) await bundle(source, folder);
  const modules: BuiltWorker["modules"][number][] = [];
  // The entry comes first.
  for (const file of (await readdir(folder)).sort((a, b) => Number(b === "worker.js") - Number(a === "worker.js"))) {
    if (file.endsWith(".js")) {
      modules.push({ type: "ESModule", path: file, contents: await readFile(join(folder, file), "utf8") });
    } else if (file.endsWith(".wasm")) {
      modules.push({ type: "CompiledWasm", path: file, contents: new Uint8Array(await readFile(join(folder, file))) });
    }
  }
  const options = JSON.parse(await readFile(join(folder, OPTIONS), "utf8")) as ConfiguredOptions;
  return { name: source.name, options, modules };
}

/** Builds beside the old bundle and swaps, so that a process which reads meanwhile sees the one or the other whole. */
async function bundle(source: WorkerSource, folder: string): Promise<void> {
  const fresh = `${folder}.${process.pid}`;
  const begun = new Date();
  await mkdir(dirname(folder), { recursive: true });
  try {
    const args = [WRANGLER, "deploy", "--dry-run", "-c", join(ROOT, source.config), "--outdir", fresh];
    if (source.minify) args.push("--minify");
    await exec(process.execPath, args, { cwd: ROOT, env: { ...process.env, CI: "1" }, timeout: 120_000 });
    const wrangler = await import("wrangler");
    const { workerOptions } = wrangler.unstable_getMiniflareWorkerOptions(join(ROOT, source.config));
    await writeFile(join(fresh, OPTIONS), JSON.stringify(workerOptions));
    // As old as the sources that it was made of: a change during the bundling counts as newer.
    await utimes(join(fresh, OPTIONS), begun, begun);
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`Bundling ${source.name} failed:\n${stdout}${stderr || String(error)}`);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** The latest change under the paths, folders included, so that a deleted file counts; epoch milliseconds. */
async function newest(paths: readonly string[]): Promise<number> {
  let latest = 0;
  for (const path of paths) {
    const info = await stat(path);
    latest = Math.max(latest, info.mtimeMs);
    if (info.isDirectory()) {
      const children = (await readdir(path)).filter((name) => !name.includes(".test.") && !name.startsWith("."));
      latest = Math.max(latest, await newest(children.map((name) => join(path, name))));
    }
  }
  return latest;
}

async function modified(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
}
