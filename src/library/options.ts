import { createFetchOrigin } from "../core/fetch/fetch-origin.ts";
import type { OriginFetcher } from "../core/fetch/origin-fetch.ts";
import { sha256Hex } from "../core/integrity.ts";
import type { Json } from "../core/json.ts";
import { DEFAULT_SANDBOX_LIMITS, type SandboxLimits } from "../core/limits.ts";
import { MemoryIndexes } from "../core/memory/memory-indexes.ts";
import { createMemorySearch } from "../core/memory/memory-search.ts";
import { SnapshotError } from "../core/memory/snapshot-error.ts";
import { OriginError, parseOrigin } from "../core/origin.ts";
import type { Action, Capabilities } from "../core/sandbox/capabilities.ts";
import type { WasmSource } from "./engine-file.ts";
import { CapabilityError, ToolHostError } from "./tool-host-error.ts";

/** What `this` is to a capability that is no arrow function. */
export interface CapabilityCall {
  /** Ends with the tool call. */
  readonly signal: AbortSignal;
}

/**
 * An action that tools may ask of the program that embeds them, as `host.<name>(…)`. Its parameters are the tool's, untrusted JSON; it answers
 * with JSON of at most `resultBytes`, at once or with a promise (in a `ToolHost`: at once). In one tool call, 50 of them may be made.
 *
 * What it throws the tool learns as `host.<name> failed`, and nothing more, unless it is a {@link CapabilityError}.
 */
// biome-ignore lint/suspicious/noExplicitAny: parameters that the embedder declares as what its tools are meant to pass.
export type Capability = (this: CapabilityCall, ...parameters: any[]) => unknown;

/** What both kinds of host take. */
export interface ToolHostOptions {
  /** By the names that `host` has them under: identifiers. `memorySearch` may be one of them, `fetchOrigin` may not. */
  readonly extraCapabilities?: Readonly<Record<string, Capability>>;
  /** A snapshot `minimemory-okf-v1` for `host.memorySearch`. */
  readonly memory?: Uint8Array;
  /** Budgets that differ from the usual ones. */
  readonly limits?: Partial<SandboxLimits>;
  /** The engine, where it does not lie beside this module: in a Worker, or behind a bundler that leaves it out. */
  readonly wasm?: WasmSource;
  /** Told of whatever a capability throws, since the tool is not. Must not throw. */
  onCapabilityError?(name: string, error: unknown): void;
}

export interface AsyncToolHostOptions extends ToolHostOptions {
  /** What `host.fetchOrigin` may reach: an https origin, or an http one of this machine, with its base path. Absent: nothing. */
  readonly allowedOrigin?: string;
  /** Reaches it. Default: the platform's `fetch`. */
  readonly fetch?: OriginFetcher;
}

const CAPABILITY_NAME = /^[A-Za-z$_][\w$]{0,63}$/;
const RESERVED_NAMES = new Set([
  "fetchOrigin",
  "registerTool",
  "constructor",
  "prototype",
  "__proto__",
  "then",
  "toJSON",
]);

/** @throws {ToolHostError} `bad_option`. */
export function readLimits({ limits = {} }: ToolHostOptions): SandboxLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_SANDBOX_LIMITS, name)) throw badOption(`There is no limit \`${name}\`.`);
    if (!Number.isSafeInteger(value) || value < 0)
      throw badOption(`The limit \`${name}\` must be an integer, 0 or more.`);
  }
  return { ...DEFAULT_SANDBOX_LIMITS, ...limits };
}

/** @throws {ToolHostError} `bad_option`. */
export function readActions({
  extraCapabilities = {},
  onCapabilityError,
}: ToolHostOptions): ReadonlyMap<string, Action> {
  return new Map(
    Object.entries(extraCapabilities).map(([name, capability]): [string, Action] => {
      if (!CAPABILITY_NAME.test(name) || RESERVED_NAMES.has(name)) {
        throw badOption(
          `The capability \`${name.slice(0, 64)}\` must have another name: an identifier that is not reserved.`,
        );
      }
      if (typeof capability !== "function") throw badOption(`The capability \`${name}\` must be a function.`);
      return [name, actionOf(name, capability, onCapabilityError)];
    }),
  );
}

function actionOf(name: string, capability: Capability, onError: ToolHostOptions["onCapabilityError"]): Action {
  const told = (error: unknown) => {
    if (error instanceof CapabilityError) return new Error(error.message);
    onError?.(name, error);
    return new Error(`host.${name} failed`);
  };
  const plain = (value: unknown) => plainJson(name, value, told);
  return (parameters, signal) => {
    let answer: unknown;
    try {
      answer = capability.apply({ signal }, [...parameters]);
    } catch (error) {
      throw told(error);
    }
    if (!isThenable(answer)) return plain(answer);
    return Promise.resolve(answer).then(plain, (error) => {
      throw told(error);
    });
  };
}

/** What runs here is the embedder's own, such as a `toJSON`. What is no JSON stays as it is, and the sandbox refuses it. */
function plainJson(name: string, value: unknown, told: (error: unknown) => Error): Json {
  try {
    const text = JSON.stringify(value ?? null);
    return text === undefined ? (value as Json) : (JSON.parse(text) as Json);
  } catch (error) {
    throw told(new TypeError(`The capability ${name} gave an answer that is not JSON.`, { cause: error }));
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** @throws {ToolHostError} `bad_option`, where the address is none. */
export function readOriginAccess(
  { allowedOrigin, fetch = globalFetch }: AsyncToolHostOptions,
  limits: SandboxLimits,
): Pick<Capabilities, "fetchOrigin"> {
  if (allowedOrigin === undefined) return {};
  try {
    const origin = parseOrigin(allowedOrigin, { allowLoopbackHttp: true, ownHosts: [] });
    return { fetchOrigin: createFetchOrigin({ origin, fetch, limits }) };
  } catch (error) {
    if (!(error instanceof OriginError)) throw error;
    throw new ToolHostError("bad_option", `\`allowedOrigin\`: ${error.message}`, { cause: error });
  }
}

/** Found when it is used, and called as the platform demands, without a `this` of ours. */
export const globalFetch: OriginFetcher = (url, init) => fetch(url, init);

/** Builds the index before any tool asks for it: one that cannot wait could not. @throws {ToolHostError} `bad_memory`. */
export async function readMemory({ memory }: ToolHostOptions): Promise<Pick<Capabilities, "memorySearch">> {
  if (memory === undefined) return {};
  if (!(memory instanceof Uint8Array)) throw badOption("`memory` must be the bytes of a snapshot.");
  const snapshot = { sha256: await sha256Hex(memory), bytes: memory };
  const indexes = new MemoryIndexes();
  try {
    await indexes.build(snapshot, () => {}, new AbortController().signal);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    throw new ToolHostError("bad_memory", `The snapshot given as \`memory\` cannot be searched: ${error.message}`, {
      cause: error,
    });
  }
  return { memorySearch: createMemorySearch(snapshot, indexes) };
}

function badOption(message: string): ToolHostError {
  return new ToolHostError("bad_option", message);
}
