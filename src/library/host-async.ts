import type { ListedTool } from "../core/mcp/provider.ts";
import { Sandbox } from "../core/sandbox/sandbox.ts";
import { later } from "../core/sandbox/steps.ts";
import { EmbeddedTools } from "./embedded-tools.ts";
import { loadEngine } from "./engine-file.ts";
import { Lifecycle } from "./lifecycle.ts";
import { type AsyncToolHostOptions, readActions, readLimits, readMemory, readOriginAccess } from "./options.ts";

export type { OriginFetcher } from "../core/fetch/origin-fetch.ts";
export type { ListedTool } from "../core/mcp/provider.ts";
export type { WasmSource } from "./engine-file.ts";
export type { AsyncToolHostOptions, Capability, CapabilityCall, ToolHostOptions } from "./options.ts";
export { CapabilityError, ToolHostError, type ToolHostErrorCode } from "./tool-host-error.ts";

/** Of one call. */
export interface CallOptions {
  /** Ends the call, which is then `cancelled`. */
  readonly signal?: AbortSignal;
}

/**
 * Runs tools in the sandbox; while one waits for its origin or a capability, others run, up to `poolSize` at a time.
 *
 * @example
 * const host = new AsyncToolHost({ allowedOrigin: "https://example.com" });
 * await host.init();
 * host.loadToolSource('registerTool({ name: "home", handler: () => host.fetchOrigin("/").status })');
 * await host.callTool("home", {}); // 200
 * host.dispose();
 */
export class AsyncToolHost {
  readonly #options: AsyncToolHostOptions;
  readonly #life = new Lifecycle<EmbeddedTools>();
  readonly #closing = new AbortController();

  /** @throws {ToolHostError} `bad_option`. */
  constructor(options: AsyncToolHostOptions = {}) {
    readActions(options);
    readOriginAccess(options, readLimits(options));
    this.#options = options;
  }

  /** Compiles the engine. @throws {ToolHostError} `already_initialised`, `disposed`, `no_engine`, `bad_option`, `bad_memory`. */
  init(): Promise<void> {
    return this.#life.start(async () => {
      const limits = readLimits(this.#options);
      const actions = readActions(this.#options);
      const engine = await loadEngine(this.#options.wasm, false);
      const names = [...actions.keys()];
      const sandbox = new Sandbox({ engine, limits, actions: names });
      // Loading waits for nothing.
      const loader = new Sandbox({ engine: { ...engine, isSynchronous: true }, limits, actions: names });
      const capabilities = {
        ...readOriginAccess(this.#options, limits),
        ...(await readMemory(this.#options)),
        ...(actions.size > 0 ? { actions } : {}),
      };
      return new EmbeddedTools({ loader, runtime: { sandbox }, capabilities, schemaGas: limits.callGas });
    });
  }

  /**
   * Loads a script that calls `registerTool` once. It is done when this returns: nothing need be awaited.
   *
   * @returns the tool as it is listed.
   * @throws {ToolHostError} `duplicate_tool`, or why the source cannot be loaded.
   */
  loadToolSource(source: string): ListedTool {
    return this.#life.parts.load(source);
  }

  /** Copies, in the order in which they were loaded. */
  listTools(): ListedTool[] {
    return this.#life.parts.listed;
  }

  /**
   * Calls a tool with arguments that its `inputSchema` allows. Each call starts from the tool as it was loaded, whatever others are under way.
   *
   * @returns JSON, which the tool made: untrusted.
   * @throws {ToolHostError} as a rejection: `unknown_tool`, or why the tool gave no value.
   */
  async callTool<T = unknown>(name: string, args: object = {}, { signal }: CallOptions = {}): Promise<T> {
    const { parts } = this.#life;
    const closing = this.#closing.signal;
    const ending = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    return (await later(parts.call(name, args, ending))) as T;
  }

  /** Ends the calls that are under way and lets go of all memory. Any later call is an error `disposed`; only disposing again is none. */
  dispose(): void {
    this.#life.dispose();
    this.#closing.abort();
  }
}
