import type { Context, MiddlewareHandler } from "hono";
import type { Catalog } from "../core/catalog.ts";
import type { Release } from "../core/discovery/release.ts";
import type { Message } from "../core/mcp/framing.ts";
import { messageId } from "../core/mcp/http.ts";
import type { CanonicalOrigin } from "../core/origin.ts";
import { isOperatorsToken } from "./admin/sign-in.ts";
import { completeAnswer } from "./answer-headers.ts";
import type { OriginPolicy, PolicyMoment } from "./auth/policy.ts";
import type { ClientPolicy } from "./auth/policy-reader.ts";
import { type Env, readSettings, type Settings } from "./env.ts";
import { GatewayError } from "./errors.ts";
import { describeFailure, RequestLog } from "./log.ts";
import { countRequest } from "./metrics/metrics.ts";
import type { Hold } from "./publishing/held-bytes.ts";
import type { Found } from "./releases/release-cache.ts";
import { countUsage } from "./usage/usage.ts";

/** What the steps of a request leave for the later ones, in the order of the pipeline (app.ts). */
export interface RequestVariables {
  requestId: string;
  log: RequestLog;
  settings: Settings;
  /** Of the bearer token. */
  tokenSha256: string;
  /** When the token was found to count, epoch milliseconds. */
  authenticatedAt: number;
  client: ClientPolicy;
  message: Message;
  origin: CanonicalOrigin;
  originPolicy: OriginPolicy;
  /** The release, asked for with the decisions of this version before all of them were read. */
  finding: { readonly found: Found | Promise<Found>; readonly policyVersion: number } | undefined;
  release: Release;
  catalog: Catalog;
  /** Headers for whatever answer the request gets in the end. */
  answerHeaders: [name: string, value: string][];
  /** What was read for the answer, and is given back when that has left. */
  held: readonly Hold[] | undefined;
  /** The answer was made with all its headers. */
  isComplete: boolean;
}

export type GatewayContext = { Bindings: Env; Variables: RequestVariables };
export type GatewayMiddleware = MiddlewareHandler<GatewayContext>;

/** Gives the request its id and its log. */
export function beginRequest(c: Context<GatewayContext>): void {
  const requestId = crypto.randomUUID();
  const log = new RequestLog(requestId, c.req.method);
  c.set("requestId", requestId);
  c.set("log", log);
  c.set("answerHeaders", [["X-Request-Id", requestId]]);
}

/** Writes the request's one log line, and counts it. */
export function endRequest(c: Context<GatewayContext>, answer: Response): void {
  const log = c.get("log");
  log.write(answer.status);
  countRequest(c, log, answer.status);
  countUsage(c, log);
}

/**
 * A request of an operator who looks into it carries `X-Gw-Operator: <operator's token>` beside the client's own, where the setting is on, or
 * an inspection token in place of it.
 */
export function asksForTiming(c: Context<GatewayContext>): boolean {
  if (isInspection(c)) return true;
  return c.get("settings")?.serverTiming === true && c.req.header("X-Gw-Operator") !== undefined;
}

function isInspection(c: Context<GatewayContext>): boolean {
  return c.get("client")?.tokenKind === "inspection";
}

/** Tells an operator, and nobody else, how long the steps took. */
export async function tellTiming(c: Context<GatewayContext>, answer: Response): Promise<void> {
  const timing = c.get("log").serverTiming();
  try {
    const isOperators =
      isInspection(c) || (await isOperatorsToken(c.req.header("X-Gw-Operator") ?? "", c.req.raw.headers, c.env));
    if (isOperators) answer.headers.set("Server-Timing", timing);
  } catch (error) {
    console.warn(JSON.stringify({ event: "timing_not_told", error: describeFailure(error) }));
  }
}

export const trackRequest: GatewayMiddleware = async (c, next) => {
  beginRequest(c);
  await next();
  if (asksForTiming(c)) await tellTiming(c, c.res);
  endRequest(c, c.res);
};

/** Refuses everything while a setting is not understood: a gateway that guesses could be one that lets through. */
export function findSettings(c: Context<GatewayContext>): undefined {
  const result = readSettings(c.env);
  if (!result.ok) {
    throw new GatewayError("bad_setting", { message: result.problems.map(({ message }) => message).join(" ") });
  }
  c.set("settings", result.settings);
}

export const requireSettings: GatewayMiddleware = async (c, next) => {
  findSettings(c);
  await next();
};

/** A class, since closures that are made for each request lose their compiled code with every collection of garbage. */
class RequestMoment implements PolicyMoment {
  readonly #c: Context<GatewayContext>;

  constructor(c: Context<GatewayContext>) {
    this.#c = c;
  }

  now(): number {
    return Date.now();
  }

  waitUntil(work: Promise<unknown>): void {
    this.#c.executionCtx.waitUntil(work);
  }
}

/** Clock and background work of a request, for the caches. */
export function moment(c: Context<GatewayContext>): PolicyMoment {
  return new RequestMoment(c);
}

/** Turns whatever a step threw into the answer. What is not a refusal of ours is told to the log alone. */
export function answerError(error: Error, c: Context<GatewayContext>): Response {
  const refusal = error instanceof GatewayError ? error : new GatewayError("internal");
  const log = c.get("log");
  log.code = refusal.code;
  if (refusal !== error || refusal.cause !== undefined) log.crash(error);
  const message: Message | undefined = c.get("message");
  const body = JSON.stringify(refusal.body((message && messageId(message)) ?? undefined));
  return completeAnswer(c, body, refusal.kind.status, { "Content-Type": "application/json", ...refusal.headers() });
}
