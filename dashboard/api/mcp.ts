import type { WireRequest } from "./curl.ts";
import { ApiProblem } from "./problem.ts";

/** One exchange with the gateway's MCP endpoint, as it went over the wire. */
export interface Exchange {
  readonly key: number;
  readonly method: string;
  readonly wire: WireRequest;
  readonly request: string;
  /** HTTP status; 0: no answer came. */
  readonly status: number;
  readonly response: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Milliseconds from the request to the whole answer, as the browser saw it. */
  readonly ms: number;
  /** Of the gateway's steps, as it tells them. */
  readonly timing: readonly { readonly step: string; readonly ms: number }[];
}

/** A tool as `tools/list` answers it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: JsonSchema;
}

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
}

const PROTOCOL = "2025-11-25";
const SHOWN_HEADERS = /^(?:x-gw-|x-request-id|server-timing|content-type|ratelimit|retry-after|mcp-)/;
let counter = 0;

function mcpUrl(origin: string): string {
  return `${location.origin}/mcp?origin=${encodeURIComponent(origin)}`;
}

/** One JSON-RPC message to an origin's tools, but for the client's token. */
function mcpRequest(origin: string, message: object): WireRequest {
  return {
    method: "POST",
    url: mcpUrl(origin),
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": PROTOCOL,
    },
    body: JSON.stringify(message),
  };
}

/** Sends one JSON-RPC request through the gateway's own MCP endpoint, with a client's token. */
export async function exchange(origin: string, token: string, method: string, params: object): Promise<Exchange> {
  const key = ++counter;
  const wire = mcpRequest(origin, { jsonrpc: "2.0", id: key, method, params });
  const request = wire.body ?? "";
  const begin = performance.now();
  const done = (status: number, response: string, headers?: Headers): Exchange => ({
    key,
    method,
    wire,
    request,
    status,
    response,
    headers: [...(headers?.entries() ?? [])].filter(([name]) => SHOWN_HEADERS.test(name)),
    ms: performance.now() - begin,
    timing: readTiming(headers?.get("Server-Timing") ?? ""),
  });
  try {
    const answer = await fetch(wire.url, {
      method: wire.method,
      // The client's token alone decides, not the operator's session.
      credentials: "omit",
      headers: { ...wire.headers, Authorization: `Bearer ${token}` },
      body: request,
    });
    return done(answer.status, await answer.text(), answer.headers);
  } catch (error) {
    return done(0, error instanceof Error ? error.message : String(error));
  }
}

/** The JSON-RPC message of an exchange; undefined where the answer is none. An event stream's last message is it. */
export function messageOf({ response }: Exchange): Readonly<Record<string, unknown>> | undefined {
  const data = response
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .at(-1);
  try {
    const parsed: unknown = JSON.parse(data === undefined ? response : data.slice(5));
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

/** Why an exchange brought no result; null: it brought one. A refusal before the message is read is `{"error": "<code>", "message"}`. */
export function refusalOf(one: Exchange): ApiProblem | null {
  if (one.status === 0) {
    return new ApiProblem(0, { code: "unreachable", detail: `No answer came from the gateway: ${one.response}` });
  }
  const message = messageOf(one);
  const isGood = one.status >= 200 && one.status < 300;
  if (isGood && message?.result !== undefined) return null;
  const { code, text } = refusalIn(message);
  const saying = text ?? "what it sent is no JSON-RPC answer.";
  const hint = code === "browser_origin" ? BROWSER_ORIGIN_HINT : "";
  return new ApiProblem(one.status, { code, detail: `The gateway answered ${one.status}: ${saying}${hint}` });
}

const BROWSER_ORIGIN_HINT =
  " Name this console's host in PUBLIC_HOSTS or ADMIN_HOST, or its web origin in ALLOWED_BROWSER_ORIGINS, where the gateway is deployed.";

function refusalIn(message: ReturnType<typeof messageOf>): { readonly code: string; readonly text?: string } {
  const error = message?.error;
  if (typeof error === "object" && error !== null) {
    const { code, message: text } = error as { readonly code?: unknown; readonly message?: unknown };
    return { code: String(code ?? "unknown"), ...(typeof text === "string" ? { text } : {}) };
  }
  const text = message?.message;
  return {
    code: typeof error === "string" ? error : "unknown",
    ...(typeof text === "string" ? { text } : {}),
  };
}

/** `auth;dur=0.4, release;dur=1.2` */
export function readTiming(header: string): Exchange["timing"] {
  return header.split(",").flatMap((entry) => {
    const [step = "", ...parameters] = entry.trim().split(";");
    const duration = parameters
      .map((parameter) => /^\s*dur=([\d.]+)\s*$/.exec(parameter)?.[1])
      .find((ms) => ms !== undefined);
    return step === "" || duration === undefined ? [] : [{ step, ms: Number(duration) }];
  });
}
