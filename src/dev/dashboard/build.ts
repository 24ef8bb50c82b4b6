// Builds the operators' console: `npm run build:dashboard`.
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { ROOT } from "../stack/paths.ts";

const SOURCE = join(ROOT, "dashboard");
/** What the Worker's ASSETS binding serves (wrangler.toml): its paths are those of the addresses. */
export const DASHBOARD_FOLDER = join(ROOT, "dist/dashboard");
const BASE = "/admin/";

/** What the elements in its sources are made by. */
export const DASHBOARD_JSX = { jsx: { runtime: "automatic", importSource: "preact" } } as const;

/** All scripts of the console together, gzipped, have less than this. */
export const MAX_SCRIPT_BYTES = 100 * 1024;

/** Builds the console, unless the last build is newer than everything that it is made of. @returns whether it was built. @throws when it has grown past its limit. */
export async function buildDashboard(): Promise<boolean> {
  const inputs = [SOURCE, join(ROOT, "src/core"), join(ROOT, "package-lock.json"), fileURLToPath(import.meta.url)];
  const built = await stat(join(DASHBOARD_FOLDER, "admin/index.html")).catch(() => null);
  if (built !== null && built.mtimeMs > (await newest(inputs))) return false;
  const { build } = await import("vite");
  await build({
    root: SOURCE,
    base: BASE,
    configFile: false,
    envDir: false,
    logLevel: "warn",
    oxc: DASHBOARD_JSX,
    build: {
      outDir: join(DASHBOARD_FOLDER, "admin"),
      emptyOutDir: true,
      target: "es2024",
      // Nothing inline: the console's policy forbids it. And no polyfill of what every browser of the target has.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  const bytes = await scriptBytes();
  if (bytes >= MAX_SCRIPT_BYTES) {
    await rm(DASHBOARD_FOLDER, { recursive: true, force: true });
    throw new Error(`The console's scripts have ${bytes} bytes gzipped; they must have less than ${MAX_SCRIPT_BYTES}.`);
  }
  return true;
}

/** Bytes of all scripts of the built console, each gzipped. */
export async function scriptBytes(): Promise<number> {
  const files = await readdir(DASHBOARD_FOLDER, { recursive: true });
  const scripts = await Promise.all(files.filter(isOfConsole).map((file) => readFile(join(DASHBOARD_FOLDER, file))));
  return scripts.reduce((sum, script) => sum + gzipSync(script).length, 0);
}

/** The demo page lies in the same folder, for the same binding. */
function isOfConsole(file: string): boolean {
  return file.endsWith(".js") && !file.startsWith("demo");
}

/** When anything under these paths was last written, epoch milliseconds. */
export async function newest(paths: readonly string[]): Promise<number> {
  let latest = 0;
  for (const path of paths) {
    const info = await stat(path);
    const children = info.isDirectory() ? (await readdir(path)).map((name) => join(path, name)) : [];
    latest = Math.max(latest, info.mtimeMs, await newest(children));
  }
  return latest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (await buildDashboard()) console.error(`The console's scripts have ${await scriptBytes()} bytes gzipped.`);
}
