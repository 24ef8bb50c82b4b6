// Builds the demo page: `npm run build:demo`.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DASHBOARD_FOLDER, DASHBOARD_JSX, newest } from "../dashboard/build.ts";
import { ROOT } from "../stack/paths.ts";

const SOURCE = join(ROOT, "docs/demo");
const INPUTS = ["docs/demo", "dashboard", "src/core", "src/browser", "src/library", "package-lock.json"];

/** Builds the page beside the console, for the same ASSETS binding, unless the last build is newer than everything that it is made of. */
export async function buildDemo(): Promise<void> {
  const inputs = [...INPUTS.map((input) => join(ROOT, input)), fileURLToPath(import.meta.url)];
  const folder = join(DASHBOARD_FOLDER, "demo");
  const built = await stat(join(folder, "index.html")).catch(() => null);
  if (built !== null && built.mtimeMs > (await newest(inputs))) return;
  const { build } = await import("vite");
  await build({
    root: SOURCE,
    base: "/demo/",
    configFile: false,
    envDir: false,
    logLevel: "warn",
    oxc: DASHBOARD_JSX,
    resolve: {
      alias: { "node:crypto": join(SOURCE, "no-node.ts"), "node:util": join(SOURCE, "no-node.ts") },
    },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2024",
      // As for the console; the page's policy forbids what is inline, too.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDemo();
