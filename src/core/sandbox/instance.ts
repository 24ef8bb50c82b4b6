import { type Engine, type EngineLayout, jspiApi, layoutOf, PAGE_BYTES } from "./engine.ts";
import type { Image } from "./image.ts";
import { SLICE_GAS } from "./turns.ts";
import { type EngineExports, engineImports } from "./wasm-interface.ts";

/** Who answers the one host function of the call that runs in an instance. */
export interface HostSide {
  /** `text` is `null` when the guest had no memory left to pass it. A promise suspends the guest; if it rejects, the call is abandoned. */
  answer(ask: number, text: string | null): string | Promise<string>;
  /** Lets others run, and gives the units of gas of the guest's next slice; if it rejects, the call is abandoned. */
  pause(): Promise<number>;
}

export interface InstanceOptions {
  readonly engine: Engine;
  readonly now: () => number;
  /** Hard maximum of linear memory, bytes. */
  readonly memoryBytes: number;
  /** Asked before memory grows by `bytes`. */
  readonly mayGrow: (instance: Instance, bytes: number) => boolean;
}

/** Longest text that is copied by hand, UTF-16 units. */
const SHORT_LENGTH = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Stack cleared between calls; deeper use is rare and leaves at most dead frames that no guest can read. */
const CLEARED_STACK_BYTES = 160 * 1024;

/** Growth beyond what was asked for, so that a growing heap does not ask at every page. */
const GROWTH_STEP_BYTES = 1024 * 1024;

/**
 * What the metered module counts (loop iterations, functions, 16 bytes copied) for a unit of gas. A step takes 3 to 8 ns on
 * either engine whatever the guest does (200 hostile loops, measured), so a unit takes at most 16.
 */
const STEPS_PER_GAS = 2;

/** The most gas that an instance can be given. */
export const MOST_GAS = 0x3fffffff;

type Suspendable = (...parameters: number[]) => number | Promise<number>;

/**
 * Linear memory up to which a guest that computes for long lets others in. A larger one runs to its end: many large ones at once would
 * need more than the pool's memory, and what is dropped of it is not collected at once (measured: 16 memory bombs that let each other in
 * take 330 MiB, else 35).
 */
const PAUSING_BYTES = 2 * 1_048_576;

/**
 * One wasm instance: memory, gas, strings, and calls that may suspend. At most one call is in it at a time, suspended or
 * not. Nothing is freed by hand after a call: restoring an image replaces the whole heap.
 */
export class Instance {
  readonly layout: EngineLayout;
  readonly exports: EngineExports;
  readonly memory: WebAssembly.Memory;
  /**
   * Entries into the guest; a number at once, or a promise of it. Guest code is entered by no other way: where the host
   * function may suspend, JSPI does not let it answer at once either, unless the stack below it could be suspended.
   */
  readonly evaluate: Suspendable;
  readonly call: Suspendable;
  readonly executeJobs: Suspendable;
  hostSide: HostSide | null = null;
  /** Gas at or below which the interrupt handler ends the guest gracefully; above zero, where the hard trap is. */
  gasFloor = 0;
  interrupted = false;
  /** The guest was refused memory: by the maximum, or by the pool. */
  growthRefused = false;
  runtime = 0;
  context = 0;
  dispatch = 0;
  #bytes: Uint8Array;
  readonly #mayGrow: (bytes: number) => boolean;
  readonly #maximumBytes: number;
  readonly #isSliced: boolean;
  /** Steps beyond the slice that the guest was given. */
  #reserve = 0;
  // asyncify
  #pendingAnswer: Promise<number> | null = null;
  #rewinding = false;
  #resumeValue = 0;
  #unwound = false;

  constructor(options: InstanceOptions) {
    const { engine } = options;
    this.layout = layoutOf(engine.kind);
    const maximumPages = Math.min(this.layout.maximumPages, Math.floor(options.memoryBytes / PAGE_BYTES));
    this.#maximumBytes = maximumPages * PAGE_BYTES;
    this.memory = new WebAssembly.Memory({ initial: this.layout.initialPages, maximum: maximumPages });
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#mayGrow = (bytes) => options.mayGrow(this, bytes);

    const { isSynchronous = false } = engine;
    const jspi = engine.kind === "jspi" && !isSynchronous ? jspiApi() : null;
    this.#isSliced = jspi !== null;
    const onCall = (context: number, _self: number, _argc: number, argv: number) => this.#onHostCall(context, argv);
    const imports = engineImports({
      memory: this.memory,
      now: options.now,
      shouldInterrupt: () => {
        this.interrupted ||= this.gas <= this.gasFloor;
        return this.interrupted;
      },
      grow: (bytes) => this.#growTo(bytes),
      callFunction: isSynchronous
        ? onCall
        : jspi === null
          ? (context: number, self: number, argc: number, argv: number) =>
              this.#unwindable(() => onCall(context, self, argc, argv))
          : new jspi.Suspending(onCall as (...args: number[]) => number | Promise<number>),
      outOfGas: jspi === null ? outOfGas : new jspi.Suspending(() => this.#nextSlice()),
    });
    this.exports = new WebAssembly.Instance(engine.module, imports).exports as unknown as EngineExports;
    const suspendable = (entry: (...parameters: never[]) => number): Suspendable => {
      const callee = entry as (...parameters: number[]) => number;
      if (jspi !== null) {
        const promising = jspi.promising(callee);
        return (...parameters) => {
          this.#slice();
          return promising(...parameters).then(this.#afterEntry);
        };
      }
      return (...parameters) => this.#invokeAsyncify(callee, parameters);
    };
    this.evaluate = suspendable(this.exports.QTS_Eval);
    this.call = suspendable(this.exports.QTS_Call);
    this.executeJobs = suspendable(this.exports.QTS_ExecutePendingJob);
    this.gas = MOST_GAS;
    this.exports.initialize();
  }

  /** Units left; negative where the guest was ended for want of gas. */
  get gas(): number {
    return Math.floor((this.exports.gas.value + this.#reserve) / STEPS_PER_GAS);
  }

  set gas(units: number) {
    this.#reserve = 0;
    this.exports.gas.value = units * STEPS_PER_GAS;
  }

  get memoryBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Linear memory; valid until the guest runs again. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.memory.buffer);
    return this.#bytes;
  }

  /** End of the heap in use. */
  get heapEnd(): number {
    return new DataView(this.memory.buffer).getUint32(this.layout.breakWord, true);
  }

  /** Puts the instance into the state of an image, whatever happened in it before. */
  restore(image: Image): void {
    const { stackLow, stackTop, unwindBytes } = this.layout;
    const usedEnd = this.heapEnd;
    const heapEnd = stackTop + image.heap.length;
    if (image.heapEnd > this.memoryBytes && !this.#growTo(image.heapEnd)) {
      throw new RangeError("an image does not fit into an instance");
    }
    const { bytes } = this;
    bytes.set(image.staticData, 0);
    bytes.set(image.heap, stackTop);
    if (usedEnd > heapEnd) bytes.fill(0, heapEnd, usedEnd);
    bytes.fill(0, stackTop - CLEARED_STACK_BYTES, stackTop);
    if (this.#unwound) bytes.fill(0, stackLow, stackLow + unwindBytes);
    this.exports.stackPointer.value = stackTop;
    if (this.exports.asyncifyState !== undefined) this.exports.asyncifyState.value = 0;
    this.#pendingAnswer = null;
    this.#rewinding = false;
    this.#unwound = false;
    this.interrupted = false;
    this.growthRefused = false;
    this.hostSide = null;
    this.runtime = image.runtime;
    this.context = image.context;
    this.dispatch = image.dispatch;
  }

  /** A C string in guest memory, to be freed by the caller; with its length in bytes. Throws when memory is out. */
  newCString(text: string): { pointer: number; length: number } {
    const short = this.#newShortCString(text);
    if (short !== null) return short;
    const encoded = encoder.encode(text);
    const pointer = this.exports.malloc(encoded.length + 1);
    if (pointer === 0) throw new OutOfMemory();
    this.bytes.set(encoded, pointer);
    this.bytes[pointer + encoded.length] = 0;
    return { pointer, length: encoded.length };
  }

  /** The platform's encoder costs as much as the rest of a small call: short ASCII is written by hand. `null` for any other text. */
  #newShortCString(text: string): { pointer: number; length: number } | null {
    const { length } = text;
    if (length > SHORT_LENGTH) return null;
    for (let at = 0; at < length; at++) if (text.charCodeAt(at) > 0x7f) return null;
    const pointer = this.exports.malloc(length + 1);
    if (pointer === 0) throw new OutOfMemory();
    const { bytes } = this;
    for (let at = 0; at < length; at++) bytes[pointer + at] = text.charCodeAt(at);
    bytes[pointer + length] = 0;
    return { pointer, length };
  }

  /** A guest string. The text must hold no NUL, which JSON never does. */
  newString(text: string): number {
    const { pointer } = this.newCString(text);
    const value = this.exports.QTS_NewString(this.context, pointer);
    this.exports.free(pointer);
    return value;
  }

  /** The text of a guest value that is a string; `null` when the guest has no memory to encode it. Stops at a NUL. */
  readString(value: number): string | null {
    const pointer = this.exports.QTS_GetString(this.context, value);
    if (pointer === 0) return null;
    const text = this.#readShortString(pointer) ?? this.#decodeString(pointer);
    this.exports.QTS_FreeCString(this.context, pointer);
    return text;
  }

  #decodeString(pointer: number): string {
    const { bytes } = this;
    return decoder.decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
  }

  /** As {@link #newShortCString}, the other way. */
  #readShortString(pointer: number): string | null {
    const { bytes } = this;
    let text = "";
    for (let at = pointer; at <= pointer + SHORT_LENGTH; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === 0) return text;
      if (byte > 0x7f) return null;
      text += String.fromCharCode(byte);
    }
    return null;
  }

  /** An array of value pointers for `QTS_Call`. */
  newArguments(...values: number[]): number {
    const pointer = this.exports.malloc(values.length * 4);
    if (pointer === 0) throw new OutOfMemory();
    const view = new DataView(this.memory.buffer);
    for (const [index, value] of values.entries()) view.setUint32(pointer + index * 4, value, true);
    return pointer;
  }

  /**
   * Gives the guest a slice of its gas, after which it is suspended. Only JSPI can suspend it anywhere, and not where JavaScript calls into
   * it without a promise: there it must have all of its gas.
   */
  #slice(units = SLICE_GAS): void {
    const steps = this.exports.gas.value + this.#reserve;
    this.exports.gas.value = Math.min(steps, units * STEPS_PER_GAS);
    this.#reserve = steps - this.exports.gas.value;
  }

  #unslice(): void {
    this.exports.gas.value += this.#reserve;
    this.#reserve = 0;
  }

  readonly #afterEntry = (value: number): number => {
    this.#unslice();
    return value;
  };

  #nextSlice(): Promise<number> | number {
    const { hostSide, exports } = this;
    // The start function is metered too, before there is anything to run out of.
    if (hostSide === null || exports.gas.value + this.#reserve < 0) return outOfGas();
    if (this.memoryBytes > PAUSING_BYTES) {
      this.#unslice();
      return 0;
    }
    return hostSide.pause().then((units) => {
      this.#slice(units);
      return 0;
    });
  }

  #growTo(bytes: number): boolean {
    const current = this.memoryBytes;
    const roomy = Math.min(this.#maximumBytes, bytes + Math.min(current >> 2, GROWTH_STEP_BYTES));
    for (const target of [roomy, bytes]) {
      const pages = Math.ceil((target - current) / PAGE_BYTES);
      if (target < bytes || target > this.#maximumBytes || !this.#mayGrow(pages * PAGE_BYTES)) continue;
      try {
        this.memory.grow(pages);
        return true;
      } catch {
        // The platform has no memory to give: to the guest that is the same as its own limit.
      }
    }
    this.growthRefused = true;
    return false;
  }

  #onHostCall(context: number, argv: number): number | Promise<number> {
    const { hostSide, exports } = this;
    if (hostSide === null) throw new Error("the guest runs outside of a call");
    this.#unslice();
    const ask = exports.QTS_GetFloat64(context, exports.QTS_ArgvGetJSValueConstPointer(argv, 0));
    const text = this.readString(exports.QTS_ArgvGetJSValueConstPointer(argv, 1));
    const answer = hostSide.answer(ask, text);
    return typeof answer === "string" ? this.#newAnswer(answer) : answer.then((late) => this.#newAnswer(late));
  }

  /** 0 is `undefined` to the guest, which takes it for memory that ran out. */
  #newAnswer(text: string): number {
    try {
      return this.newString(text);
    } catch (error) {
      if (error instanceof OutOfMemory) return 0;
      throw error;
    } finally {
      if (this.#isSliced) this.#slice();
    }
  }

  // ---- asyncify: https://emscripten.org/docs/porting/asyncify.html, low-level part ----

  /** The host function: called a second time, at the end of rewinding, it hands over the answer. */
  #unwindable(run: () => number | Promise<number>): number {
    if (this.#rewinding) {
      this.#rewinding = false;
      this.exports.stopRewind?.();
      return this.#resumeValue;
    }
    const answer = run();
    if (typeof answer === "number") return answer;
    this.#pendingAnswer = answer;
    this.#unwound = true;
    const { stackLow, unwindBytes } = this.layout;
    const view = new DataView(this.memory.buffer);
    view.setUint32(stackLow, stackLow + 8, true);
    view.setUint32(stackLow + 4, stackLow + unwindBytes, true);
    this.exports.startUnwind?.(stackLow);
    return 0;
  }

  #invokeAsyncify(callee: Suspendable, parameters: number[]): number | Promise<number> {
    const value = callee(...parameters) as number;
    return this.#pendingAnswer === null ? value : this.#resumeAsyncify(callee, parameters);
  }

  async #resumeAsyncify(callee: Suspendable, parameters: number[]): Promise<number> {
    for (;;) {
      const pending = this.#pendingAnswer;
      this.#pendingAnswer = null;
      this.exports.stopUnwind?.();
      this.#resumeValue = (await pending) ?? 0;
      this.#rewinding = true;
      this.exports.startRewind?.(this.layout.stackLow);
      const value = callee(...parameters) as number;
      if (this.#pendingAnswer === null) return value;
    }
  }

  /** True when a trap came from the end of the C stack. */
  get stackFull(): boolean {
    return this.exports.stackPointer.value < this.layout.stackLimit;
  }

  /** True when a trap came out of unwinding: the frames of a suspended call did not fit. */
  get unwindFailed(): boolean {
    return this.#pendingAnswer !== null;
  }
}

function outOfGas(): never {
  throw new Error("the guest's gas is spent");
}

/** The guest's allocator has nothing left. */
export class OutOfMemory extends Error {
  override readonly name = "OutOfMemory";
}
