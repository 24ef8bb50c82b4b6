import type { Context } from "hono";
import { RPC, type RpcFailure } from "../core/mcp/errors.ts";
import { type Message, parseMessage, type RequestId } from "../core/mcp/framing.ts";
import { errorResponse, type HttpAnswer, type ServeOptions, serveMessage } from "../core/mcp/http.ts";
import type { Provider } from "../core/mcp/provider.ts";
import type { ListKind } from "../core/mcp/subscriptions.ts";
import { PoolExhausted } from "../core/sandbox/outcome.ts";
import { completeAnswer } from "./answer-headers.ts";
import { GatewayError } from "./errors.ts";
import type { RequestLog } from "./log.ts";
import { listen } from "./notifications/listen.ts";
import type { GatewayContext } from "./request-context.ts";

/** Methods that the log names; any other text in their place is the caller's own and stays out of it. */
const LOGGED_METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "prompts/list",
  "skills/list",
  "skills/get",
  "subscriptions/listen",
  "notifications/initialized",
  "notifications/cancelled",
]);

/**
 * Reads the JSON-RPC message of a body.
 *
 * @returns the message, or the answer to one that is JSON and no message (a batch, for example).
 * @throws {GatewayError} `bad_json` for text that is not JSON or nests too deep.
 */
export function readJsonRpc(c: Context<GatewayContext>, text: string): Message | Response {
  const framing = parseMessage(text);
  if (framing.ok) return framing.message;
  if (framing.failure.rpcCode === RPC.parseError)
    throw new GatewayError("bad_json", { message: framing.failure.message });
  return errorResponse(framing.id, framing.failure, respondWith(c));
}

/** What the log calls the message's method. */
export function loggedMethod(message: Message): string {
  if (message.kind === "response") return "response";
  return LOGGED_METHODS.has(message.method) ? message.method : "other";
}

/** Answers a message with what one client sees of one origin. A modern client that disconnects aborts its call (`request.signal`). */
export function answerJsonRpc(c: Context<GatewayContext>, provider: Provider): Promise<Response> {
  return serveMessage(c.get("message"), new Serving(c, provider));
}

/** A class, as every host of the MCP core's that is made for each request: closures would lose their compiled code again and again. */
class Serving implements ServeOptions {
  readonly headers: Headers;
  readonly provider: Provider;
  readonly #c: Context<GatewayContext>;

  constructor(c: Context<GatewayContext>, provider: Provider) {
    this.headers = c.req.raw.headers;
    this.provider = provider;
    this.#c = c;
  }

  /** Asked for by modern clients' calls alone: the platform makes it when it is first looked at. */
  get signal(): AbortSignal {
    return this.#c.req.raw.signal;
  }

  subscribe(id: RequestId, kinds: readonly ListKind[]): Promise<ReadableStream<Uint8Array>> {
    return listen(this.#c, { id, kinds });
  }

  describeError(error: unknown): RpcFailure {
    return describe(error, this.#c.get("log"));
  }

  respond({ status, body, headers }: HttpAnswer): Response {
    return completeAnswer(this.#c, body, status, headers);
  }
}

function respondWith(c: Context<GatewayContext>): (answer: HttpAnswer) => Response {
  return ({ status, body, headers }) => completeAnswer(c, body, status, headers);
}

/** How an error out of the provider is answered; what is not expected is told to the log alone. */
function describe(error: unknown, log: RequestLog): RpcFailure {
  const refusal =
    error instanceof GatewayError
      ? error
      : new GatewayError(error instanceof PoolExhausted ? "pool_exhausted" : "internal");
  if (refusal.code === "internal" || refusal.cause !== undefined) log.crash(error);
  log.code = refusal.code;
  return {
    status: refusal.kind.status,
    rpcCode: refusal.kind.rpcCode,
    message: refusal.message,
    data: { code: refusal.code },
    headers: refusal.headers(),
  };
}
