import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Allowance, CallCounter } from "./sliding-window.ts";

const T0 = Date.UTC(2026, 10, 30, 12, 0, 0);
const perMinute = (rpm: number): Allowance => ({ rpm, dailyQuota: null });

function admitted(counter: CallCounter, allowance: Allowance, times: readonly number[]): number {
  return times.filter((time) => counter.take(allowance, time).allowed).length;
}

describe("CallCounter", () => {
  it("[budget:rpm] admits exactly rpm calls at once, and says how many remain", () => {
    const counter = new CallCounter();
    const remaining = [];
    for (let i = 0; i < 3; i++) {
      const verdict = counter.take(perMinute(3), T0 + i);
      expect(verdict.allowed).toBe(true);
      remaining.push(verdict.rate?.remaining);
    }
    expect(remaining).toEqual([2, 1, 0]);
    const refused = counter.take(perMinute(3), T0 + 10);
    expect(refused).toEqual({
      allowed: false,
      reason: "rate",
      rate: { limit: 3, remaining: 0, resetAt: T0 + 61_000 },
      retryAfterMs: 60_990,
    });
    expect(counter.take(perMinute(3), T0 + 60_999).allowed).toBe(false);
    expect(counter.take(perMinute(3), T0 + 61_000).allowed).toBe(true);
  });

  it("[10.2-double-burst] admits no 2x burst at the edge of any window", () => {
    const counter = new CallCounter();
    const late = Array.from({ length: 100 }, () => T0 + 59_900);
    const early = Array.from({ length: 100 }, () => T0 + 60_100);
    expect(admitted(counter, perMinute(100), [...late, ...early])).toBe(100);
  });

  it("never admits more than rpm in any 60 seconds, whatever the arrivals", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4_000 }), { maxLength: 300 }),
        fc.integer({ min: 1, max: 20 }),
        (gaps, rpm) => {
          const counter = new CallCounter();
          let now = T0;
          const times = gaps.map((gap) => {
            now += gap;
            return now;
          });
          const taken = times.filter((time) => counter.take(perMinute(rpm), time).allowed);
          for (const start of taken) {
            expect(taken.filter((time) => time >= start && time < start + 60_000).length).toBeLessThanOrEqual(rpm);
          }
        },
      ),
    );
  });

  it("admits a call after exactly the time it told the client to wait", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 20, maxLength: 60 }), (gaps) => {
        const counter = new CallCounter();
        let now = T0;
        for (const gap of gaps) {
          now += gap;
          const verdict = counter.take(perMinute(5), now);
          if (verdict.allowed) continue;
          expect(new CallCounter(counter.snapshot()).take(perMinute(5), now + verdict.retryAfterMs).allowed).toBe(true);
          expect(new CallCounter(counter.snapshot()).take(perMinute(5), now + verdict.retryAfterMs - 1).allowed).toBe(
            false,
          );
        }
      }),
    );
  });

  it("does not count refused calls", () => {
    const counter = new CallCounter();
    counter.take(perMinute(1), T0);
    for (let i = 0; i < 50; i++) counter.take(perMinute(1), T0 + i * 1_000);
    expect(counter.take(perMinute(1), T0 + 61_000).allowed).toBe(true);
  });

  it("[10.2-rpm-zero] refuses everything at rpm 0 and nothing at rpm null", () => {
    const counter = new CallCounter();
    expect(counter.take(perMinute(0), T0)).toMatchObject({ allowed: false, reason: "rate", retryAfterMs: 60_000 });
    expect(counter.take({ rpm: null, dailyQuota: null }, T0)).toEqual({ allowed: true, rate: null });
  });

  it("[budget:daily-quota] admits exactly the quota in a UTC day and begins anew at midnight", () => {
    const counter = new CallCounter();
    const allowance = { rpm: null, dailyQuota: 2 };
    const evening = Date.UTC(2026, 10, 30, 23, 59, 59);
    expect(admitted(counter, allowance, [evening, evening])).toBe(2);
    expect(counter.take(allowance, evening)).toEqual({
      allowed: false,
      reason: "quota",
      rate: null,
      retryAfterMs: 1_000,
    });
    expect(counter.take(allowance, evening + 1_000).allowed).toBe(true);
  });

  it("frees nothing when the clock runs backwards", () => {
    const counter = new CallCounter();
    expect(admitted(counter, perMinute(2), [T0, T0, T0 - 3_600_000])).toBe(2);
  });

  it.each([1_000, 59_000, 3_600_000, 40 * 86_400_000])(
    "a clock that was %i ms ahead and is set right admits no call early and blocks nobody longer than a minute",
    (ahead) => {
      const counter = new CallCounter();
      expect(admitted(counter, perMinute(2), [T0 + ahead - 5_000, T0 + ahead])).toBe(2);
      const refused = counter.take(perMinute(2), T0 + 1);
      expect(refused).toMatchObject({ allowed: false, reason: "rate" });
      expect(refused.rate?.resetAt).toBeLessThanOrEqual(T0 + 61_000);
      expect(admitted(counter, perMinute(2), [T0 + 54_999])).toBe(0);
      expect(admitted(counter, perMinute(2), [T0 + 61_000, T0 + 61_000])).toBe(2);
    },
  );

  it("a clock that swings a little around midnight gives no second quota, one that was a day ahead takes none away", () => {
    const midnight = Date.UTC(2026, 11, 1);
    const allowance = { rpm: null, dailyQuota: 2 };
    const swinging = new CallCounter();
    const times = [midnight + 1, midnight - 1_000, midnight, midnight - 5_000, midnight + 2];
    expect(admitted(swinging, allowance, times)).toBe(2);
    const ahead = new CallCounter();
    expect(admitted(ahead, allowance, [midnight + 86_400_000, midnight + 86_400_001])).toBe(2);
    expect(ahead.take(allowance, midnight - 7_200_000)).toMatchObject({ reason: "quota", retryAfterMs: 7_200_000 });
    expect(ahead.take(allowance, midnight).allowed).toBe(true);
  });

  it("survives any clock: never a wait of more than a minute, or a count it did not admit", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4e12 }), { maxLength: 50 }), (times) => {
        const counter = new CallCounter();
        for (const time of times) {
          const verdict = counter.take(perMinute(3), time);
          expect(verdict.rate?.remaining).toBeGreaterThanOrEqual(0);
          expect((verdict.rate?.resetAt ?? 0) - time).toBeLessThanOrEqual(61_000);
          if (!verdict.allowed) expect(verdict.retryAfterMs).toBeGreaterThan(0);
        }
        expect(counter.snapshot().slots.length).toBeLessThanOrEqual(61);
      }),
    );
  });

  it("goes on where its snapshot ended", () => {
    const counter = new CallCounter();
    counter.take(perMinute(2), T0);
    const restored = new CallCounter(structuredClone(counter.snapshot()));
    expect(admitted(restored, perMinute(2), [T0 + 500, T0 + 600])).toBe(1);
  });
});
