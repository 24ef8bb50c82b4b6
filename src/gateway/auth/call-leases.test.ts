import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Grant, RateLimiter, Unused } from "../durable/rate-limiter.ts";
import { type Allowance, CallCounter, SLOT_MS } from "../durable/sliding-window.ts";
import type { Env } from "../env.ts";
import type { GatewayError } from "../errors.ts";
import { CallLeases } from "./call-leases.ts";
import { takeCall } from "./limit.ts";

/** What the Durable Object does, by a clock of ours. */
function lease(
  counter: CallCounter,
  allowance: Allowance,
  wanted: number,
  unused: readonly Unused[],
  now: number,
): Grant {
  for (const [slot, calls] of unused) counter.giveBack(slot, calls);
  const verdict = counter.take(allowance, now);
  if (!verdict.allowed) return { verdict, extra: 0, slot: 0, validMs: 0 };
  const { extra, slot } = counter.countAhead(allowance, wanted - 1, now);
  const rate = counter.state(allowance, now);
  return { verdict: { allowed: true, rate }, extra, slot, validMs: (slot + 1) * SLOT_MS - now };
}

/** One call in one isolate; true where it is let through. */
function call(counter: CallCounter, leases: CallLeases, allowance: Allowance, now: number, delay = 0) {
  const rate = leases.use("c", now);
  if (rate !== undefined) return { allowed: true, asked: false, rate };
  const { wanted, unused } = leases.ask("c", now);
  const grant = lease(counter, allowance, wanted, unused, now + delay);
  if (grant.verdict.allowed) leases.keep("c", grant, now);
  const { rate: state } = grant.verdict;
  const remaining = state === null ? null : { ...state, remaining: state.remaining + grant.extra };
  return { allowed: grant.verdict.allowed, asked: true, rate: remaining };
}

const START = 1_800_000_000_000;

afterEach(() => {
  vi.useRealTimers();
});

describe("calls granted ahead", () => {
  it("[budget:rpm] never exceed the limit of any 60 seconds, in several isolates with slow questions", () => {
    const steps = fc.array(fc.tuple(fc.nat(2), fc.nat(400), fc.nat(30)), { minLength: 200, maxLength: 1_500 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), steps, (rpm, calls) => {
        const counter = new CallCounter();
        const isolates = [new CallLeases(), new CallLeases(), new CallLeases()];
        const made: number[] = [];
        let now = START;
        for (const [isolate, pause, delay] of calls) {
          now += pause < 380 ? pause % 20 : pause * 20;
          const leases = isolates[isolate] as CallLeases;
          const answer = call(counter, leases, { rpm, dailyQuota: null }, now, delay);
          if (answer.asked) now += delay;
          if (answer.allowed) made.push(now);
        }
        for (let first = 0; first + rpm < made.length; first++) {
          expect((made[first + rpm] ?? 0) - (made[first] ?? 0)).toBeGreaterThanOrEqual(60_000);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each([1, 31, 32, 33, 63, 64, 1_000, 5_000])(
    "[budget:rpm] are exactly the limit where one isolate asks, however fast or slow (%i)",
    (rpm) => {
      for (const pause of [0, 1, 7]) {
        const [counter, leases] = [new CallCounter(), new CallLeases()];
        const answers = Array.from({ length: rpm + 5 }, (_, index) =>
          call(counter, leases, { rpm, dailyQuota: null }, START + index * pause),
        );
        const inWindow = answers.filter((_, index) => index * pause < 59_000);
        expect(inWindow.filter(({ allowed }) => allowed).length).toBe(Math.min(rpm, inWindow.length));
        // What the headers say counts down by one a call.
        expect(inWindow.slice(0, rpm).map(({ rate }) => rate?.remaining)).toEqual(
          inWindow.slice(0, rpm).map((_, index) => rpm - 1 - index),
        );
      }
    },
  );

  it("[budget:daily-quota] are exactly the quota of a UTC day, also across midnight", () => {
    const [counter, leases] = [new CallCounter(), new CallLeases()];
    const midnight = Math.ceil(START / 86_400_000) * 86_400_000;
    const allowance = { rpm: null, dailyQuota: 1_000 };
    const count = (from: number, calls: number, pause: number) =>
      Array.from({ length: calls }, (_, index) => call(counter, leases, allowance, from + index * pause)).filter(
        ({ allowed }) => allowed,
      ).length;
    expect(count(midnight - 900, 900, 1)).toBe(900);
    expect(count(midnight, 1_200, 1)).toBe(1_000);
  });

  it("spare a busy client most questions, and a quiet one is counted call by call", () => {
    const asked = (pause: number) => {
      const [counter, leases] = [new CallCounter(), new CallLeases()];
      const answers = Array.from({ length: 500 }, (_, index) =>
        call(counter, leases, { rpm: 100_000, dailyQuota: null }, START + index * pause),
      );
      return answers.filter((answer) => answer.asked).length;
    };
    expect(asked(1)).toBeLessThan(60);
    expect(asked(3_000)).toBe(500);
  });

  it("that are not made keep at most 1/32 of what was left from another isolate", () => {
    const [counter, one, other] = [new CallCounter(), new CallLeases(), new CallLeases()];
    const allowance = { rpm: 320, dailyQuota: null };
    for (let index = 0; index < 40; index++) call(counter, one, allowance, START);
    const left = Array.from({ length: 400 }, () => call(counter, other, allowance, START + 999)).filter(
      ({ allowed }) => allowed,
    ).length;
    expect(left).toBeLessThanOrEqual(280);
    expect(left).toBeGreaterThanOrEqual(270);
  });

  it("[budget:daily-quota] that were not made come back to the day, also once their minute is over", () => {
    const [counter, one, other] = [new CallCounter(), new CallLeases(), new CallLeases()];
    const noon = Math.floor(START / 86_400_000) * 86_400_000 + 43_200_000;
    const allowance = { rpm: null, dailyQuota: 3_200 };
    const count = (leases: CallLeases, from: number, calls: number) =>
      Array.from({ length: calls }, () => call(counter, leases, allowance, from)).filter(({ allowed }) => allowed)
        .length;
    expect(count(one, noon, 40)).toBe(40);
    // More than a minute of another isolate's calls: the first one's second has left the window.
    expect(count(other, noon + 70_000, 1)).toBe(1);
    expect(count(one, noon + 140_000, 1)).toBe(1);
    expect(count(one, noon + 141_000, 4_000)).toBe(3_200 - 42);
  });

  it("end with the second in which they were counted, and when a clock is set back", () => {
    const grant: Grant = {
      verdict: { allowed: true, rate: null },
      extra: 5,
      slot: START / SLOT_MS,
      validMs: 400,
    };
    const leases = new CallLeases();
    leases.keep("c", grant, START + 600);
    expect(leases.use("c", START + 599)).toBeUndefined();
    expect(leases.use("c", START + 600)).toBeNull();
    expect(leases.use("c", START + 999)).toBeNull();
    expect(leases.use("c", START + 1_000)).toBeUndefined();
    expect(leases.ask("c", START + 1_000).unused).toEqual([[START / SLOT_MS, 3]]);
    expect(leases.ask("c", START + 1_001).unused).toEqual([]);
  });
});

it("[budget:rpm] a client's calls through its Durable Object are let through exactly up to its limit", async () => {
  const bindings = env as unknown as Env;
  const client = { clientId: `lease-${crypto.randomUUID()}`, rpm: 100, dailyQuota: null, grantAll: true };
  const remaining: number[] = [];
  let refused = 0;
  for (let index = 0; index < 104; index++) {
    try {
      await takeCall(bindings, client, (rate) => remaining.push(rate.remaining));
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
      refused += 1;
    }
  }
  expect(refused).toBe(4);
  expect(remaining.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => 99 - index));
  const stub = bindings.RATE_LIMITER.get(bindings.RATE_LIMITER.idFromName(client.clientId));
  await runInDurableObject(stub, (object: RateLimiter) => {
    expect(object.take({ rpm: 101, dailyQuota: null })).toMatchObject({ allowed: true, rate: { remaining: 0 } });
  });
});

it("a call waits for no question that was answered, with a refusal or not at all", async () => {
  // However long it waited, the question would be as young.
  vi.useFakeTimers({ toFake: ["Date"] });
  const bindings = env as unknown as Env;
  const client = { clientId: `refused-${crypto.randomUUID()}`, rpm: 5, dailyQuota: null, grantAll: true };
  const outcomes: string[] = [];
  const take = async (env: Env) => {
    try {
      await takeCall(env, client, () => {});
      outcomes.push("ok");
    } catch (error) {
      outcomes.push((error as GatewayError).code);
    }
  };
  for (let index = 0; index < 9; index++) await take(bindings);
  const lease = () => Promise.reject(new Error("down"));
  const broken = { ...bindings, RATE_LIMITER: { idFromName: () => "id", get: () => ({ lease }) } } as unknown as Env;
  for (let index = 0; index < 3; index++) await take(broken);
  const count = (code: string) => outcomes.filter((outcome) => outcome === code).length;
  expect([count("ok"), count("rate_limited"), count("limiter_unavailable")]).toEqual([5, 4, 3]);
});

it("one of many calls at once asks for all of them, also where its question fails", async () => {
  // Leases end by the clock alone, which stands still: a slow machine asks no more often.
  vi.useFakeTimers({ toFake: ["Date"] });
  const asked: number[] = [];
  let fails = false;
  const stub = {
    lease: async (_allowance: Allowance, wanted: number): Promise<Grant> => {
      asked.push(wanted);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (fails) throw new Error("down");
      const slot = Math.floor(Date.now() / SLOT_MS);
      return { verdict: { allowed: true, rate: null }, extra: wanted - 1, slot, validMs: 1_000 };
    },
  };
  const bindings = { RATE_LIMITER: { idFromName: () => "id", get: () => stub } } as unknown as Env;
  const client = { clientId: "many", rpm: 1_000_000, dailyQuota: null, grantAll: true };
  const take = () => takeCall(bindings, client, () => {});
  for (let index = 0; index < 70; index++) await take();
  asked.length = 0;
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 50 }, take));
  expect(asked.length).toBeLessThanOrEqual(3);
  // Who waits for a question that failed asks again when time has passed.
  vi.useRealTimers();
  fails = true;
  const ends = await Promise.allSettled(Array.from({ length: 100 }, async () => take()));
  const refused = ends.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: "limiter_unavailable" });
});
