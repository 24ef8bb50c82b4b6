import type { JsonObject } from "../json.ts";
import { type AnswerOptions, failureOf, failureText, type Request, resultText } from "./answer.ts";
import { classifyBody, type Dialect } from "./eras.ts";
import { McpError, type RpcFailure } from "./errors.ts";
import { parseMessage, type RequestId } from "./framing.ts";
import { agreedVersion, asksForContent } from "./methods.ts";
import { progressNotifier, progressToken } from "./progress.ts";
import type { CallContext, Provider } from "./provider.ts";
import { ASSUMED_VERSION } from "./revisions.ts";
import { LIST_KINDS, listChange, Subscriptions } from "./subscriptions.ts";

/** What a connection serves, and to whom. */
export interface ConnectionOptions extends Omit<AnswerOptions, "provider"> {
  readonly serverInfo: Provider["serverInfo"];
  readonly instructions?: string;
  /** How often a call that wants progress is said to be still running, milliseconds. Default: only what the provider reports is sent. */
  readonly heartbeatMs?: number;
  /** What is served at this moment. What it throws is the answer of the request that asked; `describeError` words it. */
  provide(): Promise<Provider>;
  /** Takes the text of one message, without line breaks. */
  send(text: string): void;
}

/** Requests that run at once; each may hold as much as a message may be long. */
const MAX_RUNNING = 256;

/** How long a client may keep what `server/discover` says, milliseconds. */
const HANDSHAKE_TTL_MS = 15_000;

/**
 * One client's connection over a transport that keeps a stream of messages in both directions, such as stdio (MCP 2025-06-18, 2025-11-25,
 * 2026-07-28 basic/transports/stdio). Whatever the transport, it delivers the text of one message at a time.
 *
 * Requests run side by side, each answered as soon as it is done. A `notifications/cancelled` ends a request in either era, and nothing is
 * sent of it any more. The handshake, `ping` and `server/discover` are answered whether or not there is anything to serve.
 *
 * @example
 * const connection = new Connection({ serverInfo, provide: () => runtime.provide(), send: (text) => output.write(`${text}\n`) });
 * for await (const line of lines) void connection.receive(line);
 * connection.close();
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #running = new Map<RequestId, Set<Running>>();
  readonly #subscriptions: Subscriptions;
  /** Answers what is about the server itself. */
  readonly #server: Provider;
  #runs = 0;
  #idlers: (() => void)[] = [];
  #negotiated = ASSUMED_VERSION;
  #isInitialized = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { serverInfo, instructions, send } = options;
    this.#subscriptions = new Subscriptions(send, serverInfo);
    this.#server = {
      serverInfo,
      ...(instructions === undefined ? {} : { instructions }),
      listChanged: true,
      promisesResources: true,
      tools: [],
      resources: [],
      resourceTemplates: [],
      ttlMs: HANDSHAKE_TTL_MS,
      callTool: () => Promise.reject(new Error("The server itself has no tools.")),
      readResource: async () => null,
    };
  }

  /** How many requests are being answered. */
  get running(): number {
    return this.#runs;
  }

  /** Resolves when no request is being answered. */
  async idle(): Promise<void> {
    while (this.#runs > 0) await new Promise<void>((resolve) => this.#idlers.push(resolve));
  }

  /** Takes one message. Resolves when it has been dealt with; never rejects. */
  async receive(text: string): Promise<void> {
    if (this.#isClosed) return;
    const framing = parseMessage(text);
    if (!framing.ok) return this.refuse(framing.failure, framing.id);
    const { message } = framing;
    if (message.kind === "request") return this.#serve(message);
    if (message.kind === "response") return;
    if (message.method === "notifications/initialized") this.#isInitialized = true;
    if (message.method === "notifications/cancelled") this.#cancel(message.params);
  }

  /** Answers what is not even a message. */
  refuse(failure: RpcFailure, id: RequestId | null = null): void {
    if (!this.#isClosed) this.#options.send(failureText(id, failure));
  }

  /** Tells the client that its lists are out of date, as far as its era lets it be told. */
  listChanged(): void {
    if (this.#isClosed) return;
    this.#subscriptions.listChanged();
    if (!this.#isInitialized) return;
    for (const kind of LIST_KINDS) this.#options.send(listChange(kind, null));
  }

  /** Cancels what runs and ends subscriptions; nothing is sent from then on. */
  close(): void {
    if (this.#isClosed) return;
    this.#subscriptions.close();
    this.#isClosed = true;
    for (const same of this.#running.values()) for (const { controller } of same) controller.abort();
  }

  async #serve(request: Request): Promise<void> {
    const { id, params } = request;
    let dialect: Dialect;
    try {
      dialect = classifyBody(params, this.#negotiated);
      // That the server lives is told however busy it is.
      if (this.#runs >= MAX_RUNNING && request.method !== "ping") throw tooMany();
    } catch (error) {
      return this.refuse(failureOf(error, "modern", this.#options), id);
    }
    const controller = new AbortController();
    const running: Running = { method: request.method, controller };
    this.#begin(id, running);
    try {
      const text = await this.#answer(request, dialect, controller.signal);
      if (text !== null && !controller.signal.aborted) this.#options.send(text);
    } catch (error) {
      if (!controller.signal.aborted) this.refuse(failureOf(error, dialect.era, this.#options), id);
    } finally {
      this.#end(id, running);
    }
  }

  /** `null`: the answer comes later, if at all. */
  async #answer(request: Request, dialect: Dialect, signal: AbortSignal): Promise<string | null> {
    const { id, method, params } = request;
    if (dialect.era === "modern" && method === "subscriptions/listen") {
      this.#subscriptions.open(id, params);
      return null;
    }
    const progress = this.#progressOf(method, dialect, signal);
    try {
      const provider = asksForContent(method) ? await unlessAborted(this.#options.provide(), signal) : this.#server;
      if (signal.aborted) return null;
      const { pageSize } = this.#options;
      const options = pageSize === undefined ? { provider } : { provider, pageSize };
      const text = await resultText(request, dialect, options, { headers: null, signal, progress: progress.send });
      if (method === "initialize") this.#negotiated = agreedVersion(params.protocolVersion);
      return text;
    } finally {
      progress.end();
    }
  }

  /** Nothing is reported of a call that was answered or cancelled. */
  #progressOf(method: string, { meta }: Dialect, signal: AbortSignal): Progress {
    const token = method === "tools/call" ? progressToken(meta) : null;
    if (token === null) return NO_PROGRESS;
    let isOver = false;
    const send = progressNotifier(token, (text) => {
      if (!isOver && !signal.aborted) this.#options.send(text);
    });
    const { heartbeatMs } = this.#options;
    let beats = 0;
    const beat = () => {
      beats += 1;
      const seconds = (beats * (heartbeatMs ?? 0)) / 1_000;
      send(seconds, undefined, `Running for ${seconds} s.`);
    };
    const timer = heartbeatMs === undefined ? null : setInterval(beat, heartbeatMs);
    const end = () => {
      isOver = true;
      if (timer !== null) clearInterval(timer);
    };
    return { send, end };
  }

  #begin(id: RequestId, running: Running): void {
    this.#runs += 1;
    const same = this.#running.get(id);
    if (same === undefined) this.#running.set(id, new Set([running]));
    else same.add(running);
  }

  #end(id: RequestId, running: Running): void {
    this.#runs -= 1;
    const same = this.#running.get(id);
    same?.delete(running);
    if (same?.size === 0) this.#running.delete(id);
    if (this.#runs === 0) for (const wake of this.#idlers.splice(0)) wake();
  }

  #cancel({ requestId }: JsonObject): void {
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#subscriptions.cancel(requestId);
    for (const { method, controller } of this.#running.get(requestId) ?? []) {
      // A client must not cancel the handshake (basic/utilities/cancellation); one that does still waits for its answer.
      if (method !== "initialize") controller.abort();
    }
  }
}

/** A request that is being answered. */
interface Running {
  readonly method: string;
  readonly controller: AbortController;
}

interface Progress {
  readonly send: CallContext["progress"];
  end(): void;
}

const NO_PROGRESS: Progress = { send: () => {}, end: () => {} };

function tooMany(): McpError {
  const message = `This connection has ${MAX_RUNNING} requests under way, the limit.`;
  return new McpError({ status: 429, rpcCode: -31429, message, data: { code: "rate_limited" } });
}

/** Ends the wait at the abort; what it ends with is told to nobody. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
