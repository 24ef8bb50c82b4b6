import type { Json, JsonObject } from "../../core/json.ts";
import type { CallContext, ListedTool, Provider, ToolResult } from "../../core/mcp/provider.ts";
import { LATEST_HANDSHAKE_VERSION } from "../../core/mcp/revisions.ts";
import type { OriginStatus, RuntimeEvent } from "../../core/runtime/origin-status.ts";
import { Runtime } from "../../core/runtime/runtime.ts";
import { OriginsUnavailable } from "../../core/runtime/unavailable.ts";
import type { Sandbox } from "../../core/sandbox/sandbox.ts";
import type { CallReport } from "../../core/serve.ts";
import { CommandError } from "../command-error.ts";
import type { OpenedOrigin } from "../serve/origin-or-folder.ts";

/** What a call came to. */
export type CallEnd =
  /** `value` of a tool whose answer is JSON; the runtime's own tool answers with a text. */
  | { readonly ok: true; readonly answer: { readonly value: Json } | { readonly text: string } }
  | { readonly ok: false; readonly message: string };

export interface ToolCallerOptions {
  readonly opened: OpenedOrigin;
  readonly sandbox: Sandbox;
  readonly onEvent?: (event: RuntimeEvent) => void;
  readonly onCall?: (report: CallReport) => void;
}

/** The tools of one origin, for a person at a terminal. */
export class ToolCaller {
  readonly #runtime: Runtime;

  private constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Looks at the origin for the first time; how that went shows when its tools are asked for. */
  static async open({ opened, sandbox, onEvent, onCall }: ToolCallerOptions): Promise<ToolCaller> {
    const runtime = await Runtime.create({
      ...{ origins: [opened], sandbox },
      ...(onEvent === undefined ? {} : { onEvent }),
      ...(onCall === undefined ? {} : { onCall }),
    });
    await runtime.start();
    return new ToolCaller(runtime);
  }

  get status(): OriginStatus | undefined {
    return this.#runtime.statuses[0];
  }

  refresh(): Promise<void> {
    return this.#runtime.refresh();
  }

  /** @throws {CommandError} `origin_unreachable`, `nothing_served`. */
  async tools(): Promise<readonly ListedTool[]> {
    return (await this.#provide()).tools;
  }

  /** @throws {CommandError} as {@link tools}; `tool_refused` for one that its publisher lists; `unknown_skill` for one that nobody does. */
  async tool(name: string): Promise<ListedTool> {
    let tools: readonly ListedTool[];
    try {
      tools = await this.tools();
    } catch (error) {
      throw this.#refusal(name) ?? error;
    }
    const tool = tools.find((each) => each.name === name);
    if (tool !== undefined) return tool;
    const known = tools.map((each) => each.name).join(", ");
    throw this.#refusal(name) ?? new CommandError("unknown_skill", `There is no tool ${name}; there is ${known}.`);
  }

  /** @throws {CommandError} as {@link tool}. */
  async call(name: string, args: JsonObject, signal?: AbortSignal): Promise<CallEnd> {
    await this.tool(name);
    return readResult(await (await this.#provide()).callTool(name, args, contextOf(signal)));
  }

  close(): void {
    this.#runtime.close();
  }

  async #provide(): Promise<Provider> {
    try {
      return await this.#runtime.provide();
    } catch (error) {
      if (!(error instanceof OriginsUnavailable)) throw error;
      throw new CommandError(error.code === "no_skills" ? "nothing_served" : "origin_unreachable", error.message);
    }
  }

  #refusal(name: string): CommandError | null {
    const missing = this.status?.state === "discovered" ? this.#runtime.missing(name) : null;
    if (missing === null) return null;
    return new CommandError("tool_refused", `The tool ${name} is not served: ${missing.code}: ${missing.message}`);
  }
}

function contextOf(signal: AbortSignal | undefined): CallContext {
  return {
    ...{ era: "legacy", protocolVersion: LATEST_HANDSHAKE_VERSION, requestId: 1, signal },
    ...{ clientCapabilities: {}, meta: {}, progress: () => {} },
  };
}

function readResult({ content, isError }: ToolResult): CallEnd {
  const text = content.map((block) => (typeof block.text === "string" ? block.text : "")).join("\n");
  if (isError) return { ok: false, message: text };
  try {
    return { ok: true, answer: { value: JSON.parse(text) as Json } };
  } catch {
    return { ok: true, answer: { text } };
  }
}
