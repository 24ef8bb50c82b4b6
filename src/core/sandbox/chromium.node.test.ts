import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { expect, it } from "vitest";
import { build as buildEngines, GENERATED_FOLDER } from "../../dev/meter/build.ts";
import type { BrowserReport } from "./suites/browser-entry.ts";

const CHROMIUM = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
].find((path): path is string => path !== undefined && existsSync(path));

const TIMEOUT_MS = 300_000;

async function bundle(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("./suites/browser-entry.ts", import.meta.url))],
    bundle: true,
    minify: true, // names of properties and functions must not matter
    format: "esm",
    target: "es2022",
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

/** A page, the minified suites and the engines, on loopback. */
async function serve(script: Uint8Array) {
  const page = '<!doctype html><title>running</title><script type="module" src="/suites.js"></script>';
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const wasm = /^\/(quickjs-(?:jspi|asyncify)\.wasm)$/.exec(path)?.[1];
    if (path === "/") response.setHeader("content-type", "text/html").end(page);
    else if (path === "/suites.js") response.setHeader("content-type", "text/javascript").end(script);
    else if (wasm !== undefined) {
      response.setHeader("content-type", "application/wasm").end(await readFile(join(GENERATED_FOLDER, wasm)));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

it.skipIf(CHROMIUM === undefined)(
  `every suite of the sandbox passes in Chromium, minified${CHROMIUM === undefined ? " (skipped: no Chromium found; set CHROMIUM_PATH)" : ""}`,
  async () => {
    await buildEngines();
    const { server, url } = await serve(await bundle());
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox"] });
    try {
      const page = await browser.newPage();
      await page.goto(url);
      await page.waitForFunction("document.title !== 'running'", null, { timeout: TIMEOUT_MS });
      expect(await page.title()).toBe("done");
      const report = (await page.evaluate("globalThis.report")) as BrowserReport;
      expect(report.failed).toEqual([]);
      expect(report.engines).toContain("asyncify");
      expect(report.passed).toBeGreaterThan(300);
    } finally {
      await browser.close();
      server.close();
    }
  },
  TIMEOUT_MS,
);
