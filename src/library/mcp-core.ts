import type { JsonObject } from "../core/json.ts";
import { atOnce } from "../core/sandbox/steps.ts";
import { MessageAnswerer } from "./answer-message.ts";
import { hostProvider, type ServedHost, type ServerOptions } from "./host-provider.ts";

export type { ServedHost, ServerOptions } from "./host-provider.ts";

/**
 * An MCP server without a transport over a `ToolHost`: it takes one JSON-RPC message, as text or as a value, and gives the answer at once, or
 * `null` where there is none to send. It speaks MCP 2025-06-18, 2025-11-25 and 2026-07-28, as the client does. One server serves one client.
 *
 * @example
 * const server = createMcpServer(host, { name: "till", version: "1.0.0" });
 * server.handle({ jsonrpc: "2.0", id: 1, method: "tools/list" }); // { jsonrpc: "2.0", id: 1, result: { tools: […] } }
 */
export function createMcpServer(host: ServedHost, options?: ServerOptions) {
  const answerer = new MessageAnswerer(hostProvider(host, options));
  return { handle: (message: string | object): JsonObject | null => atOnce(answerer.answer(message, undefined)) };
}
