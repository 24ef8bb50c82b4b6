import { joinSections, splitSections } from "./binary.ts";
import { type EngineInput, exportNames } from "./inputs.ts";
import { renameInterface } from "./interface.ts";
import { type Metered, meter } from "./meter.ts";
import { restack } from "./restack.ts";

const PAGE_BYTES = 64 * 1024;

/** Heap that an instance has at once: enough for the runtime, the prelude and an ordinary tool. */
const START_HEAP_BYTES = 384 * 1024;

/**
 * Bytes at the lower end of the C stack that the stack pointer keeps away from: functions that call no other may write up to
 * 128 bytes below it without moving it.
 */
const RED_ZONE_BYTES = 1024;

/** The most that any setting can allow; the sandbox gives each instance a memory with its own, lower maximum. */
const MAXIMUM_PAGES = (128 * 1024 * 1024) / PAGE_BYTES;

/** Addresses in linear memory (bytes) and sizes that the driver needs. */
export interface EngineLayout {
  readonly stackLow: number;
  readonly stackTop: number;
  readonly breakWord: number;
  readonly unwindBytes: number;
  /** Where the stack pointer is below this, a call was ended because the C stack was full. */
  readonly stackLimit: number;
  readonly initialPages: number;
  readonly maximumPages: number;
}

/** Turns a stock QuickJS build into an engine: small stack and memory, metered, readable names. Pure and deterministic. */
export function buildEngine(
  input: EngineInput,
  wasm: Uint8Array,
  loaderText: string,
): Omit<Metered, "sections"> & { wasm: Uint8Array; layout: EngineLayout } {
  const restacked = restack(splitSections(wasm), input.stackBytes);
  const initialPages = Math.ceil((restacked.layout.stackTop + START_HEAP_BYTES) / PAGE_BYTES);
  const renamed = renameInterface(
    restacked.sections,
    { imports: input.importNames, exports: exportNames(loaderText, input.extraExports) },
    input.globals,
    { initial: initialPages, maximum: MAXIMUM_PAGES },
  );
  const { stackLow, stackTop } = restacked.layout;
  const stackLimit = stackLow + input.unwindBytes + RED_ZONE_BYTES;
  const { sections, ...counts } = meter(renamed, { low: stackLimit, high: stackTop });
  return {
    wasm: joinSections(sections),
    layout: {
      ...restacked.layout,
      unwindBytes: input.unwindBytes,
      stackLimit,
      initialPages,
      maximumPages: MAXIMUM_PAGES,
    },
    ...counts,
  };
}
