import type { JsonObject } from "../core/json.ts";
import { Connection } from "../core/mcp/connection.ts";
import { later } from "../core/sandbox/steps.ts";
import { MessageAnswerer } from "./answer-message.ts";
import { hostProvider, type ServedHost, type ServerOptions } from "./host-provider.ts";

export { Connection, type ConnectionOptions } from "../core/mcp/connection.ts";
export type { Provider } from "../core/mcp/provider.ts";
export type { ServedHost, ServerOptions } from "./host-provider.ts";
export { hostProvider } from "./host-provider.ts";

/**
 * An MCP server without a transport over an `AsyncToolHost`: it takes one JSON-RPC message, as text or as a value, and gives the answer, or
 * `null` where there is none to send. It speaks MCP 2025-06-18, 2025-11-25 and 2026-07-28, as the client does. One server serves one client.
 *
 * @example
 * const server = createMcpServer(host, { name: "till", version: "1.0.0" });
 * await server.handle({ jsonrpc: "2.0", id: 1, method: "tools/list" }); // { jsonrpc: "2.0", id: 1, result: { tools: […] } }
 */
export function createMcpServer(host: ServedHost, options?: ServerOptions) {
  const answerer = new MessageAnswerer(hostProvider(host, options));
  return {
    /** `signal` ends a call. Never rejects. */
    handle: (
      message: string | object,
      { signal }: { readonly signal?: AbortSignal } = {},
    ): Promise<JsonObject | null> => later(answerer.answer(message, signal)),
  };
}

/**
 * The same over a stream of messages in both directions: requests run side by side, and the client can cancel them.
 *
 * @param send takes the text of one message.
 */
export function connectClient(host: ServedHost, send: (text: string) => void, options?: ServerOptions): Connection {
  const provider = hostProvider(host, options);
  const { serverInfo, instructions } = provider;
  return new Connection({
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
    provide: async () => provider,
    send,
  });
}
