/**
 * The C functions that the driver calls. The loader's text maps them to minified exports as `module._QTS_Call=exports.ma`.
 */
const FUNCTIONS = [
  "malloc",
  "free",
  "QTS_ArgvGetJSValueConstPointer",
  "QTS_Call",
  "QTS_Eval",
  "QTS_ExecutePendingJob",
  "QTS_FreeCString",
  "QTS_GetFloat64",
  "QTS_GetString",
  "QTS_GetUndefined",
  "QTS_IsJobPending",
  "QTS_NewContext",
  "QTS_NewFloat64",
  "QTS_NewFunction",
  "QTS_NewRuntime",
  "QTS_NewString",
  "QTS_ResolveException",
  "QTS_RuntimeEnableInterruptHandler",
  "QTS_RuntimeSetMaxStackSize",
  "QTS_RuntimeSetMemoryLimit",
] as const;

/** Reads the export map out of a loader's text. */
export function exportNames(loaderText: string, extra: Readonly<Record<string, string>>): Map<string, string> {
  const names = new Map(Object.entries(extra));
  for (const name of FUNCTIONS) {
    const match = new RegExp(`\\._${name}\\s*=\\s*\\w+\\.([\\w$]+)\\s*;`).exec(loaderText);
    if (match?.[1] === undefined) throw new Error(`the loader does not name the export of ${name}`);
    names.set(match[1], name);
  }
  return names;
}

const COMMON_IMPORTS = {
  a: "memory",
  b: "assertFail",
  j: "setTimer",
  k: "resizeHeap",
  // Emscripten's `_emscripten_runtime_keepalive_clear`, called on exit alone, where there is nothing to clear.
  l: "outOfGas",
  m: "localTime",
  n: "setTimeZone",
  o: "seek",
  p: "dateNow",
  q: "abort",
  r: "exit",
};

/** Minified import → readable name, by hand; valid for exactly the pinned input. */
const IMPORT_NAMES = {
  jspi: new Map(
    Object.entries({
      ...COMMON_IMPORTS,
      c: "write",
      d: "close",
      e: "environGet",
      f: "environSizes",
      g: "normalizeModule",
      h: "loadModule",
      i: "shouldInterrupt",
      s: "callFunction",
      t: "freeHostRef",
    }),
  ),
  asyncify: new Map(
    Object.entries({
      ...COMMON_IMPORTS,
      c: "close",
      d: "environGet",
      e: "environSizes",
      f: "normalizeModule",
      g: "loadModule",
      h: "shouldInterrupt",
      i: "callFunction",
      s: "write",
      t: "freeHostRef",
      u: "setAsyncifyStackSize",
    }),
  ),
} as const;

const KIB = 1024;

/** A QuickJS build of quickjs-emscripten 0.32.0 (bellard/quickjs, release) that becomes one of our engines. */
export interface EngineInput {
  readonly kind: "jspi" | "asyncify";
  readonly package: string;
  readonly sha256: string;
  /** Bytes of C stack in the output, `unwindBytes` included. */
  readonly stackBytes: number;
  /** Lowest part of the C stack in which asyncify keeps the frames of a suspended call. */
  readonly unwindBytes: number;
  readonly importNames: ReadonlyMap<string, string>;
  /** Minified exports that the loader's text does not name. */
  readonly extraExports: Readonly<Record<string, string>>;
  /** Mutable globals to export, by index. */
  readonly globals: ReadonlyMap<string, number>;
}

export const INPUTS: readonly EngineInput[] = [
  {
    kind: "jspi",
    package: "@jitl/quickjs-wasmfile-release-sync",
    sha256: "105c3bed22d457e43e3d1c3c1c6959fda62a8fe06f0fc8a985303c3a2be72232",
    stackBytes: 512 * KIB,
    unwindBytes: 0,
    importNames: IMPORT_NAMES.jspi,
    extraExports: { u: "initialize" },
    globals: new Map([["stackPointer", 0]]),
  },
  {
    kind: "asyncify",
    package: "@jitl/quickjs-wasmfile-release-asyncify",
    sha256: "b790f3842eef48d154984cea48d35303b5c3c3696fedab4dc79f314bde005dba",
    stackBytes: 768 * KIB,
    unwindBytes: 256 * KIB,
    importNames: IMPORT_NAMES.asyncify,
    extraExports: { v: "initialize", tb: "startUnwind", ub: "stopUnwind", vb: "startRewind", wb: "stopRewind" },
    globals: new Map([
      ["stackPointer", 0],
      ["asyncifyState", 1],
      ["asyncifyData", 2],
    ]),
  },
];
