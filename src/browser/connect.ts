import type { OriginFetcher } from "../core/fetch/origin-fetch.ts";
import type { Json } from "../core/json.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../core/limits.ts";
import type { CallContext, ListedTool } from "../core/mcp/provider.ts";
import { LATEST_HANDSHAKE_VERSION } from "../core/mcp/revisions.ts";
import { type CanonicalOrigin, OriginError, parseOrigin } from "../core/origin.ts";
import type { RuntimeEvent } from "../core/runtime/origin-status.ts";
import { Runtime } from "../core/runtime/runtime.ts";
import { PoolExhausted } from "../core/sandbox/outcome.ts";
import { Sandbox } from "../core/sandbox/sandbox.ts";
import { listTool } from "../core/serve-listing.ts";
import { servedRecipes } from "../core/serve-recipes.ts";
import { GUIDE_TOOL } from "../core/skill.ts";
import { readArguments } from "../library/embedded-tools.ts";
import { loadEngine, type WasmSource } from "../library/engine-file.ts";
import { globalFetch } from "../library/options.ts";
import { ToolHostError } from "../library/tool-host-error.ts";
import { logLines } from "./log-lines.ts";
import { pageFetch } from "./page-fetch.ts";
import { readReviewers, type TrustedReviewer } from "./reviewers.ts";

export interface ConnectOptions {
  /** The engine, where it does not lie beside this module. */
  readonly wasm?: WasmSource;
  /** Only what one of these attests is served. Default: attestations are not looked at. */
  readonly requireAttestation?: readonly TrustedReviewer[];
  /** Reaches the publisher. Default: the platform's `fetch`. */
  readonly fetch?: OriginFetcher;
  /** Ends the first discovery. */
  readonly signal?: AbortSignal;
  /** Told each step of the verification in English. Names in it are the publisher's words: show it as text. */
  onLog?(line: string): void;
  /** The same as plain data. */
  onEvent?(event: RuntimeEvent): void;
}

/** A tool that verified. */
export interface StaticTool extends ListedTool {
  /** SHA-256 of its script, in lower-case hexadecimal digits. */
  readonly verified_sha256: string;
}

export interface RejectedSkill {
  /** The publisher's word for it; may be empty. */
  readonly name: string;
  readonly code: string;
  /** One English sentence. */
  readonly reason: string;
}

/** The skills of an origin, in this page. */
export interface StaticSkills {
  readonly origin: string;
  /** In document order, under their public names (`scope__name`). */
  readonly tools: readonly StaticTool[];
  /** Verified recipes, `SKILL.md`, by the public names of their tools. */
  readonly recipes: Readonly<Record<string, string>>;
  readonly rejected: readonly RejectedSkill[];
  /** The tools, in the form that the MCP core takes: `createMcpServer(skills)` of `skillgate/mcp-core-async`. */
  listTools(): readonly StaticTool[];
  /**
   * Calls a tool; any number of calls may be under way.
   *
   * @returns JSON, which the tool made: untrusted.
   * @throws {ToolHostError} as a rejection: `unknown_tool`, `disposed`, `pool_exhausted`, or `tool_error` with the tool's own sentence.
   */
  callTool<T = unknown>(name: string, args?: object, options?: { readonly signal?: AbortSignal }): Promise<T>;
  /** Looks at the origin again: what it serves now replaces what it served, and if it fails, all stays. Never rejects. */
  refresh(): Promise<void>;
  /** Ends what is under way; every later call is an error `disposed`. */
  dispose(): void;
}

/**
 * Discovers the skills of an origin from a page, verifies every byte, and runs them in a sandbox in this page. Of the publisher it needs CORS
 * for its files, nothing else. Works wherever there is `fetch` and WebAssembly.
 *
 * @throws {ToolHostError} as a rejection: `bad_option` (the origin or a reviewer is malformed), `unsupported`, `no_engine`, `cancelled`.
 * @throws {OriginsUnavailable} as a rejection: there is nothing to use; the message says why.
 *
 * @example
 * const skills = await connectStaticSkills("https://example.github.io/site", { onLog: console.log });
 * await skills.callTool("sum_numbers", { a: 40, b: 2 }); // { sum: 42 }
 */
export async function connectStaticSkills(origin: string, options: ConnectOptions = {}): Promise<StaticSkills> {
  const address = readOrigin(origin);
  const attestations = options.requireAttestation === undefined ? null : readReviewers(options.requireAttestation);
  const engine = await loadEngine(options.wasm, false);
  const runtime = await Runtime.create({
    origins: [{ origin: address, fetch: pageFetch(options.fetch ?? globalFetch) }],
    sandbox: new Sandbox({ engine, limits: DEFAULT_SANDBOX_LIMITS }),
    attestations,
    onEvent: (event) => {
      options.onEvent?.(event);
      for (const { text } of options.onLog === undefined ? [] : logLines(event)) options.onLog?.(text);
    },
  });
  const { signal } = options;
  const end = () => runtime.close();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  try {
    await runtime.provide();
  } catch (error) {
    end();
    if (signal?.aborted) throw new ToolHostError("cancelled", "Connecting was cancelled.", { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener("abort", end);
  }
  return new ConnectedSkills(address, runtime);
}

function readOrigin(origin: string): CanonicalOrigin {
  try {
    return parseOrigin(origin, { allowLoopbackHttp: true, ownHosts: [] });
  } catch (error) {
    if (error instanceof OriginError) throw new ToolHostError("bad_option", error.message, { cause: error });
    throw error;
  }
}

class ConnectedSkills implements StaticSkills {
  readonly origin: CanonicalOrigin;
  readonly #runtime: Runtime;
  readonly #closing = new AbortController();
  #calls = 0;

  constructor(origin: CanonicalOrigin, runtime: Runtime) {
    this.origin = origin;
    this.#runtime = runtime;
  }

  get tools(): readonly StaticTool[] {
    return this.listTools();
  }

  get recipes(): Readonly<Record<string, string>> {
    const recipes = this.#runtime.catalogs.flatMap((catalog) => servedRecipes(catalog, "withhold"));
    return Object.fromEntries(recipes.map(({ publicName, text }) => [publicName, text]));
  }

  get rejected(): readonly RejectedSkill[] {
    return this.#runtime.statuses.flatMap((status) => {
      if (status.state !== "discovered") return [];
      return [...status.release.rejected, ...status.refused].map(({ name, code, message }) => ({
        name,
        code,
        reason: message,
      }));
    });
  }

  listTools(): readonly StaticTool[] {
    return this.#runtime.catalogs.flatMap(({ skills }) =>
      skills.map((entry) => ({ ...listTool(entry), verified_sha256: entry.skill.toolSha256 })),
    );
  }

  async callTool<T>(name: string, args: object = {}, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T> {
    if (this.#closing.signal.aborted) throw new ToolHostError("disposed", "These skills were disposed of.");
    const provider = await this.#runtime.provide();
    if (!provider.tools.some((tool) => tool.name === name)) {
      throw new ToolHostError("unknown_tool", `There is no tool ${String(name).slice(0, 128)}.`);
    }
    const closing = this.#closing.signal;
    const ending = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    this.#calls += 1;
    const context: CallContext = { ...CONTEXT, requestId: this.#calls, signal: ending };
    try {
      const { isError, content } = await provider.callTool(name, readArguments(args), context);
      const text = String(content[0]?.text);
      if (isError) throw new ToolHostError("tool_error", text);
      // The guide of the recipes answers with words, all others with JSON.
      return (name === GUIDE_TOOL ? text : (JSON.parse(text) as Json)) as T;
    } catch (error) {
      if (error instanceof PoolExhausted) throw new ToolHostError("pool_exhausted", `${error.message}.`);
      throw error;
    }
  }

  refresh(): Promise<void> {
    return this.#runtime.refresh();
  }

  dispose(): void {
    this.#closing.abort();
    this.#runtime.close();
  }
}

const CONTEXT: Omit<CallContext, "requestId" | "signal"> = {
  era: "legacy",
  protocolVersion: LATEST_HANDSHAKE_VERSION,
  clientCapabilities: {},
  meta: {},
  progress: () => {},
};
