import type { Context } from "hono";
import { inBackground } from "../background.ts";
import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { GatewayError } from "../errors.ts";
import { describeFailure, type RequestLog } from "../log.ts";
import type { GatewayContext } from "../request-context.ts";
import { Counters, type Increments, writeMetrics } from "./counters.ts";

/** An isolate hands on what it counted this often, in the background of a request. */
export const FLUSH_INTERVAL_MS = 10_000;
const STORE_TIMEOUT_MS = 2_000;

/** The object's methods as a caller sees them. */
interface Store {
  add(increments: Increments): Promise<void>;
  totals(): Promise<Increments>;
}

const counters = new Counters();
let flushedAt = 0;

/**
 * Counts an answered request, and now and then hands on what was counted. Sums are exact but for what an isolate had not handed on when
 * the platform ended it (at most the last 10 s of its requests) and what a failed write may have counted after all.
 */
export function countRequest(c: Context<GatewayContext>, log: RequestLog, status: number): void {
  const now = Date.now();
  if (counters.isEmpty && now - flushedAt >= FLUSH_INTERVAL_MS) flushedAt = now;
  counters.count(log, status);
  if (Math.abs(now - flushedAt) < FLUSH_INTERVAL_MS) return;
  flushedAt = now;
  inBackground(c, flush(c.env));
}

/** Counts an event of a request that is under way, and is handed on with it. */
export function countSeries(name: string, labels: Readonly<Record<string, string>>): void {
  counters.countLabelled(name, labels);
}

/** Never fails: what could not be handed on waits for the next time. */
async function flush(env: Env): Promise<void> {
  const increments = counters.take();
  try {
    await withDeadline(store(env).add(increments), STORE_TIMEOUT_MS);
  } catch (error) {
    counters.putBack(increments);
    console.warn(JSON.stringify({ event: "metrics_not_written", error: describeFailure(error) }));
  }
}

/**
 * `GET /metrics`: the sums of the whole deployment in the Prometheus text format, for operators alone.
 *
 * @throws {GatewayError} `metrics_unavailable`: the object that holds them fails, or does not answer within 2 seconds.
 */
export async function metrics(c: Context<GatewayContext>): Promise<Response> {
  if (!counters.isEmpty) await flush(c.env);
  return c.text(writeMetrics(await readTotals(c.env)), 200, {
    "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
  });
}

async function readTotals(env: Env): Promise<Increments> {
  try {
    return await withDeadline(store(env).totals(), STORE_TIMEOUT_MS);
  } catch (cause) {
    throw new GatewayError("metrics_unavailable", { cause });
  }
}

function store({ METRICS }: Env): Store {
  return METRICS.get(METRICS.idFromName("all")) as unknown as Store;
}
