import type { ListedTool } from "../core/mcp/provider.ts";
import { Sandbox } from "../core/sandbox/sandbox.ts";
import { atOnce } from "../core/sandbox/steps.ts";
import { EmbeddedTools } from "./embedded-tools.ts";
import { loadEngine } from "./engine-file.ts";
import { Lifecycle } from "./lifecycle.ts";
import { readActions, readLimits, readMemory, type ToolHostOptions } from "./options.ts";

export type { ListedTool } from "../core/mcp/provider.ts";
export type { WasmSource } from "./engine-file.ts";
export type { Capability, CapabilityCall, ToolHostOptions } from "./options.ts";
export { CapabilityError, ToolHostError, type ToolHostErrorCode } from "./tool-host-error.ts";

/**
 * Runs tools in the sandbox, synchronously: a call gives its value at once. Its tools cannot wait, so they have no `host.fetchOrigin`, and a
 * capability must answer at once; in all else it is an `AsyncToolHost`.
 *
 * @example
 * const host = new ToolHost({ extraCapabilities: { rate: (currency) => rates[currency] ?? null } });
 * await host.init();
 * host.loadToolSource('registerTool({ name: "convert", handler: ({ amount, to }) => amount * host.rate(to) })');
 * host.callTool("convert", { amount: 10, to: "EUR" }); // 9.2
 * host.dispose();
 */
export class ToolHost {
  readonly #options: ToolHostOptions;
  readonly #life = new Lifecycle<EmbeddedTools>();

  /** @throws {ToolHostError} `bad_option`. */
  constructor(options: ToolHostOptions = {}) {
    readLimits(options);
    readActions(options);
    this.#options = options;
  }

  /** Compiles the engine. @throws {ToolHostError} `already_initialised`, `disposed`, `no_engine`, `bad_option`, `bad_memory`. */
  init(): Promise<void> {
    return this.#life.start(async () => {
      const limits = readLimits(this.#options);
      const actions = readActions(this.#options);
      const engine = await loadEngine(this.#options.wasm, true);
      const loader = new Sandbox({ engine, limits, actions: [...actions.keys()] });
      const runtime = {
        sandbox: { call: loader.callAtOnce.bind(loader), evaluate: loader.evaluateAtOnce.bind(loader) },
      };
      const capabilities = { ...(await readMemory(this.#options)), ...(actions.size > 0 ? { actions } : {}) };
      return new EmbeddedTools({ loader, runtime, capabilities, schemaGas: limits.callGas });
    });
  }

  /**
   * Loads a script that calls `registerTool` once.
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
   * Calls a tool with arguments that its `inputSchema` allows. Each call starts from the tool as it was loaded.
   *
   * @returns JSON, which the tool made: untrusted.
   * @throws {ToolHostError} `unknown_tool`, or why the tool gave no value.
   */
  callTool<T = unknown>(name: string, args: object = {}): T {
    return atOnce(this.#life.parts.call(name, args, undefined)) as T;
  }

  /** Lets go of all memory. Any later call is an error `disposed`; only disposing again is none. */
  dispose(): void {
    this.#life.dispose();
  }
}
