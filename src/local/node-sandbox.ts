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

/** The same, made while the first thing that needs it is still being fetched. */
export function createNodeSandboxLater(): Pick<Sandbox, "load" | "evaluate" | "call"> {
  const making = createNodeSandbox();
  // Whoever uses it hears of it.
  making.catch(() => {});
  let made: Sandbox | null = null;
  void making.then(
    (sandbox) => {
      made = sandbox;
    },
    () => {},
  );
  return {
    load: async (...args) => (made ?? (await making)).load(...args),
    evaluate: async (...args) => (made ?? (await making)).evaluate(...args),
    call: async (...args) => (made ?? (await making)).call(...args),
  };
}
