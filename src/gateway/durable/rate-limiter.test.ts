import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { Env } from "../env.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { Allowance, CounterSnapshot, Verdict } from "./sliding-window.ts";

type Stub = DurableObjectStub<RateLimiter>;

function limiter(name: string): Stub {
  const { RATE_LIMITER } = env as unknown as Env;
  return RATE_LIMITER.get(RATE_LIMITER.idFromName(name));
}

const take = (stub: Stub, allowance: Allowance) =>
  (stub as unknown as { take(allowance: Allowance): Promise<Verdict> }).take(allowance);

describe("RateLimiter", () => {
  it("admits exactly rpm of many concurrent calls", async () => {
    const stub = limiter("concurrent");
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => take(stub, { rpm: 20, dailyQuota: null })));
    expect(verdicts.filter(({ allowed }) => allowed).length).toBe(20);
  });

  it("counts each client apart", async () => {
    const allowance = { rpm: 1, dailyQuota: null };
    expect((await take(limiter("one"), allowance)).allowed).toBe(true);
    expect((await take(limiter("two"), allowance)).allowed).toBe(true);
    expect((await take(limiter("one"), allowance)).allowed).toBe(false);
  });

  it("[10.4-T38] keeps its count through an eviction", async () => {
    const stub = limiter("evicted");
    const allowance = { rpm: 3, dailyQuota: 100 };
    await take(stub, allowance);
    await take(stub, allowance);
    const written = () =>
      runInDurableObject(stub, (_, { storage }) => storage.kv.get<CounterSnapshot>("counter")?.dayCount);
    await vi.waitFor(async () => expect(await written()).toBe(2), 10_000);
    await evictDurableObject(stub);
    expect((await take(stub, allowance)).rate?.remaining).toBe(0);
    expect((await take(stub, allowance)).allowed).toBe(false);
  });

  it("writes to its storage at most once a second", async () => {
    const stub = limiter("flushes");
    const writes = await runInDurableObject(stub, async (object: RateLimiter, state) => {
      let count = 0;
      const { storage } = state;
      const put = storage.put.bind(storage) as (...args: unknown[]) => Promise<void>;
      storage.put = (...args: unknown[]) => {
        count += 1;
        return put(...args);
      };
      for (let i = 0; i < 500; i++) object.take({ rpm: null, dailyQuota: 1_000_000 });
      return count;
    });
    expect(writes).toBeGreaterThanOrEqual(1);
    expect(writes).toBeLessThanOrEqual(2);
  });
});
