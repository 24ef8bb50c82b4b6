import { HOUR_MS } from "../src/core/durations.ts";
import { percentile } from "../src/core/latency-buckets.ts";
import type { Usage } from "./api/types.ts";

/** Bars of more than so many would be too narrow to be told apart: hours are then put together. */
const MOST_SLOTS = 84;

export interface UsageSlot {
  /** Its begin, epoch milliseconds. */
  readonly at: number;
  readonly calls: number;
  readonly errors: number;
  /** Milliseconds; null: nothing was timed. */
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Hours of a span in equal slots; hours without a call are slots too. Percentiles are of all calls of a slot together. */
export function slotsOf(hourly: readonly Usage[], from: number, now = Date.now()): readonly UsageSlot[] {
  const hours = Math.max(1, Math.ceil((now - from) / HOUR_MS));
  const size = Math.ceil(hours / MOST_SLOTS);
  const slots = Array.from({ length: Math.ceil(hours / size) }, () => ({
    calls: 0,
    errors: 0,
    buckets: [] as number[],
  }));
  for (const { hour, calls, errors, buckets } of hourly) {
    const slot = slots[Math.floor(((hour ?? 0) - from) / (size * HOUR_MS))];
    if (slot === undefined) continue;
    slot.calls += calls;
    slot.errors += Object.values(errors).reduce((sum, n) => sum + n, 0);
    for (const [index, n] of buckets.entries()) slot.buckets[index] = (slot.buckets[index] ?? 0) + n;
  }
  return slots.map(({ calls, errors, buckets }, index) => ({
    ...{ at: from + index * size * HOUR_MS, calls, errors },
    p50: percentile(buckets, 0.5),
    p95: percentile(buckets, 0.95),
  }));
}
