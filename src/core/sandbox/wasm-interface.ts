/** Numbers are pointers into linear memory unless said otherwise. Names: src/dev/meter/inputs.ts. */
export interface EngineExports {
  readonly initialize: () => void;
  readonly malloc: (bytes: number) => number;
  readonly free: (pointer: number) => void;
  readonly QTS_ArgvGetJSValueConstPointer: (argv: number, index: number) => number;
  readonly QTS_Call: (context: number, callee: number, self: number, argc: number, argv: number) => number;
  readonly QTS_Eval: (
    context: number,
    code: number,
    codeBytes: number,
    fileName: number,
    detectModule: number,
    flags: number,
  ) => number;
  readonly QTS_ExecutePendingJob: (runtime: number, maximum: number, contextOut: number) => number;
  readonly QTS_FreeCString: (context: number, text: number) => void;
  readonly QTS_GetFloat64: (context: number, value: number) => number;
  readonly QTS_GetString: (context: number, value: number) => number;
  readonly QTS_GetUndefined: () => number;
  /** 0 or 1. */
  readonly QTS_IsJobPending: (runtime: number) => number;
  readonly QTS_NewContext: (runtime: number, intrinsics: number) => number;
  readonly QTS_NewFloat64: (context: number, value: number) => number;
  readonly QTS_NewFunction: (
    context: number,
    name: number,
    parameters: number,
    isConstructor: number,
    hostReference: number,
  ) => number;
  readonly QTS_NewRuntime: () => number;
  readonly QTS_NewString: (context: number, text: number) => number;
  /** The exception that `value` stands for, or 0 when it is an ordinary value. */
  readonly QTS_ResolveException: (context: number, value: number) => number;
  readonly QTS_RuntimeEnableInterruptHandler: (runtime: number) => void;
  readonly QTS_RuntimeSetMaxStackSize: (runtime: number, bytes: number) => void;
  readonly QTS_RuntimeSetMemoryLimit: (runtime: number, bytes: number) => void;
  readonly gas: WebAssembly.Global;
  readonly stackPointer: WebAssembly.Global;
  // asyncify only
  readonly asyncifyState?: WebAssembly.Global;
  readonly startUnwind?: (buffer: number) => void;
  readonly stopUnwind?: () => void;
  readonly startRewind?: (buffer: number) => void;
  readonly stopRewind?: () => void;
}

/** What an instance needs from the outside. */
export interface EngineHost {
  readonly memory: WebAssembly.Memory;
  /** Epoch milliseconds. */
  now(): number;
  /** True stops the guest with an error that it cannot catch. */
  shouldInterrupt(): boolean;
  /** Bytes that linear memory must have; false when it may not grow that far. */
  grow(bytes: number): boolean;
  callFunction: WebAssembly.ImportValue;
  /** Called at each step of the guest while its gas is below zero: throws, or gives it more. */
  outOfGas: WebAssembly.ImportValue;
}

/** The engine gave up (a failed assertion, `abort`); the instance is of no use any more. */
export class EngineAborted extends Error {
  override readonly name = "EngineAborted";
}

const NOT_SUPPORTED = 52;

/** The imports of a generated engine. There is no file system, no environment, no timer, and the time zone is UTC. */
export function engineImports(host: EngineHost): WebAssembly.Imports {
  const stop = () => {
    throw new EngineAborted("the engine aborted");
  };
  return {
    host: {
      memory: host.memory,
      callFunction: host.callFunction,
      shouldInterrupt: () => (host.shouldInterrupt() ? 1 : 0),
      dateNow: () => host.now(),
      // The only field that QuickJS reads is the offset from UTC.
      localTime: (_seconds: bigint, out: number) => new Int32Array(host.memory.buffer, out, TM_WORDS).fill(0),
      setTimeZone: (offset: number, daylight: number, standardName: number, daylightName: number) => {
        const bytes = new Uint8Array(host.memory.buffer);
        const words = new Int32Array(host.memory.buffer);
        words[offset >> 2] = 0;
        words[daylight >> 2] = 0;
        for (const name of [standardName, daylightName]) bytes.set([0x55, 0x54, 0x43, 0], name); // "UTC"
      },
      resizeHeap: (bytes: number) => (host.grow(bytes >>> 0) ? 1 : 0),
      environSizes: (count: number, size: number) => {
        const words = new Int32Array(host.memory.buffer);
        words[count >> 2] = 0;
        words[size >> 2] = 0;
        return 0;
      },
      environGet: () => 0,
      setTimer: () => 0,
      write: () => NOT_SUPPORTED,
      close: () => NOT_SUPPORTED,
      seek: () => NOT_SUPPORTED,
      loadModule: () => 0,
      normalizeModule: () => 0,
      freeHostRef: () => {},
      outOfGas: host.outOfGas,
      setAsyncifyStackSize: () => {},
      abort: stop,
      assertFail: stop,
      exit: stop,
    },
  };
}

/** 32-bit words of C's `struct tm`, but the name of the zone, which is not the host's to write. */
const TM_WORDS = 10;
