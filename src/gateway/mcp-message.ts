import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { Provider } from "../core/mcp/provider.ts";
import { PoolExhausted } from "../core/sandbox/outcome.ts";
import { GatewayError } from "./errors.ts";

/** A JSON-RPC request or notification. */
export interface IncomingMessage {
  readonly id?: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

export function readMessageText(text: string): IncomingMessage | Response {
  let message: Json;
  try {
    message = JSON.parse(text);
  } catch {
    throw new GatewayError("bad_json");
  }
  if (!isJsonObject(message) || typeof message.method !== "string") throw new GatewayError("bad_json");
  const { id, method, params } = message;
  const identity = typeof id === "string" || typeof id === "number" ? { id } : {};
  return { ...identity, method, params: isJsonObject(params ?? null) ? (params as JsonObject) : {} };
}

export async function answerMessage(message: IncomingMessage, provider: Provider): Promise<Response> {
  const { id, method, params } = message;
  if (id === undefined) return new Response(null, { status: 202 });
  const result =
    method === "tools/list"
      ? { tools: provider.tools }
      : method === "tools/call"
        ? await call(id, params, provider)
        : {};
  return Response.json({ jsonrpc: "2.0", id, result });
}

async function call(id: string | number, params: JsonObject, provider: Provider) {
  const args = params.arguments ?? null;
  try {
    return await provider.callTool(String(params.name), isJsonObject(args) ? args : {}, {
      era: "legacy",
      protocolVersion: "2025-11-25",
      requestId: id,
      signal: new AbortController().signal,
      clientCapabilities: {},
      meta: {},
      progress: () => {},
    });
  } catch (error) {
    if (error instanceof PoolExhausted) throw new GatewayError("pool_exhausted");
    throw error;
  }
}
