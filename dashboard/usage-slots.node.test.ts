import { expect, it } from "vitest";
import type { Usage } from "./api/types.ts";
import { slotsOf } from "./usage-slots.ts";

const HOUR_MS = 3_600_000;
const buckets = (counts: Readonly<Record<number, number>>) => Array.from({ length: 15 }, (_, i) => counts[i] ?? 0);

it("percentiles of several hours are those of all their calls, not of the worst hour", () => {
  const hours = 168;
  const of = (hour: number, calls: number, counts: Readonly<Record<number, number>>) =>
    ({ hour: hour * HOUR_MS, calls, errors: { timeout: 1 }, buckets: buckets(counts) }) as unknown as Usage;
  // Two hours are one slot of a week: 999 quick calls, and one that took more than two seconds.
  const slots = slotsOf([of(0, 999, { 2: 999 }), of(1, 1, { 11: 1 })], 0, hours * HOUR_MS);
  expect(slots).toHaveLength(84);
  expect(slots[0]).toMatchObject({ at: 0, calls: 1_000, errors: 2 });
  expect(slots[0]?.p95).toBeLessThanOrEqual(5);
  expect(slots[1]).toEqual({ at: 2 * HOUR_MS, calls: 0, errors: 0, p50: null, p95: null });
});

it("a call outside of the span is in no slot", () => {
  const late = { hour: 30 * HOUR_MS, calls: 1, errors: {}, buckets: buckets({}) } as unknown as Usage;
  expect(slotsOf([late], 0, 24 * HOUR_MS).every(({ calls }) => calls === 0)).toBe(true);
});
