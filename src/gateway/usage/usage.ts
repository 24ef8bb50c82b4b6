import type { Context } from "hono";
import { HOUR_MS } from "../../core/durations.ts";
import { inBackground } from "../background.ts";
import { withDeadline } from "../deadline.ts";
import type { Env } from "../env.ts";
import { publishLive } from "../live/live-feed.ts";
import { describeFailure, type RequestLog } from "../log.ts";
import { openRegistry } from "../registry/database.ts";
import { addUsage, removeOldUsage, type UsageFlush } from "../registry/usage.ts";
import type { GatewayContext } from "../request-context.ts";
import { MAX_ROWS, UsageCounters, type UsageRow } from "./usage-counters.ts";

/** An isolate writes down what it counted at most this often, in the background of a request. */
const FLUSH_INTERVAL_MS = 10_000;
const WRITE_TIMEOUT_MS = 5_000;

const counters = new UsageCounters();
let flushedAt = Number.NEGATIVE_INFINITY;
/** With when it was sent last, epoch milliseconds. */
interface Unconfirmed extends UsageFlush {
  sentAt: number;
}

/**
 * What is being written, and of which nobody said that it was: perhaps it was. That is sent again as it is, since its id says what was counted
 * already, and so is what a request was writing that the platform ended.
 */
const unconfirmed = new Set<Unconfirmed>();
/** As many at once; each has at most {@link MAX_ROWS} rows. */
const MAX_UNCONFIRMED = 3;

/**
 * Counts a finished tool call, or a refusal of a known client's request; other messages are not counted. The first one in ten seconds is
 * written down at once, so that rare calls are in the sums though their isolate ends after them; of many, the last ten seconds may be lost.
 */
export function countUsage(c: Context<GatewayContext>, log: RequestLog): void {
  const { client, code, outcome } = log;
  if (client === null || (code === null && outcome === null)) return;
  const now = Date.now();
  const kind = code ?? (outcome === "ok" ? null : outcome);
  const originId = c.get("originPolicy")?.originId ?? "";
  const [tool, gas, ms] = [log.tool ?? "", log.gasUsed ?? 0, outcome === null ? null : log.elapsedMs];
  counters.count({ hour: Math.floor(now / HOUR_MS), clientId: client, originId, tool }, { kind, gas, ms });
  // One point a call: Analytics Engine samples by itself where there are many.
  c.env.USAGE?.writeDataPoint({ indexes: [client], blobs: [originId, tool, kind ?? "ok"], doubles: [ms ?? -1, gas] });
  if (Math.abs(now - flushedAt) < FLUSH_INTERVAL_MS && counters.size < MAX_ROWS / 2) return;
  flushedAt = now;
  inBackground(c, writeAndTell(c.env));
}

async function writeAndTell(env: Env): Promise<void> {
  const written = await flushUsage(env);
  if (written !== null) await publishLive(env, { type: "usage", at: Date.now(), ...written });
}

/**
 * Writes down what this isolate counted. Never fails: what could not be written waits for the next time. Operators who watch are not told:
 * who reads the sums has this done first, and would be told to read them again.
 *
 * @returns what was written; `null`: nothing.
 */
export async function flushUsage(env: Env): Promise<{ readonly calls: number; readonly errors: number } | null> {
  const dropped = counters.takeDropped();
  if (dropped > 0) console.warn(JSON.stringify({ event: "usage_dropped", calls: dropped }));
  const now = Date.now();
  const written: UsageRow[] = [];
  const send = async (flush: Unconfirmed): Promise<boolean> => {
    flush.sentAt = now;
    try {
      await withDeadline(addUsage(openRegistry(env.DB), flush, now), WRITE_TIMEOUT_MS);
      unconfirmed.delete(flush);
      written.push(...flush.rows);
      return true;
    } catch (error) {
      flush.sentAt = Number.NEGATIVE_INFINITY;
      console.warn(JSON.stringify({ event: "usage_not_written", error: describeFailure(error) }));
      return false;
    }
  };
  let answers = true;
  for (const flush of [...unconfirmed]) {
    if (answers && unconfirmed.has(flush) && Math.abs(now - flush.sentAt) > WRITE_TIMEOUT_MS)
      answers = await send(flush);
  }
  // While the database is silent, what is counted meanwhile waits in the counters, which are bounded.
  const rows = answers && unconfirmed.size < MAX_UNCONFIRMED ? counters.take() : [];
  if (rows.length > 0) {
    const flush = { id: crypto.randomUUID(), rows, sentAt: now };
    unconfirmed.add(flush);
    await send(flush);
  }
  return written.length === 0 ? null : sumOf(written);
}

/** What the cron does with usage that is too old. Never fails. @returns rows removed. */
export async function forgetOldUsage(env: Env, now: number): Promise<number> {
  try {
    return await removeOldUsage(openRegistry(env.DB), now);
  } catch (error) {
    console.warn(JSON.stringify({ event: "usage_not_forgotten", error: describeFailure(error) }));
    return 0;
  }
}

function sumOf(rows: readonly UsageRow[]): { readonly calls: number; readonly errors: number } {
  const sum = { calls: 0, errors: 0 };
  for (const { calls, errors } of rows) {
    sum.calls += calls;
    for (const count of errors.values()) sum.errors += count;
  }
  return sum;
}
