import type { Instance } from "./instance.ts";

/**
 * The state of an instance between two calls: all of linear memory that is in use but the C stack, which is empty then.
 * Fits every instance of the same engine.
 */
export interface Image {
  readonly staticData: Uint8Array;
  /** From the base of the heap; trailing zeros are left out. */
  readonly heap: Uint8Array;
  /** End of the heap in use. */
  readonly heapEnd: number;
  readonly runtime: number;
  readonly context: number;
  readonly dispatch: number;
}

export function imageBytes(image: Image): number {
  return image.staticData.length + image.heap.length;
}

/** Copies an instance in which no call is running or suspended. */
export function takeImage(instance: Instance): Image {
  const { bytes, heapEnd } = instance;
  const { stackLow, stackTop } = instance.layout;
  let end = heapEnd;
  while (end > stackTop && bytes[end - 1] === 0) end--;
  return {
    staticData: bytes.slice(0, stackLow),
    heap: bytes.slice(stackTop, end),
    heapEnd,
    runtime: instance.runtime,
    context: instance.context,
    dispatch: instance.dispatch,
  };
}
