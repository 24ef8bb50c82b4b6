import type { Context, MiddlewareHandler } from "hono";
import type { Catalog } from "../core/catalog.ts";
import type { Release } from "../core/discovery/release.ts";
import type { Message } from "../core/mcp/framing.ts";
import { messageId } from "../core/mcp/http.ts";
import type { CanonicalOrigin } from "../core/origin.ts";
import type { ClientPolicy, OriginPolicy, PolicyMoment } from "./auth/policy.ts";
import { type Env, readSettings, type Settings } from "./env.ts";
import { GatewayError } from "./errors.ts";
import { RequestLog } from "./log.ts";
import { countRequest } from "./metrics/metrics.ts";

/** What the steps of a request leave for the later ones, in the order of the pipeline (app.ts). */
export interface RequestVariables {
  requestId: string;
  log: RequestLog;
  settings: Settings;
  client: ClientPolicy;
  message: Message;
  origin: CanonicalOrigin;
  originPolicy: OriginPolicy;
  release: Release;
  catalog: Catalog;
  /** Headers for whatever answer the request gets in the end. */
  answerHeaders: [name: string, value: string][];
  /** The answer was made with all its headers. */
  isComplete: boolean;
}

export type GatewayContext = { Bindings: Env; Variables: RequestVariables };
export type GatewayMiddleware = MiddlewareHandler<GatewayContext>;

/** Gives the request its id and its one log line. */
export const trackRequest: GatewayMiddleware = async (c, next) => {
  const requestId = crypto.randomUUID();
  const log = new RequestLog(requestId, c.req.method);
  c.set("requestId", requestId);
  c.set("log", log);
  c.set("answerHeaders", [["X-Request-Id", requestId]]);
  await next();
  if (c.get("settings")?.serverTiming) c.res.headers.set("Server-Timing", log.serverTiming());
  log.write(c.res.status);
  countRequest(c, log, c.res.status);
};

/** Refuses everything while a setting is not understood: a gateway that guesses could be one that lets through. */
export const requireSettings: GatewayMiddleware = async (c, next) => {
  const result = readSettings(c.env);
  if (!result.ok) {
    throw new GatewayError("bad_setting", { message: result.problems.map(({ message }) => message).join(" ") });
  }
  c.set("settings", result.settings);
  await next();
};

/** Clock and background work of a request, for the caches. */
export function moment(c: Context<GatewayContext>): PolicyMoment {
  return { now: Date.now, waitUntil: (work) => c.executionCtx.waitUntil(work) };
}

/** Turns whatever a step threw into the answer. What is not a refusal of ours is told to the log alone. */
export function answerError(error: Error, c: Context<GatewayContext>): Response {
  const refusal = error instanceof GatewayError ? error : new GatewayError("internal");
  const log = c.get("log");
  log.code = refusal.code;
  if (refusal !== error || refusal.cause !== undefined) log.crash(error);
  const message: Message | undefined = c.get("message");
  return refusal.toResponse((message && messageId(message)) ?? undefined);
}
