import { type Engine, type EngineKind, jspiApi, type WasmModule } from "../core/sandbox/engine.ts";
import { ToolHostError } from "./tool-host-error.ts";

/** One of the package's engines, `skillgate/quickjs-jspi.wasm` or `skillgate/quickjs-asyncify.wasm`: compiled, its bytes, or where it is. */
export type WasmSource = WasmModule | ArrayBuffer | ArrayBufferView | URL | string;

/**
 * The engine that was given, or else the package's own file, which lies beside this module: read from the disk in Node, Deno and Bun, fetched
 * in a browser. In a Worker there is neither: it must give the module.
 *
 * @param synchronous nothing will be waited for: either engine does on any platform.
 * @throws {ToolHostError} `no_engine`.
 */
export async function loadEngine(source: WasmSource | undefined, synchronous: boolean): Promise<Engine> {
  const preferred = synchronous || jspiApi() !== null ? "jspi" : "asyncify";
  const module = await moduleOf(source ?? ownFile(preferred));
  const kind = kindOf(module);
  if (kind === "jspi" && !synchronous && jspiApi() === null) {
    throw new ToolHostError(
      "no_engine",
      "This platform cannot suspend WebAssembly: `wasm` must be skillgate/quickjs-asyncify.wasm.",
    );
  }
  return synchronous ? { kind, module, isSynchronous: true } : { kind, module };
}

function ownFile(kind: EngineKind): URL {
  try {
    // Bundlers look for exactly these words.
    return kind === "jspi"
      ? new URL("../core/sandbox/generated/quickjs-jspi.wasm", import.meta.url)
      : new URL("../core/sandbox/generated/quickjs-asyncify.wasm", import.meta.url);
  } catch (cause) {
    throw unreadable(cause);
  }
}

async function moduleOf(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  try {
    const bytes = typeof source === "string" || source instanceof URL ? await bytesAt(String(source)) : source;
    return await compiler.compile(bytes);
  } catch (cause) {
    throw unreadable(cause);
  }
}

function unreadable(cause: unknown): ToolHostError {
  const message =
    "The engine could not be read: give it as `wasm`, the module, bytes or address of skillgate/quickjs-jspi.wasm or quickjs-asyncify.wasm.";
  return new ToolHostError("no_engine", message, { cause });
}

async function bytesAt(address: string): Promise<ArrayBuffer | ArrayBufferView> {
  // A bundler may have made it a path of the page.
  const base = (globalThis as { location?: { href: string } }).location?.href;
  const url = new URL(address, base);
  const files = url.protocol === "file:" ? fileReader() : undefined;
  if (files !== undefined) return files.readFile(url);
  const response = await fetch(url.href);
  if (!response.ok) throw new Error(`${url.href} answered ${response.status}`);
  return response.arrayBuffer();
}

interface FileReader {
  readFile(url: URL): Promise<Uint8Array>;
}

/** Asked of the process, not imported, so that nothing of Node is in a bundle for other platforms. */
function fileReader(): FileReader | undefined {
  const { process } = globalThis as unknown as { process?: { getBuiltinModule?(id: string): unknown } };
  return process?.getBuiltinModule?.("node:fs/promises") as FileReader | undefined;
}

/** What the types of Workers lack, where nothing is compiled at run time. */
const compiler = WebAssembly as unknown as {
  compile(bytes: ArrayBuffer | ArrayBufferView): Promise<WebAssembly.Module>;
};

/** Other builds of QuickJS have no meter: nothing would bound what a tool computes. */
function kindOf(module: WebAssembly.Module): EngineKind {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  if (!names.has("gas") || !names.has("stackPointer")) {
    throw new ToolHostError("no_engine", "The module given as `wasm` is not one of this package's engines.");
  }
  return names.has("startUnwind") ? "asyncify" : "jspi";
}
