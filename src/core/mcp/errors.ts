import type { JsonObject } from "../json.ts";
import type { RequestId } from "./framing.ts";

/** The JSON-RPC error codes this core answers with (JSON-RPC 2.0 §5.1; MCP 2025-11-25 and 2026-07-28). */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Legacy only: 2026-07-28 forbids it. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** A JSON-RPC error together with the HTTP status and headers it travels with. */
export interface RpcFailure {
  readonly status: number;
  readonly rpcCode: number;
  readonly message: string;
  readonly data?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown where a request cannot be served; `http.ts` turns it into an answer. */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly failure: RpcFailure;

  constructor(failure: RpcFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/**
 * Thrown by a provider when a call needs a capability the client did not declare. Modern clients get -32021 with HTTP 400.
 *
 * @example throw new MissingClientCapability({ sampling: {} });
 */
export class MissingClientCapability extends Error {
  override readonly name = "MissingClientCapability";
  /** A `ClientCapabilities` object that holds what is missing. */
  readonly required: JsonObject;

  constructor(required: JsonObject) {
    super(`The client did not declare a required capability: ${Object.keys(required).join(", ")}.`);
    this.required = required;
  }
}

export function invalidParams(message: string, status = 200): McpError {
  return new McpError({ status, rpcCode: RPC.invalidParams, message });
}

/** A request header that contradicts the body or the protocol (2026-07-28 basic/transports). */
export function headerMismatch(message: string): McpError {
  return new McpError({ status: 400, rpcCode: RPC.headerMismatch, message, data: { code: "bad_header" } });
}

/** The body of a JSON-RPC error answer. The id is `null` where the request's could not be read. */
export function errorBody(id: RequestId | null, failure: RpcFailure): JsonObject {
  const error = { code: failure.rpcCode, message: failure.message };
  return { jsonrpc: "2.0", id, error: failure.data === undefined ? error : { ...error, data: failure.data } };
}

/** A client's own words in an error message, cut so that an error stays small. */
export function excerpt(text: string): string {
  return text.length > 128 ? `${text.slice(0, 128)}…` : text;
}
