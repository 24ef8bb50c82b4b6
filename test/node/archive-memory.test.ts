import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { descendants } from "../../src/dev/stack/processes.ts";
import { gzipBomb, zipBomb } from "../archives/bomb.ts";

const MAX_GROWTH_MIB = 40;
const KIB_PER_MIB = 1024;

let miniflare: Miniflare;
let pid: number;

beforeAll(async () => {
  const bundle = await build({
    entryPoints: [join(ROOT, "test/archives/worker.ts")],
    bundle: true,
    format: "esm",
    external: ["node:*"],
    write: false,
  });
  const worker = {
    name: "archives",
    modules: true,
    script: bundle.outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-11-01",
    compatibilityFlags: ["nodejs_compat"],
  };
  miniflare = new Miniflare(convertV4MiniflareOptions({ cf: false, telemetry: { enabled: false }, workers: [worker] }));
  await miniflare.ready;
  const workerd = (await descendants(process.pid)).find(({ command }) => command === "workerd");
  pid = workerd?.pid ?? 0;
});

afterAll(() => miniflare.dispose());

async function verdict(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const response = await miniflare.dispatchFetch("http://archive.example/", { method: "POST", body: bytes });
  return await response.text();
}

/** Resident memory now, or the most since the peak was reset, MiB. */
async function memoryMib(field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / KIB_PER_MIB;
}

/** By how much the process that runs the Worker grew at its peak; the kernel keeps the peak, so none is missed. */
async function growthMib(work: () => Promise<unknown>): Promise<number> {
  const before = await memoryMib("VmRSS");
  // Resets VmHWM (proc_pid_clear_refs(5)).
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  await work();
  return (await memoryMib("VmHWM")) - before;
}

describe.skipIf(process.platform !== "linux")("a bomb of 512 MiB (memory is read from /proc, Linux only)", () => {
  it.each([
    ["tar.gz", gzipBomb],
    ["zip", zipBomb],
  ])(`in a %s of half a MiB is refused, and workerd grows by less than ${MAX_GROWTH_MIB} MiB`, async (_, bomb) => {
    const bytes = bomb(512);
    expect(bytes.length).toBeLessThan(550_000);
    // One that is small enough warms up the code and the connection.
    expect(await verdict(bomb(2))).toBe("ratio");
    const growth = await growthMib(async () => expect(await verdict(bytes)).toBe("expanded"));
    expect(growth).toBeLessThan(MAX_GROWTH_MIB);
  });
});
