/** Upper edges of the buckets of latencies, milliseconds; what took longer is in one bucket more. */
export const EDGES_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000] as const;

/** Which bucket counts a latency. */
export function bucketOf(ms: number): number {
  const edge = EDGES_MS.findIndex((bound) => ms <= bound);
  return edge === -1 ? EDGES_MS.length : edge;
}

/**
 * The latency that a share of the calls did not exceed, milliseconds: calls are taken to lie evenly in their bucket, those above the last
 * edge at it; to a microsecond. `null`: nothing was timed.
 *
 * @param share 0.5 is the median.
 */
export function percentile(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = total * share;
  for (const [bucket, count] of buckets.entries()) {
    const upper = EDGES_MS[bucket];
    if (upper === undefined) break;
    const lower = EDGES_MS[bucket - 1] ?? 0;
    if (count > 0 && left <= count) return Math.round((lower + ((upper - lower) * left) / count) * 1_000) / 1_000;
    left -= count;
  }
  return EDGES_MS[EDGES_MS.length - 1] ?? null;
}
