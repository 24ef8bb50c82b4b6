import type { JsonObject } from "../json.ts";
import type { Dialect } from "./eras.ts";
import { errorBody, McpError, MissingClientCapability, RPC, type RpcFailure } from "./errors.ts";
import type { Message, RequestId } from "./framing.ts";
import { firstPageText, isFirstPage } from "./list-text.ts";
import { type Invocation, invoke, listTools } from "./methods.ts";
import { DEFAULT_PAGE_SIZE } from "./pages.ts";
import type { Provider } from "./provider.ts";
import { shapeResult } from "./results.ts";

export type Request = Extract<Message, { kind: "request" }>;

/** Maps what a provider threw to an answer; `null` for what it does not know, which becomes an internal error. */
export type DescribeError = (error: unknown) => RpcFailure | null;

/** What answering takes of its host, whatever the transport. */
export interface AnswerOptions {
  readonly provider: Provider;
  describeError?(error: unknown): ReturnType<DescribeError>;
  /** Entries of one page of a list; 300 by default. */
  readonly pageSize?: number;
}

export type Answering = Pick<Invocation, "headers" | "signal" | "progress">;

/** The JSON text of a successful answer. @throws whatever the method or the provider throws. */
export async function resultText(
  { id, method, params }: Request,
  dialect: Dialect,
  { provider, pageSize = DEFAULT_PAGE_SIZE }: AnswerOptions,
  { headers, signal, progress }: Answering,
): Promise<string> {
  const { era } = dialect;
  const invocation: Invocation = { id, params, dialect, headers, provider, pageSize, signal, progress };
  const result = isFirstPage(method, params)
    ? firstPageText(era, provider, pageSize, () => shapeResult(era, provider, listTools(invocation)))
    : JSON.stringify(shapeResult(era, provider, await invoke(method, invocation)));
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

/** The JSON text of an answer that refuses. */
export function failureText(id: RequestId | null, failure: RpcFailure): string {
  return JSON.stringify(errorBody(id, failure));
}

const INTERNAL: RpcFailure = {
  status: 500,
  rpcCode: RPC.internalError,
  message: "Internal error.",
  data: { code: "internal" },
};

/** The caller's mapping comes first, so that it sees (and may log) whatever it did not expect. */
export function failureOf(
  error: unknown,
  era: Dialect["era"],
  options: Pick<AnswerOptions, "describeError">,
): RpcFailure {
  if (error instanceof McpError) return error.failure;
  if (error instanceof MissingClientCapability) {
    const data: JsonObject = { requiredCapabilities: error.required };
    return era === "modern"
      ? { status: 400, rpcCode: RPC.missingClientCapability, message: error.message, data }
      : { status: 200, rpcCode: RPC.invalidRequest, message: error.message, data };
  }
  try {
    return options.describeError?.(error) ?? INTERNAL;
  } catch {
    return INTERNAL;
  }
}
