import type { Json } from "../json.ts";
import type { SandboxLimits } from "../limits.ts";
import { type CallControl, CallStopped } from "./call-control.ts";
import { type Capabilities, MAX_ACTION_CALLS, type MemoryHit, type SearchMeter } from "./capabilities.ts";
import { type HostSide, type Instance, MOST_GAS, OutOfMemory } from "./instance.ts";
import { readSearchArguments } from "./memory-search.ts";
import type { GuestErrorCode, GuestFailure } from "./outcome.ts";
import { capMessage, exceedsBytes, type GuestAnswer, parseJson, readAnswer } from "./outcome-text.ts";
import { ASK, CAPABILITY, DISPATCH, VALUE } from "./protocol.ts";
import { type Steps, settled } from "./steps.ts";

/**
 * Gas beyond the budget in which a guest that overspends is ended by the interrupt handler, with its stack unwound; where
 * native code does not look at the handler, the hard trap follows at its end. 200,000 units are about a millisecond.
 */
const GRACE_GAS = 200_000;

/** Bytes of an answer that cost the guest one unit of gas, for encoding and copying. */
const ANSWER_BYTES_PER_GAS = 16;

/** Jobs run in one go; none of them costs anything once the outcome is there, but they are run to the end of the go. */
const JOBS_AT_ONCE = 32;

/** A heap that reaches this share of the guest's limit makes a thrown `null` an allocation failure. */
const TIGHT_SHARE = 0.75;

export interface GuestRunOptions {
  readonly instance: Instance;
  readonly limits: SandboxLimits;
  readonly gas: number;
  readonly capabilities: Capabilities;
  readonly control: CallControl;
  /** 32 hexadecimal digits. */
  readonly newSeed: () => string;
  /** Settles when it is this call's turn to compute on, with the units of gas that it has for it. */
  readonly nextTurn: () => Promise<number>;
  /** Whether the guest can be suspended until an answer is there. */
  readonly canWait: boolean;
}

/** The host's side of one use of an instance: its gas, its capabilities, its end. */
export class GuestRun implements HostSide {
  readonly #instance: Instance;
  readonly #limits: SandboxLimits;
  readonly #budget: number;
  readonly #capabilities: Capabilities;
  readonly #control: CallControl;
  readonly #newSeed: () => string;
  readonly #nextTurn: () => Promise<number>;
  readonly #canWait: boolean;
  #fetchCalls = 0;
  #searchCalls = 0;
  #actionCalls = 0;
  #answer: GuestAnswer | null = null;
  #gasAtAnswer: number | null = null;
  /**
   * The instance must not be used again: its call was abandoned while suspended, or the engine failed in a way that is not
   * understood. A trap for gas, memory or stack is: restoring an image rewrites all of an instance's mutable state.
   */
  poisoned = false;

  constructor(options: GuestRunOptions) {
    this.#instance = options.instance;
    this.#limits = options.limits;
    this.#budget = Math.min(options.gas, MOST_GAS - GRACE_GAS);
    this.#capabilities = options.capabilities;
    this.#control = options.control;
    this.#newSeed = options.newSeed;
    this.#nextTurn = options.nextTurn;
    this.#canWait = options.canWait;
    options.instance.hostSide = this;
    options.instance.gas = this.#budget + GRACE_GAS;
    options.instance.gasFloor = GRACE_GAS;
  }

  /** Units used up to the answer, or until now; never more than the budget. */
  get gasUsed(): number {
    return Math.min(this.#budget, this.#spent);
  }

  get #spent(): number {
    return this.#budget + GRACE_GAS - (this.#gasAtAnswer ?? this.#instance.gas);
  }

  fail(code: GuestErrorCode, message: string): GuestFailure {
    return { ok: false, code, message: capMessage(message), gasUsed: this.gasUsed };
  }

  /** Evaluates a script, runs the jobs that it left and returns the pointer of its value. */
  *evaluate(source: string, fileName: string): Steps<number | GuestFailure> {
    try {
      const { instance, exports } = this.#parts;
      const code = instance.newCString(source);
      const file = instance.newCString(fileName);
      const value = yield* settled(instance.evaluate(instance.context, code.pointer, code.length, file.pointer, 0, 0));
      exports.free(code.pointer);
      exports.free(file.pointer);
      return (yield* this.#exception(value)) ?? (yield* this.#runJobs(() => false)) ?? value;
    } catch (error) {
      return this.#failureOf(error);
    }
  }

  /** One call of `dispatch` with a guest value, which answers at once; the answer may have `maximumBytes`. */
  *ask(operation: number, makePayload: () => number, maximumBytes: number): Steps<GuestAnswer | GuestFailure> {
    try {
      const { instance } = this.#parts;
      const value = yield* settled(instance.call(...this.#dispatchArguments(operation, makePayload())));
      const failure = yield* this.#exception(value);
      if (failure !== null) return failure;
      const answer = this.#within(readAnswer(instance.readString(value)));
      if (answer.ok && exceedsBytes(answer.json, maximumBytes)) {
        return this.fail("bad_definition", `the definition exceeds ${maximumBytes} bytes`);
      }
      return answer;
    } catch (error) {
      return this.#failureOf(error);
    }
  }

  /** Runs the handler with arguments in JSON to its outcome, through any number of suspensions and promise jobs. */
  *call(argumentsJson: string): Steps<GuestAnswer | GuestFailure> {
    const { instance } = this.#parts;
    try {
      this.#control.check();
      const called = instance.call(
        ...this.#dispatchArguments(DISPATCH.call + this.#capabilityBits(), instance.newString(argumentsJson)),
      );
      const value = typeof called === "number" ? called : ((yield called) as number);
      this.#control.check();
      const exception = instance.exports.QTS_ResolveException(instance.context, value);
      if (exception !== 0) return yield* this.#explain(exception);
      const text = instance.readString(value);
      if (text !== "") return this.#result(readAnswer(text));
      const ended = yield* this.#runJobs(() => this.#answer !== null);
      if (ended !== null) return ended;
      return this.#answer === null
        ? this.fail("did_not_settle", "the handler returned a promise that can never settle")
        : this.#result(this.#answer);
    } catch (error) {
      return this.#answer === null ? this.#failureOf(error) : this.#result(this.#answer);
    }
  }

  // ---- the host function ----

  answer(ask: number, text: string | null): string | Promise<string> {
    if (this.#answer !== null) return refuse("the call is over");
    switch (ask) {
      case ASK.settle:
        this.#answer = readAnswer(text);
        this.#gasAtAnswer = this.#instance.gas;
        return `${VALUE}null`;
      case ASK.jobsPending:
        return String(this.#instance.exports.QTS_IsJobPending(this.#instance.runtime));
      case ASK.seed:
        return this.#newSeed();
      case ASK.memoryTight:
        return this.#memoryTight() ? "1" : "0";
      case ASK.fetchOrigin:
        return this.#fetchOrigin(text);
      case ASK.memorySearch:
        return this.#memorySearch(text);
      case ASK.action:
        return this.#act(text);
      default:
        return refuse("unknown request");
    }
  }

  pause(): Promise<number> {
    return this.#control.wait(this.#nextTurn());
  }

  #fetchOrigin(text: string | null): string | Promise<string> {
    const { fetchOrigin } = this.#capabilities;
    if (fetchOrigin === undefined) return refuse("host.fetchOrigin is not available to this tool");
    if (!this.#canWait) return refuse(tooLate("fetchOrigin"));
    if (++this.#fetchCalls > this.#limits.fetchCalls) {
      return refuse(`host.fetchOrigin: over ${this.#limits.fetchCalls} calls in one tool call`);
    }
    const parameters = parseJson(text ?? "");
    const [path, options] = Array.isArray(parameters) ? (parameters as readonly Json[]) : [];
    if (typeof path !== "string") return refuse("host.fetchOrigin: the path must be a string");
    // A call that is over asks for nothing more.
    this.#control.check();
    return this.#control.wait(fetched(fetchOrigin, path, options, this.#control.signal)).then((answer) => {
      this.#charge(Math.ceil(answer.length / ANSWER_BYTES_PER_GAS));
      return answer;
    });
  }

  #memorySearch(text: string | null): string | Promise<string> {
    const { memorySearch } = this.#capabilities;
    if (memorySearch === undefined) return refuse("host.memorySearch is not available to this tool");
    if (++this.#searchCalls > this.#limits.memorySearchCalls) {
      return refuse(`host.memorySearch: over ${this.#limits.memorySearchCalls} calls in one tool call`);
    }
    const request = readSearchArguments(parseJson(text ?? ""), this.#limits);
    if (request.kind === "too_large") return refuse(request.error);
    if (request.kind === "bad_query") return `${VALUE}${JSON.stringify({ error: request.error })}`;
    try {
      const hits = memorySearch(request.query, request.k, this.#searchMeter());
      if (!(hits instanceof Promise)) return this.#found(hits);
      if (!this.#canWait) return abandon(hits, tooLate("memorySearch"));
      this.#control.check();
      return this.#control.wait(
        hits.then(
          (later) => this.#found(later),
          (error: unknown) => notFound(error),
        ),
      );
    } catch (error) {
      if (error instanceof CallStopped) throw error;
      return notFound(error);
    }
  }

  #found(hits: readonly MemoryHit[]): string {
    const answer = `${VALUE}${JSON.stringify({ hits })}`;
    this.#charge(Math.ceil(answer.length / ANSWER_BYTES_PER_GAS));
    return answer;
  }

  #act(text: string | null): string | Promise<string> {
    const request = parseJson(text ?? "");
    const [name, parameters] = Array.isArray(request) ? (request as readonly Json[]) : [];
    const action = typeof name === "string" ? this.#capabilities.actions?.get(name) : undefined;
    if (action === undefined || !Array.isArray(parameters)) return refuse("this action is not available to this tool");
    if (++this.#actionCalls > MAX_ACTION_CALLS)
      return refuse(`host.${name}: over ${MAX_ACTION_CALLS} calls in one tool call`);
    this.#control.check();
    try {
      const value = action(parameters as readonly Json[], this.#control.signal);
      if (!(value instanceof Promise)) return this.#acted(`host.${name}`, value);
      if (!this.#canWait) return abandon(value, tooLate(`${name}`));
      return this.#control.wait(
        value.then(
          (late) => this.#acted(`host.${name}`, late),
          (error: unknown) => refuse(messageOf(error)),
        ),
      );
    } catch (error) {
      if (error instanceof CallStopped) throw error;
      return refuse(messageOf(error));
    }
  }

  #acted(action: string, value: Json): string {
    let json: string | undefined;
    try {
      json = JSON.stringify(value ?? null);
    } catch {
      // Cyclic, too deep, or with a number that JSON has no word for.
    }
    if (json === undefined) return refuse(`${action} gave an answer that is not JSON`);
    if (exceedsBytes(json, this.#limits.resultBytes)) {
      return refuse(`${action} gave an answer of more than ${this.#limits.resultBytes} bytes`);
    }
    this.#charge(Math.ceil(json.length / ANSWER_BYTES_PER_GAS));
    return `${VALUE}${json}`;
  }

  #searchMeter(): SearchMeter {
    const control = this.#control;
    return {
      charge: (gas) => {
        this.#charge(gas);
        if (this.#instance.gas < 0) throw new Error("gas exhausted");
      },
      get signal() {
        return control.signal;
      },
    };
  }

  /** Work done outside for the guest. Below zero the guest traps at its next step. */
  #charge(gas: number): void {
    this.#instance.gas = Math.max(-1, this.#instance.gas - Math.max(0, Math.ceil(gas)));
  }

  #capabilityBits(): number {
    const { fetchOrigin, memorySearch, actions } = this.#capabilities;
    return (
      (fetchOrigin === undefined ? 0 : CAPABILITY.fetchOrigin) |
      (memorySearch === undefined ? 0 : CAPABILITY.memorySearch) |
      (actions === undefined ? 0 : CAPABILITY.actions)
    );
  }

  // ---- failures ----

  get #parts() {
    return { instance: this.#instance, exports: this.#instance.exports };
  }

  #dispatchArguments(operation: number, payload: number): [number, number, number, number, number] {
    const { instance, exports } = this.#parts;
    const pointers = instance.newArguments(exports.QTS_NewFloat64(instance.context, operation), payload);
    return [instance.context, instance.dispatch, exports.QTS_GetUndefined(), 2, pointers];
  }

  /** Runs promise jobs until it is `enough` or none is left. */
  *#runJobs(enough: () => boolean): Steps<GuestFailure | null> {
    const { instance, exports } = this.#parts;
    const contextOut = exports.malloc(4);
    if (contextOut === 0) throw new OutOfMemory();
    while (!enough() && exports.QTS_IsJobPending(instance.runtime) !== 0) {
      const ran = instance.executeJobs(instance.runtime, JOBS_AT_ONCE, contextOut);
      const result = typeof ran === "number" ? ran : ((yield ran) as number);
      if (enough()) break;
      this.#control.check();
      if (instance.interrupted) return this.#gasExhausted();
      // A job that throws has no one to tell; the promise it should have settled stays pending.
      exports.QTS_ResolveException(instance.context, result);
    }
    return null;
  }

  /** The failure that an exception stands for; `null` for an ordinary value. */
  *#exception(value: number): Steps<GuestFailure | null> {
    const { instance, exports } = this.#parts;
    const exception = exports.QTS_ResolveException(instance.context, value);
    return exception === 0 ? null : yield* this.#explain(exception);
  }

  *#explain(exception: number): Steps<GuestFailure> {
    const { instance, exports } = this.#parts;
    if (instance.interrupted) return this.#gasExhausted();
    const text = yield* settled(instance.call(...this.#dispatchArguments(DISPATCH.explain, exception)));
    if (exports.QTS_ResolveException(instance.context, text) !== 0) {
      // Even describing it failed: of the causes that are left, only memory does that.
      return instance.interrupted ? this.#gasExhausted() : this.fail("out_of_memory", "out of memory");
    }
    const answer = readAnswer(instance.readString(text));
    return answer.ok
      ? this.fail("crashed", "the sandbox gave an unreadable answer")
      : this.fail(answer.code, answer.message);
  }

  /** An answer that came in time. The budget is exact even where the interrupt handler had no chance to look. */
  #within(answer: GuestAnswer): GuestAnswer | GuestFailure {
    if (this.#spent > this.#budget) return this.#gasExhausted();
    return answer.ok ? answer : this.fail(answer.code, answer.message);
  }

  #result(answer: GuestAnswer): GuestAnswer | GuestFailure {
    if (answer.ok && exceedsBytes(answer.json, this.#limits.resultBytes)) {
      return this.fail("result_too_large", `result too large: over ${this.#limits.resultBytes} bytes`);
    }
    return this.#within(answer);
  }

  #gasExhausted(): GuestFailure {
    return this.fail("gas_exhausted", `gas exhausted: the tool used its ${this.#budget} units`);
  }

  #stackOverflow(): GuestFailure {
    return this.fail("stack_overflow", "Maximum call stack size exceeded");
  }

  #memoryTight(): boolean {
    const { instance } = this.#parts;
    const used = instance.heapEnd - instance.layout.stackTop;
    return instance.growthRefused || used > this.#limits.guestMemoryBytes * TIGHT_SHARE;
  }

  #failureOf(error: unknown): GuestFailure {
    if (error instanceof CallStopped) {
      this.poisoned = true;
      return this.fail(error.code, STOP_MESSAGES[error.code]);
    }
    if (this.#instance.unwindFailed) {
      this.poisoned = true;
      return this.fail("stack_overflow", "host function called too deep in the stack");
    }
    if (this.#instance.gas < 0) return this.#gasExhausted();
    if (this.#instance.stackFull) return this.#stackOverflow();
    if (error instanceof OutOfMemory) return this.fail("out_of_memory", "out of memory");
    // V8 and JavaScriptCore throw RangeError, SpiderMonkey InternalError, when the native stack is full.
    if (error instanceof RangeError || (error instanceof Error && error.name === "InternalError")) {
      return this.#stackOverflow();
    }
    this.poisoned = true;
    if (this.#memoryTight()) return this.fail("out_of_memory", "out of memory");
    return this.fail("crashed", "the tool crashed its sandbox");
  }
}

export const STOP_MESSAGES = {
  timeout: "timeout: the tool call took too long",
  cancelled: "the call was cancelled",
  out_of_memory: "out of memory: the sandbox needed this tool's memory for others",
} as const;

function refuse(message: string): string {
  return `e${JSON.stringify(message)}`;
}

function tooLate(name: string): string {
  return `host.${name} has no answer at once, and this host cannot wait for one`;
}

/** Nobody will look at the answer any more, nor at how it failed. */
function abandon(late: Promise<unknown>, message: string): string {
  late.catch(() => {});
  return refuse(message);
}

/** The answer of the origin, as the guest reads it. Never rejects: what went wrong is an answer, too. */
async function fetched(
  fetchOrigin: NonNullable<Capabilities["fetchOrigin"]>,
  path: string,
  options: Json | undefined,
  signal: AbortSignal,
): Promise<string> {
  try {
    return `${VALUE}${JSON.stringify(await fetchOrigin(path, options, signal))}`;
  } catch (error) {
    return refuse(messageOf(error));
  }
}

/** A search that failed is an answer, too. */
function notFound(error: unknown): string {
  return `${VALUE}${JSON.stringify({ error: `memorySearch: ${messageOf(error)}` })}`;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return capMessage(error.message);
  return typeof error === "string" ? capMessage(error) : "the host failed";
}
