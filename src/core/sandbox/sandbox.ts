import type { Sha256Hex } from "../integrity.ts";
import { isJsonObject, type Json } from "../json.ts";
import type { SandboxLimits } from "../limits.ts";
import type { ToolDefinition } from "../skill.ts";
import { makeBaseImage } from "./base-image.ts";
import { CallControl, CallStopped } from "./call-control.ts";
import type { Capabilities } from "./capabilities.ts";
import { type Engine, layoutOf, PAGE_BYTES } from "./engine.ts";
import { GasBreaker } from "./gas-breaker.ts";
import { GuestRun, STOP_MESSAGES } from "./guest-run.ts";
import { type Image, imageBytes, takeImage } from "./image.ts";
import { ByteLru } from "./image-cache.ts";
import { Instance } from "./instance.ts";
import { LoadFailures } from "./load-failures.ts";
import { type CallOutcome, type GuestFailure, type LoadOutcome, PoolExhausted } from "./outcome.ts";
import { type GuestAnswer, parseJson } from "./outcome-text.ts";
import { type Lease, Pool } from "./pool.ts";
import { DISPATCH } from "./protocol.ts";
import { newSeed } from "./seed.ts";
import { atOnce, later, type Steps, settled } from "./steps.ts";
import { Turns } from "./turns.ts";
import type { Tenant } from "./waiting-line.ts";

export type { Tenant } from "./waiting-line.ts";

/** A skill's script. `sha256` is of its exact bytes; `source` is those bytes as text. */
export interface Tool {
  readonly sha256: Sha256Hex;
  readonly source: string;
  /** The skill's name, which the script must register; `null` where it may register any. */
  readonly name: string | null;
}

/** Our own code: `source` is an expression of a function `(input) => output`, run without host functions. */
export interface Program {
  readonly id: string;
  readonly source: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly tenant?: Tenant;
}

export interface GasCallOptions extends CallOptions {
  readonly gas?: number;
}

export interface SandboxOptions {
  readonly engine: Engine;
  readonly limits: SandboxLimits;
  /** Epoch milliseconds; the guest's `Date` shows it too. */
  readonly now?: () => number;
  /** Names of the actions that `host` has besides `fetchOrigin` and `memorySearch`: identifiers. */
  readonly actions?: readonly string[];
  /** In [0, 1); seeds the guest's `Math.random`. Default: the platform's cryptographic generator. */
  readonly random?: () => number;
}

export interface SandboxStats {
  readonly instances: number;
  readonly busy: number;
  readonly waiting: number;
  readonly memoryBytes: number;
  readonly images: number;
  readonly imageBytes: number;
}

/** A script after loading: the state that each call starts from. */
interface Loaded {
  readonly image: Image;
  readonly definition: ToolDefinition | null;
  readonly gasUsed: number;
  /** The most linear memory that a call has used so far, bytes; `null` before the first. */
  peakBytes: number | null;
}

/** What is to run, in an image of its own that the cache names by `key`. */
type Work =
  | {
      readonly kind: "tool";
      readonly key: string;
      readonly tool: Tool;
      /** What the breaker knows it by. */
      readonly suspendable: string;
    }
  | { readonly kind: "program"; readonly key: string; readonly program: Program };

interface RunOptions {
  readonly capabilities: Capabilities;
  readonly gas: number;
  readonly options: CallOptions;
}

type LoadResult = { readonly ok: true; readonly loaded: Loaded } | GuestFailure;

/**
 * Runs foreign scripts under budgets of gas, memory, stack, time and size. Every call starts from the same image of the
 * loaded script, so nothing that a call leaves behind reaches the next one. Guest failures are values; the only errors
 * thrown are {@link PoolExhausted} and faults of the sandbox itself.
 *
 * @example
 * const sandbox = new Sandbox({ engine: { kind: "jspi", module }, limits: DEFAULT_SANDBOX_LIMITS });
 * const outcome = await sandbox.call({ sha256, source, name: "sum_numbers" }, { a: 2, b: 3 }, {});
 * // { ok: true, value: 5, gasUsed: 448 }
 */
export class Sandbox {
  readonly #engine: Engine;
  readonly #limits: SandboxLimits;
  readonly #now: () => number;
  readonly #random: (() => number) | undefined;
  readonly #actions: readonly string[];
  readonly #canWait: boolean;
  readonly #pool: Pool;
  readonly #images: ByteLru<Loaded>;
  readonly #breaker: GasBreaker;
  readonly #turns: Turns;
  readonly #loadFailures = new LoadFailures();
  #baseImage: Image | null = null;

  constructor(options: SandboxOptions) {
    this.#engine = options.engine;
    this.#limits = options.limits;
    this.#now = options.now ?? Date.now;
    this.#random = options.random;
    this.#actions = options.actions ?? [];
    this.#canWait = options.engine.isSynchronous !== true;
    this.#images = new ByteLru(options.limits.imageCacheBytes, ({ image }) => imageBytes(image));
    this.#breaker = new GasBreaker(options.limits.gasExhaustionsPerMinute);
    this.#turns = new Turns(this.#now);
    this.#pool = new Pool({
      limits: options.limits,
      now: this.#now,
      instanceBytes: layoutOf(options.engine.kind).initialPages * PAGE_BYTES,
      createInstance: (mayGrow) =>
        new Instance({
          engine: options.engine,
          now: this.#now,
          memoryBytes: options.limits.linearMemoryBytes,
          mayGrow,
        }),
    });
  }

  /**
   * Loads a script and reads what it registers, under `gas` units (default `loadGas`). The image is cached.
   *
   * @throws {PoolExhausted}
   */
  load(tool: Tool, options: GasCallOptions = {}): Promise<LoadOutcome> {
    return later(this.#loadSteps(tool, options));
  }

  /** {@link load} without a wait, where the engine is synchronous. */
  loadAtOnce(tool: Tool, options: GasCallOptions = {}): LoadOutcome {
    return atOnce(this.#loadSteps(tool, options));
  }

  *#loadSteps(tool: Tool, options: GasCallOptions): Steps<LoadOutcome> {
    const outcome = yield* this.#loadAlone(tool, options);
    if (!outcome.ok) return outcome;
    const { definition, gasUsed } = outcome.loaded;
    if (definition === null) throw new Error("a tool was loaded without a definition");
    return { ok: true, definition, gasUsed };
  }

  /**
   * Calls a tool's handler with `args`, under `callGas` units and `callTimeoutMs`. Loads the script first where its image
   * is not cached; one that does not load is not loaded again for a minute. A script that exhausted its gas `gasExhaustionsPerMinute` times within a minute, for any caller of its
   * origin (`options.tenant`), is not run for a minute: `tool_suspended`.
   *
   * @throws {PoolExhausted}
   */
  call(tool: Tool, args: Json, capabilities: Capabilities, options: CallOptions = {}): Promise<CallOutcome> {
    return later(this.#callSteps(tool, args, capabilities, options));
  }

  /** {@link call} without a wait, where the engine is synchronous: a capability that answers with a promise is refused to the guest. */
  callAtOnce(tool: Tool, args: Json, capabilities: Capabilities, options: CallOptions = {}): CallOutcome {
    return atOnce(this.#callSteps(tool, args, capabilities, options));
  }

  *#callSteps(tool: Tool, args: Json, capabilities: Capabilities, options: CallOptions): Steps<CallOutcome> {
    const suspendable = `${options.tenant?.origin ?? ""} ${tool.sha256}`;
    const work: Work = { kind: "tool", key: toolKey(tool), tool, suspendable };
    const refusal = this.#refusal(work);
    if (refusal !== null) return refusal;
    const outcome = yield* this.#run(work, args, { capabilities, gas: this.#limits.callGas, options });
    if (!outcome.ok && outcome.code === "gas_exhausted") this.#breaker.record(suspendable, this.#now());
    return outcome;
  }

  /**
   * Runs a trusted program on untrusted input, under `gas` units (default `callGas`): for work, such as validation with
   * a publisher's regular expressions, that must not run unbounded on the host.
   *
   * @throws {PoolExhausted}
   */
  evaluate(program: Program, input: Json, options: GasCallOptions = {}): Promise<CallOutcome> {
    return later(this.#evaluateSteps(program, input, options));
  }

  /** {@link evaluate} without a wait, where the engine is synchronous. */
  evaluateAtOnce(program: Program, input: Json, options: GasCallOptions = {}): CallOutcome {
    return atOnce(this.#evaluateSteps(program, input, options));
  }

  #evaluateSteps(program: Program, input: Json, options: GasCallOptions): Steps<CallOutcome> {
    const work: Work = { kind: "program", key: `program\0${program.id}`, program };
    return this.#run(work, input, { capabilities: {}, gas: options.gas ?? this.#limits.callGas, options });
  }

  stats(): SandboxStats {
    return {
      instances: this.#pool.instances,
      busy: this.#pool.busy,
      waiting: this.#pool.waiting,
      memoryBytes: this.#pool.memoryBytes,
      images: this.#images.size,
      imageBytes: this.#images.bytes,
    };
  }

  /** Makes one instance and the image that all scripts start from. */
  async warm(): Promise<void> {
    this.#pool.warm();
    this.#base();
  }

  *#run(work: Work, input: Json, { capabilities, gas, options }: RunOptions): Steps<CallOutcome> {
    const taking = this.#take(options, this.#images.get(work.key)?.peakBytes ?? null);
    const lease = taking instanceof Promise ? ((yield taking) as Lease | GuestFailure) : taking;
    if ("code" in lease) return lease;
    let reusable = false;
    try {
      // Others that ran while this call waited for its turn may have been the last.
      const refusal = this.#refusal(work);
      if (refusal !== null) {
        reusable = true;
        return refusal;
      }
      let loaded = this.#images.get(work.key);
      if (loaded === undefined) {
        const { value: result, reusable: isReusable } = yield* this.#load(lease, work);
        reusable = !result.ok && isReusable;
        if (!result.ok) return result;
        loaded = result.loaded;
      }
      const { instance, control } = lease;
      instance.restore(loaded.image);
      const run = this.#newRun(lease, gas, capabilities);
      const answer = yield* run.call(JSON.stringify(input));
      loaded.peakBytes = Math.max(loaded.peakBytes ?? 0, instance.heapEnd);
      reusable = !run.poisoned && control.stopped === null;
      return this.#callOutcome(run, answer);
    } finally {
      this.#giveBack(lease, reusable);
    }
  }

  /** A failure is the outcome, and nothing runs. */
  #refusal(work: Work): GuestFailure | null {
    if (work.kind === "program") return null;
    return this.#suspension(work.suspendable) ?? this.#loadFailures.get(work.key, this.#now());
  }

  *#load(lease: Lease, work: Work): Steps<{ value: LoadResult; reusable: boolean }> {
    if (work.kind === "program") return yield* this.#loadProgram(lease, work.program);
    const loading = yield* this.#loadTool(lease, work.tool, this.#limits.loadGas);
    const { value } = loading;
    if (!value.ok) this.#loadFailures.record(work.key, value, this.#now());
    // An image that others push out again and again must not cost everybody a load for each call.
    else if (value.loaded.gasUsed > this.#limits.callGas) this.#breaker.record(work.suspendable, this.#now());
    return loading;
  }

  *#loadAlone(tool: Tool, options: GasCallOptions): Steps<LoadResult> {
    const lease = yield* settled(this.#take(options, 0));
    if ("code" in lease) return lease;
    let reusable = false;
    try {
      const cached = this.#images.get(toolKey(tool));
      if (cached !== undefined) {
        reusable = true;
        return { ok: true, loaded: cached };
      }
      const loading = yield* this.#loadTool(lease, tool, options.gas ?? this.#limits.loadGas);
      reusable = loading.reusable;
      return loading.value;
    } finally {
      this.#giveBack(lease, reusable);
    }
  }

  #suspension(key: string): GuestFailure | null {
    const ms = this.#breaker.remainingMs(key, this.#now());
    if (ms === 0) return null;
    const often = `${this.#limits.gasExhaustionsPerMinute} times within a minute`;
    const message = `tool suspended: it exhausted its gas ${often}; call it again in ${Math.ceil(ms / 1000)} s`;
    return { ok: false, code: "tool_suspended", message, gasUsed: 0 };
  }

  #callOutcome(run: GuestRun, answer: GuestAnswer | GuestFailure): CallOutcome {
    if (!answer.ok) return "gasUsed" in answer ? answer : run.fail(answer.code, answer.message);
    const value = parseJson(answer.json);
    if (value === undefined) return run.fail("bad_result", "the result is not JSON");
    return { ok: true, value, gasUsed: run.gasUsed };
  }

  /** An instance, at once where one is free, or how the call ended that waited for one. */
  #take(options: CallOptions, need: number | null): Lease | Promise<Lease | GuestFailure> {
    const control = new CallControl({
      deadline: this.#now() + this.#limits.callTimeoutMs,
      now: this.#now,
      signal: options.signal,
    });
    this.#turns.begin();
    const { tenant } = options;
    const lease =
      control.stopped === null && control.remainingMs > 0 ? this.#pool.takeAtOnce(control, tenant, need) : null;
    if (lease !== null) return lease;
    if (!this.#canWait)
      throw new PoolExhausted(`${this.#limits.poolSize} calls are under way, each within the one before`);
    return this.#takeLater(control, tenant, need);
  }

  async #takeLater(
    control: CallControl,
    tenant: Tenant | undefined,
    need: number | null,
  ): Promise<Lease | GuestFailure> {
    try {
      return await this.#pool.take(control, tenant, need);
    } catch (error) {
      if (!(error instanceof CallStopped)) throw error;
      return { ok: false, code: error.code, message: STOP_MESSAGES[error.code], gasUsed: 0 };
    }
  }

  #giveBack(lease: Lease, reusable: boolean): void {
    lease.control.finish();
    this.#pool.release(lease, reusable);
  }

  #base(): Image {
    this.#baseImage ??= makeBaseImage(this.#engine, this.#limits, this.#now, this.#actions);
    return this.#baseImage;
  }

  #newRun(lease: Lease, gas: number, capabilities: Capabilities): GuestRun {
    return new GuestRun({
      instance: lease.instance,
      limits: this.#limits,
      gas,
      capabilities,
      control: lease.control,
      newSeed: () => newSeed(this.#random),
      nextTurn: () => this.#turns.next(lease),
      canWait: this.#canWait,
    });
  }

  *#loadTool(lease: Lease, tool: Tool, gas: number): Steps<{ value: LoadResult; reusable: boolean }> {
    lease.instance.restore(this.#base());
    const run = this.#newRun(lease, gas, {});
    const result = yield* this.#readTool(lease, run, tool);
    if (result.ok) this.#images.set(toolKey(tool), result.loaded);
    return { value: result, reusable: !run.poisoned };
  }

  *#readTool({ instance }: Lease, run: GuestRun, tool: Tool): Steps<LoadResult> {
    const evaluated = yield* run.evaluate(tool.source, "tool.js");
    if (typeof evaluated !== "number") return evaluated;
    const answer = yield* run.ask(
      DISPATCH.define,
      () => instance.newString(JSON.stringify(tool.name)),
      this.#limits.definitionBytes,
    );
    if (!answer.ok) return "gasUsed" in answer ? answer : run.fail(answer.code, answer.message);
    const definition = readDefinition(answer.json);
    if (definition === null) return run.fail("bad_definition", "the definition is not JSON of the expected shape");
    return this.#finishLoad(run, instance, definition);
  }

  *#loadProgram(lease: Lease, program: Program): Steps<{ value: LoadResult; reusable: boolean }> {
    const { instance } = lease;
    instance.restore(this.#base());
    const run = this.#newRun(lease, this.#limits.loadGas, {});
    const evaluated = yield* run.evaluate(`(${program.source}\n)`, "program.js");
    if (typeof evaluated !== "number") return { value: evaluated, reusable: !run.poisoned };
    const answer = yield* run.ask(DISPATCH.program, () => evaluated, this.#limits.definitionBytes);
    if (!answer.ok) return { value: run.fail(answer.code, answer.message), reusable: !run.poisoned };
    const result = this.#finishLoad(run, instance, null);
    if (result.ok) this.#images.set(`program\0${program.id}`, result.loaded);
    return { value: result, reusable: !run.poisoned };
  }

  #finishLoad(run: GuestRun, instance: Instance, definition: ToolDefinition | null): LoadResult {
    const image = takeImage(instance);
    const { imageBytes: maximum } = this.#limits;
    const size = imageBytes(image);
    if (size > maximum) {
      return run.fail("image_too_large", `the loaded script takes ${size} bytes of memory; ${maximum} are allowed`);
    }
    return { ok: true, loaded: { image, definition, gasUsed: run.gasUsed, peakBytes: null } };
  }
}

function toolKey(tool: Tool): string {
  return `tool\0${tool.sha256}\0${tool.name ?? "\0"}`;
}

/** Checks, outside of the guest, the shape of the definition that it delivered. */
function readDefinition(json: string): ToolDefinition | null {
  const value = parseJson(json);
  if (!isJsonObject(value) || typeof value.name !== "string" || !isJsonObject(value.inputSchema)) return null;
  for (const key of ["title", "description"]) {
    if (value[key] !== undefined && typeof value[key] !== "string") return null;
  }
  for (const key of ["outputSchema", "annotations"]) {
    if (value[key] !== undefined && !isJsonObject(value[key])) return null;
  }
  return value as unknown as ToolDefinition;
}
