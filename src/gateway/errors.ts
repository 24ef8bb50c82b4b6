import type { Json } from "../core/json.ts";

/** Every reason for which the gateway itself refuses a request. */
export type GatewayErrorCode =
  | "bad_json"
  | "bad_origin"
  | "origin_conflict"
  | "missing_origin"
  | "bad_header"
  | "unauthorized"
  | "origin_forbidden"
  | "browser_origin"
  | "not_found"
  | "method_not_allowed"
  | "too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "quota_exhausted"
  | "internal"
  | "discovery_failed"
  | "no_skills"
  | "limiter_unavailable"
  | "metrics_unavailable"
  | "notifier_unavailable"
  | "pool_exhausted"
  | "skill_unavailable"
  | "policy_unavailable"
  | "bad_setting";

export interface ErrorKind {
  /** HTTP status. */
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 500 | 502 | 503;
  /** JSON-RPC code, outside the range that JSON-RPC and MCP reserve (-32768 to -32000). */
  readonly rpcCode: number;
  /** What is said where the thrower has nothing more exact to say. */
  readonly sentence: string;
  /** Seconds after which a retry makes sense. */
  readonly retryAfter?: number;
}

/** The one table from code to answer. */
export const ERRORS: Readonly<Record<GatewayErrorCode, ErrorKind>> = {
  bad_json: { status: 400, rpcCode: -31400, sentence: "The request body is not valid JSON." },
  bad_origin: { status: 400, rpcCode: -31400, sentence: "The origin is not a valid publisher address." },
  origin_conflict: {
    status: 400,
    rpcCode: -31400,
    sentence: "The request names more than one origin, and they differ.",
  },
  missing_origin: {
    status: 400,
    rpcCode: -31400,
    sentence: "Name the publisher: POST /mcp?origin=<url-encoded origin> or POST /mcp/<host>[/<base>].",
  },
  bad_header: { status: 400, rpcCode: -31400, sentence: "A request header is not valid." },
  unauthorized: { status: 401, rpcCode: -31401, sentence: "A valid bearer token is required." },
  origin_forbidden: { status: 403, rpcCode: -31403, sentence: "This client may not use this origin." },
  browser_origin: { status: 403, rpcCode: -31403, sentence: "Pages of this web origin may not call the gateway." },
  not_found: { status: 404, rpcCode: -31404, sentence: "There is nothing at this address." },
  method_not_allowed: { status: 405, rpcCode: -31405, sentence: "This address does not answer this method." },
  too_large: { status: 413, rpcCode: -31413, sentence: "The request body is too large." },
  unsupported_media_type: {
    status: 415,
    rpcCode: -31415,
    sentence: "The request body must be application/json in UTF-8, without a content encoding.",
  },
  rate_limited: { status: 429, rpcCode: -31429, sentence: "Too many requests; try again later.", retryAfter: 60 },
  quota_exhausted: { status: 429, rpcCode: -31429, sentence: "The client's daily quota is used up.", retryAfter: 3600 },
  internal: {
    status: 500,
    rpcCode: -31500,
    sentence: "The gateway failed; the request id identifies the failure in its log.",
  },
  discovery_failed: {
    status: 502,
    rpcCode: -31502,
    sentence: "The origin's skills could not be read.",
    retryAfter: 10,
  },
  no_skills: { status: 502, rpcCode: -31502, sentence: "The origin offers no skill that can be used.", retryAfter: 10 },
  limiter_unavailable: { status: 503, rpcCode: -31503, sentence: "The rate limiter did not answer.", retryAfter: 2 },
  metrics_unavailable: { status: 503, rpcCode: -31503, sentence: "The counters did not answer.", retryAfter: 5 },
  notifier_unavailable: {
    status: 503,
    rpcCode: -31503,
    sentence: "The object that tells of changes did not answer.",
    retryAfter: 5,
  },
  pool_exhausted: { status: 503, rpcCode: -31503, sentence: "Every sandbox is busy.", retryAfter: 2 },
  skill_unavailable: {
    status: 503,
    rpcCode: -31503,
    sentence: "The files of this skill cannot be served at this moment.",
    retryAfter: 60,
  },
  policy_unavailable: {
    status: 503,
    rpcCode: -31503,
    sentence: "The gateway's configuration cannot be read.",
    retryAfter: 5,
  },
  bad_setting: { status: 503, rpcCode: -31503, sentence: "A setting of the gateway is not valid.", retryAfter: 60 },
};

export interface GatewayErrorOptions {
  /** A more exact sentence; fit for any caller to read. */
  readonly message?: string;
  /** Seconds; overrides the table. */
  readonly retryAfter?: number;
  /** Methods that the address does answer, for 405. */
  readonly allow?: string;
  /** What failed underneath: for the log alone. */
  readonly cause?: unknown;
}

/** A refusal with a code of the closed union. Its message is public. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: GatewayErrorCode;
  readonly kind: ErrorKind;
  readonly retryAfter: number | undefined;
  readonly allow: string | undefined;

  constructor(code: GatewayErrorCode, options: GatewayErrorOptions = {}) {
    // Nobody reads where a refusal was thrown, and finding that out costs as much as the rest of it.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(options.message ?? ERRORS[code].sentence, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.kind = ERRORS[code];
    this.retryAfter = options.retryAfter ?? this.kind.retryAfter;
    this.allow = options.allow;
  }

  /** The HTTP headers that belong to the refusal. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = { "Cache-Control": "no-store" };
    if (this.kind.status === 401) headers["WWW-Authenticate"] = "Bearer";
    if (this.retryAfter !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(this.retryAfter)));
    if (this.allow !== undefined) headers.Allow = this.allow;
    return headers;
  }

  /**
   * The answer's body: `{"error", "message"}` while no JSON-RPC id is known, else a JSON-RPC error with the same HTTP status and the code in
   * `data.code`.
   */
  body(id?: string | number): Json {
    return id === undefined
      ? { error: this.code, message: this.message }
      : { jsonrpc: "2.0", id, error: { code: this.kind.rpcCode, message: this.message, data: { code: this.code } } };
  }
}
