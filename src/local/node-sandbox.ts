import { readFile } from "node:fs/promises";
import { DEFAULT_SANDBOX_LIMITS } from "../core/limits.ts";
import { selectEngineKind } from "../core/sandbox/engine.ts";
import { Sandbox } from "../core/sandbox/sandbox.ts";

/** The sandbox in this Node, on the better of the two engines that it can run. */
export async function createNodeSandbox(): Promise<Sandbox> {
  const kind = selectEngineKind("auto");
  const file = new URL(`../core/sandbox/generated/quickjs-${kind}.wasm`, import.meta.url);
  const module = await WebAssembly.compile(await readFile(file));
  return new Sandbox({ engine: { kind, module }, limits: DEFAULT_SANDBOX_LIMITS });
}
