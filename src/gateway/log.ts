import { FloodLines } from "./flood-lines.ts";

/** The timed steps of an MCP request. */
export type TimedStep = "auth" | "limiter" | "body" | "policy" | "release" | "sandbox" | "serve";

const floodLines = new FloodLines();

/**
 * The one structured line that a request leaves in the log. It says who called what and how it ended, and never holds a token, an
 * argument, a result or a body. The refusals of a flood share lines ({@link FloodLines}).
 */
export class RequestLog {
  /** The route's pattern, not the path. */
  route: string | null = null;
  client: string | null = null;
  origin: string | null = null;
  method: string | null = null;
  /** Public name of a listed tool. */
  tool: string | null = null;
  toolSha256: string | null = null;
  /** How the tool ended: `ok` or a code of the sandbox. */
  outcome: string | null = null;
  gasUsed: number | null = null;
  discovery: string | null = null;
  /** Of the caller's own trace, from `_meta.traceparent`. */
  traceId: string | null = null;
  /** The refusal's code, where the gateway refused. */
  code: string | null = null;
  /** The address that the request was refused for, where it sends a flood of such requests. */
  floodOf: string | null = null;
  readonly #requestId: string;
  readonly #httpMethod: string;
  readonly #startedAt = Date.now();
  readonly #steps: Partial<Record<TimedStep, number>> = {};

  constructor(requestId: string, httpMethod: string) {
    this.#requestId = requestId;
    this.#httpMethod = httpMethod;
  }

  /** Notes how long a step took, or something inside of one, milliseconds. */
  took(step: TimedStep, ms: number): void {
    this.#steps[step] = ms;
  }

  /** Milliseconds since the request came. */
  get elapsedMs(): number {
    return Date.now() - this.#startedAt;
  }

  /** The durations so far as a `Server-Timing` header (W3C Server Timing), milliseconds. */
  serverTiming(): string {
    const entries = Object.entries({ ...this.#steps, total: this.elapsedMs });
    return entries.map(([step, ms]) => `${step};dur=${ms}`).join(", ");
  }

  /** An unexpected failure, or what a refusal hides, with its stack: a line of its own under the same request id. */
  crash(error: unknown): void {
    console.error(JSON.stringify({ event: "crash", requestId: this.#requestId, error: describeFailure(error) }));
  }

  write(status: number): void {
    const alike = this.floodOf === null ? undefined : floodLines.take(this.floodOf, Date.now());
    if (alike === null) return;
    // JSON leaves out what is undefined.
    const fields = {
      event: "request",
      requestId: this.#requestId,
      httpMethod: this.#httpMethod,
      route: this.route ?? undefined,
      status,
      code: this.code ?? undefined,
      client: this.client ?? undefined,
      origin: this.origin ?? undefined,
      method: this.method ?? undefined,
      tool: this.tool ?? undefined,
      toolSha256: this.toolSha256 ?? undefined,
      outcome: this.outcome ?? undefined,
      gasUsed: this.gasUsed ?? undefined,
      discovery: this.discovery ?? undefined,
      traceId: this.traceId ?? undefined,
      address: this.floodOf ?? undefined,
      alike,
      ms: { total: this.elapsedMs, ...this.#steps },
    };
    console.log(JSON.stringify(fields));
  }
}

/** The innermost cause alone: what wraps it may quote the parameters of a query. */
export function describeFailure(error: unknown): string {
  let cause = error;
  for (let depth = 0; depth < 10 && cause instanceof Error && cause.cause instanceof Error; depth++)
    cause = cause.cause;
  return (cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause)).slice(0, 4_000);
}
