import {
  type Answering,
  type AnswerOptions,
  failureOf,
  failureText,
  type Request as McpRequest,
  resultText,
} from "./answer.ts";
import { classify, type Dialect } from "./eras.ts";
import type { RpcFailure } from "./errors.ts";
import { messageEvent, STREAM_HEADERS } from "./event-stream.ts";
import { type Message, parseMessage, type RequestId } from "./framing.ts";
import { checkStandardHeaders } from "./headers.ts";
import { ProgressChannel, progressToken } from "./progress.ts";
import { acknowledgement, type ListKind, subscriptionEnd, wantedLists } from "./subscriptions.ts";

export interface ServeOptions extends AnswerOptions {
  readonly headers: Headers;
  /** The request's own signal, or one of the host's. It aborts modern calls; a legacy client that disconnects cancels nothing. */
  readonly signal: AbortSignal;
  /** Makes the HTTP answer, where the host has headers of its own to add. */
  respond?(answer: HttpAnswer): Response;
  /**
   * Opens the stream of a modern client that wants to be told of changed lists, of at least one: server-sent events, each with one message
   * (`messageEvent`), the first of them the `acknowledgement`. Without it, or where the provider promises nothing (`listChanged`), there is no
   * method `subscriptions/listen`.
   */
  subscribe?(id: RequestId, kinds: readonly ListKind[]): Promise<ReadableStream<Uint8Array>>;
}

/** An answer before it becomes a `Response`; header names are in lower case. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string | ReadableStream<Uint8Array> | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers one MCP message posted over HTTP, in the era the client speaks (MCP 2025-06-18, 2025-11-25, 2026-07-28). Never throws.
 *
 * Methods, authentication, `Origin` and the size of the body are the caller's. Where errors may happen between reading the message
 * and knowing the provider, call `readRequest` and `serveMessage` instead.
 *
 * @example
 * const answer = await handleMcp({ headers: request.headers, body: await request.text(), provider, signal: request.signal });
 */
export async function handleMcp(options: ServeOptions & { readonly body: string }): Promise<Response> {
  const read = readRequest(options.headers, options.body);
  return read instanceof Response ? read : await serveMessage(read, options);
}

/**
 * First step: the message, or the answer that refuses it. A message's id is what later errors must carry (`messageId`).
 * Answers 415 in the plain form `{error, message}` for another content type, else JSON-RPC errors with HTTP 400.
 */
export function readRequest(headers: Headers, body: string): Message | Response {
  if (!isJsonContent(headers.get("content-type"))) {
    const message = "Content-Type must be application/json.";
    return Response.json({ error: "unsupported_media_type", message }, { status: 415 });
  }
  const framing = parseMessage(body);
  return framing.ok ? framing.message : errorResponse(framing.id, framing.failure);
}

/** The id an error answer must carry, or `null` for messages that are never answered. */
export function messageId(message: Message): RequestId | null {
  return message.kind === "request" ? message.id : null;
}

/**
 * Second step: serves a message. Messages without an id get 202 and no body, and nothing is executed: `notifications/cancelled`
 * too, since a stateless server knows no other request.
 */
export async function serveMessage(message: Message, options: ServeOptions): Promise<Response> {
  const { headers } = options;
  if (message.kind !== "request") return respond(options, { status: 202, body: null, headers: {} });
  const { id, method, params } = message;

  let dialect: Dialect;
  try {
    dialect = classify(params, headers);
    if (dialect.era === "modern") checkStandardHeaders(method, params, headers);
  } catch (error) {
    return respond(options, answerOf(id, failureOf(error, "modern", options)));
  }

  if (dialect.era === "modern" && method === "subscriptions/listen" && maySubscribe(options)) {
    return respond(options, await answerSubscription(message, options));
  }
  const cancellation = dialect.era === "modern" ? new Cancellation(options.signal) : null;
  const token = method === "tools/call" && acceptsEventStream(headers) ? progressToken(dialect.meta) : null;
  if (token === null) {
    return respond(options, await answerRequest(message, dialect, options, cancellation, sendNothing));
  }
  const channel = new ProgressChannel(token, () => cancellation?.cancel());
  const answer = answerRequest(message, dialect, options, cancellation, channel.send);

  // The answer becomes a stream only when there is progress to send: errors before that keep their HTTP status.
  const first = await Promise.race([answer, channel.opened]);
  if (first !== "stream") {
    channel.close();
    return respond(options, first);
  }
  void answer.then(({ body }) => channel.finish(body));
  return respond(options, { status: 200, body: channel.readable, headers: STREAM_HEADERS });
}

type Subscribable = ServeOptions & Required<Pick<ServeOptions, "subscribe">>;

function maySubscribe(options: ServeOptions): options is Subscribable {
  return options.subscribe !== undefined && options.provider.listChanged === true;
}

/** A subscription of which nothing can be kept has ended at once. */
async function answerSubscription({ id, params }: McpRequest, options: Subscribable): Promise<HttpAnswer> {
  try {
    const kinds = wantedLists(params);
    const body =
      kinds.length > 0
        ? await options.subscribe(id, kinds)
        : [acknowledgement(id, kinds), subscriptionEnd(id, options.provider.serverInfo)].map(messageEvent).join("");
    return { status: 200, body, headers: STREAM_HEADERS };
  } catch (error) {
    return answerOf(id, failureOf(error, "modern", options));
  }
}

async function answerRequest(
  message: McpRequest,
  dialect: Dialect,
  options: ServeOptions,
  cancellation: Cancellation | null,
  progress: Answering["progress"],
): Promise<JsonAnswer> {
  try {
    const answering = { headers: options.headers, signal: cancellation?.signal, progress };
    return jsonAnswer(200, await resultText(message, dialect, options, answering));
  } catch (error) {
    return answerOf(message.id, failureOf(error, dialect.era, options));
  } finally {
    cancellation?.finish();
  }
}

/** Progress of a client that asked for none. */
function sendNothing(): void {}

function respond(options: ServeOptions, answer: HttpAnswer): Response {
  return options.respond === undefined ? toResponse(answer) : options.respond(answer);
}

/** Ends a call when its request is aborted, or when the stream that it reports to is. */
class Cancellation {
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    if (outer.aborted) this.cancel();
    else outer.addEventListener("abort", this.cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly cancel = (): void => this.#controller.abort(this.#outer.reason);

  finish(): void {
    this.#outer.removeEventListener("abort", this.cancel);
  }
}

/** A JSON-RPC error as an HTTP answer. */
export function errorResponse(id: RequestId | null, failure: RpcFailure, make = toResponse): Response {
  return make(answerOf(id, failure));
}

interface JsonAnswer extends HttpAnswer {
  readonly body: string;
}

function answerOf(id: RequestId | null, failure: RpcFailure): JsonAnswer {
  return jsonAnswer(failure.status, failureText(id, failure), failure.headers);
}

const JSON_HEADERS: HttpAnswer["headers"] = { "content-type": "application/json" };

function jsonAnswer(status: number, body: string, headers?: HttpAnswer["headers"]): JsonAnswer {
  return { status, body, headers: headers === undefined ? JSON_HEADERS : { ...headers, ...JSON_HEADERS } };
}

function toResponse({ status, body, headers }: HttpAnswer): Response {
  return new Response(body, { status, headers });
}

function isJsonContent(contentType: string | null): boolean {
  return contentType !== null && contentType.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}

/** Leniently: a missing `Accept` or a wildcard means that JSON will do, so only a client that names streams gets one. */
function acceptsEventStream(headers: Headers): boolean {
  return headers.get("accept")?.toLowerCase().includes("text/event-stream") ?? false;
}
