import { LAYOUTS } from "./generated/layout.ts";

/**
 * How a running wasm call waits for the host. `jspi`: the platform suspends the stack (`WebAssembly.Suspending`).
 * `asyncify`: the module unwinds itself into its own memory and rewinds later; about half as fast, runs everywhere.
 */
export type EngineKind = keyof typeof LAYOUTS;

export type EngineSetting = "auto" | EngineKind;

/** A compiled module, where the platform's types have one: those of Node alone have none. */
export type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } }
  ? Module
  : object;

/** A compiled engine. The module must be the generated `quickjs-<kind>.wasm`. */
export interface Engine {
  readonly kind: EngineKind;
  readonly module: WasmModule;
  /** The guest runs to its end in one go, and nothing of the host is waited for: neither the platform nor the guest is ever suspended. */
  readonly isSynchronous?: boolean;
}

/** Addresses (bytes) in the linear memory of an engine. Static data is [0, stackLow); the heap starts at `stackTop`. */
export interface EngineLayout {
  readonly stackLow: number;
  readonly stackTop: number;
  /** Address of the word that holds the end of the heap. */
  readonly breakWord: number;
  /** Lowest bytes of the C stack, which hold the frames of a suspended call. */
  readonly unwindBytes: number;
  /** The stack pointer of an instance is below this only where its C stack was full, which traps. */
  readonly stackLimit: number;
  readonly initialPages: number;
  readonly maximumPages: number;
}

export const PAGE_BYTES = 65_536;

export function layoutOf(kind: EngineKind): EngineLayout {
  return LAYOUTS[kind];
}

/** @internal */
interface JspiApi {
  readonly Suspending: new (implementation: (...args: number[]) => number | Promise<number>) => WebAssembly.ImportValue;
  readonly promising: (exported: (...args: number[]) => number) => (...args: number[]) => Promise<number>;
}

/**
 * The JavaScript Promise Integration of this platform, or `null`.
 *
 * @internal
 */
export function jspiApi(): JspiApi | null {
  const api = WebAssembly as unknown as Partial<JspiApi>;
  return typeof api.Suspending === "function" && typeof api.promising === "function" ? (api as JspiApi) : null;
}

/** `auto` takes `jspi` where the platform has it. Throws when `jspi` is demanded and absent. */
export function selectEngineKind(setting: EngineSetting): EngineKind {
  if (setting === "asyncify") return "asyncify";
  if (jspiApi() !== null) return "jspi";
  if (setting === "jspi") throw new Error("this platform has no WebAssembly.Suspending; set SANDBOX_ENGINE to auto");
  return "asyncify";
}
