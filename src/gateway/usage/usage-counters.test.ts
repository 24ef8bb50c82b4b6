import { describe, expect, it } from "vitest";
import { percentile } from "../../core/latency-buckets.ts";
import { MAX_ROWS, MAX_TOOLS, OTHER_TOOLS, UsageCounters } from "./usage-counters.ts";

const key = { hour: 5, clientId: "c", originId: "o", tool: "t" };
const ok = { kind: null, gas: 10, ms: 3 };

describe("usage in the memory of an isolate", () => {
  it("sums calls, gas, errors by kind and latencies, and is handed over once", () => {
    const counters = new UsageCounters();
    counters.count(key, ok);
    counters.count(key, { kind: "gas exhausted", gas: 20, ms: 40_000 });
    counters.count(key, { kind: "rate_limited", gas: 0, ms: null });
    counters.count({ ...key, hour: 6 }, ok);
    const [first, second] = counters.take();
    expect(first).toMatchObject({ ...key, calls: 3, gas: 30 });
    expect([...(first?.errors ?? [])]).toEqual([
      ["gas exhausted", 1],
      ["rate_limited", 1],
    ]);
    expect(first?.buckets).toEqual([0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(second?.hour).toBe(6);
    expect(counters.take()).toEqual([]);
  });

  it("[budget:usage-tools] has 200 names of an origin's tools an hour; the rest is one", () => {
    const counters = new UsageCounters();
    for (let i = 0; i < MAX_TOOLS + 50; i++) counters.count({ ...key, tool: `t${i}` }, ok);
    counters.count({ ...key, originId: "p", tool: "new" }, ok);
    counters.count({ ...key, tool: "t0" }, ok);
    const rows = counters.take();
    expect(rows).toHaveLength(MAX_TOOLS + 2);
    expect(rows.find(({ tool }) => tool === OTHER_TOOLS)?.calls).toBe(50);
    counters.count({ ...key, hour: 6, tool: "new" }, ok);
    expect(counters.take()[0]?.tool).toBe("new");
  });

  it("[budget:usage-rows] is bounded, and says what found no room", () => {
    const counters = new UsageCounters();
    for (let i = 0; i < MAX_ROWS + 7; i++) counters.count({ ...key, clientId: `c${i}` }, ok);
    expect([counters.size, counters.takeDropped(), counters.takeDropped()]).toEqual([MAX_ROWS, 7, 0]);
  });
});

describe("percentile", () => {
  const buckets = (...counts: readonly number[]) => Array.from({ length: 15 }, (_, i) => counts[i] ?? 0);

  it.each([
    [buckets(), 0.5, null],
    [buckets(4), 0.5, 0.5],
    [buckets(0, 0, 10), 0.5, 3.5],
    [buckets(50, 45, 5), 0.95, 2],
    // 200 + 300 * 15.41 / 22 has more digits than anybody wants.
    [buckets(0, 0, 0, 0, 0, 0, 0, 0, 22, 1), 0.67, 410.136],
    [buckets(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3), 0.5, 30_000],
  ])("of %j at %f is %s", (counts, share, expected) => {
    expect(percentile(counts, share)).toBe(expected);
  });
});
