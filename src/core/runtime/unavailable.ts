import { CodedError } from "../coded-error.ts";
import type { RpcFailure } from "../mcp/errors.ts";
import { PoolExhausted } from "../sandbox/outcome.ts";

export type UnavailableCode = "discovery_failed" | "no_skills" | "internal" | "closed";

/** A runtime that has nothing to serve; the message says why, for each of its origins. */
export class OriginsUnavailable extends CodedError<UnavailableCode> {
  override readonly name = "OriginsUnavailable";
}

/** How what a runtime throws is answered over JSON-RPC, with the numbers that the gateway uses; `null` for what it does not throw. */
export function describeUnavailable(error: unknown): RpcFailure | null {
  if (error instanceof OriginsUnavailable) {
    return { status: 502, rpcCode: -31502, message: error.message, data: { code: error.code } };
  }
  if (error instanceof PoolExhausted) {
    const message = "Every sandbox is busy. Try again in a moment.";
    return { status: 503, rpcCode: -31503, message, data: { code: error.code } };
  }
  return null;
}
