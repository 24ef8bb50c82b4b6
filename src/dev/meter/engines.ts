import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Engine, EngineKind } from "../../core/sandbox/engine.ts";
import { jspiApi } from "../../core/sandbox/engine.ts";
import { GENERATED_FOLDER } from "./build.ts";

/** Every generated engine that this Node can run, compiled. */
export async function loadEngines(): Promise<Engine[]> {
  const kinds: EngineKind[] = jspiApi() === null ? ["asyncify"] : ["jspi", "asyncify"];
  return Promise.all(
    kinds.map(async (kind) => ({
      kind,
      module: await WebAssembly.compile(await readFile(join(GENERATED_FOLDER, `quickjs-${kind}.wasm`))),
    })),
  );
}
