import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addOrigin, become, env, hubHasWritten, migrate, seen } from "../../../test/workerd/gateway-fixture.ts";
import { movePolicy } from "../../../test/workerd/trust-fixture.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { PolicyCache } from "../auth/policy.ts";
import { askHub, inspectHub, reconsiderHub, wakeHub } from "../releases/hub-client.ts";
import type { OriginHub } from "./origin-hub.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

function newHub(kind = "good") {
  vi.useFakeTimers({ toFake: ["Date"] });
  const host = `${kind}-${crypto.randomUUID()}.example`;
  const origin = `https://${host}` as CanonicalOrigin;
  const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin));
  return {
    host,
    origin,
    stub,
    ask: () => askHub(env, origin, null),
    /** Milliseconds from now until the alarm; `null` where none is set. */
    alarm: async () => {
      await hubHasWritten(origin);
      const at = await runInDurableObject(stub, (_hub, state) => state.storage.getAlarm());
      return at === null ? null : at - Date.now();
    },
    ring: async () => {
      await hubHasWritten(origin);
      const rang = await runDurableObjectAlarm(stub);
      await hubHasWritten(origin);
      return rang;
    },
    fetches: (path = "/llms.txt") => seen(host, path),
  };
}

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

describe("a hub that is called", () => {
  it("refreshes itself each minute, and fetches no bytes that it holds", async () => {
    const { ask, alarm, ring, fetches } = newHub();
    await ask();
    for (let minute = 1; minute <= 3; minute++) {
      expect(await alarm()).toBe(60_000);
      pass(60_000);
      expect(await ring()).toBe(true);
      expect(await fetches()).toBe(1 + minute);
    }
    expect(await fetches("/tools/sum_numbers.js")).toBe(1);
    expect((await ask()).ok && (await fetches())).toBe(4);
  });

  it("[budget:called-lately] does so until 1,800,000 ms after the last call, through evictions, and not at 1,800,001 ms", async () => {
    for (const [ms, fetched] of [
      [1_800_000, 2],
      [1_800_001, 1],
    ] as const) {
      const { ask, alarm, ring, fetches, stub, origin } = newHub();
      await ask();
      await hubHasWritten(origin);
      await evictDurableObject(stub);
      pass(ms);
      await ring();
      expect([await fetches(), await alarm()]).toEqual([fetched, fetched === 2 ? 60_000 : null]);
    }
  });

  it("that missed its alarm by more than 5 s, as all others did, is rung again within the next 5 s and asks then", async () => {
    for (const [late, fetched] of [
      [5_000, 2],
      [5_001, 1],
    ] as const) {
      const { ask, alarm, stub, fetches } = newHub();
      await ask();
      const scheduledTime = Date.now() + ((await alarm()) ?? 0);
      vi.setSystemTime(scheduledTime + late);
      await runInDurableObject(stub, (hub: OriginHub) => hub.alarm({ scheduledTime, isRetry: false, retryCount: 0 }));
      expect(await fetches()).toBe(fetched);
      const next = (await alarm()) ?? 0;
      expect(next).toBeGreaterThanOrEqual(late === 5_000 ? 60_000 : 1_000);
      expect(next).toBeLessThanOrEqual(late === 5_000 ? 60_000 : 5_000);
    }
  });

  it("fetches nothing that its storage holds after an eviction", async () => {
    const { ask, ring, fetches, stub, origin } = newHub();
    await ask();
    await hubHasWritten(origin);
    await evictDurableObject(stub);
    pass(60_000);
    await ring();
    expect([await fetches(), await fetches("/tools/sum_numbers.js")]).toEqual([2, 1]);
  });

  it("goes on by alarm with what was deferred", async () => {
    const { ask, alarm, ring } = newHub("laborious");
    const count = async () => {
      const answer = await ask();
      return answer.ok && answer.packed === null
        ? 0
        : JSON.parse(new TextDecoder().decode(manifest(answer))).skills.length;
    };
    expect(await count()).toBeLessThan(3);
    expect(await alarm()).toBe(15_001);
    for (let i = 0; i < 3; i++) {
      pass(15_001);
      await ring();
    }
    expect(await count()).toBe(3);
    expect(await alarm()).toBe(60_000);
  }, 60_000);

  it("looks again as soon as its release is no longer fresh where the database was silent", async () => {
    const { ask, alarm, ring } = newHub();
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const original = PolicyCache.prototype.originNow;
    PolicyCache.prototype.originNow = () => Promise.reject(new Error("D1 is down"));
    try {
      await ask();
      expect(await alarm()).toBe(15_001);
    } finally {
      PolicyCache.prototype.originNow = original;
      vi.restoreAllMocks();
    }
    pass(15_001);
    await ring();
    expect(await alarm()).toBe(60_000);
  });

  it("looks after an origin that fails while it has a last known good release, and else only for callers", async () => {
    const failing = newHub("down");
    await failing.ask();
    expect(await failing.alarm()).toBe(null);
    const { ask, alarm, ring, host } = newHub();
    await ask();
    await become(host, "down");
    pass(60_000);
    await ring();
    expect(await alarm()).toBe(60_000);
    await become(host, "good");
    pass(60_000);
    await ring();
    expect(await ask()).toMatchObject({ state: "hub", fetchedAt: Date.now() });
  });

  it("has no alarm for whom nobody calls: the cron alone sets none", async () => {
    const { alarm, origin, fetches } = newHub();
    await wakeHub(env, origin);
    expect([await fetches(), await alarm()]).toEqual([1, null]);
  });
});

describe("an origin that an operator took out of service", () => {
  async function newOrigin() {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { id, host, origin: name } = await addOrigin();
    const origin = name as CanonicalOrigin;
    const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin));
    await askHub(env, origin, null);
    await hubHasWritten(origin);
    return {
      ...{ id, host, origin, stub },
      alarm: async () => {
        await hubHasWritten(origin);
        return runInDurableObject(stub, (_hub, state) => state.storage.getAlarm());
      },
      holds: async () => (await inspectHub(env, origin)).inspected !== null,
    };
  }

  it.each([
    ["suspended", true],
    ["revoked", false],
  ] as const)(
    "is asked for nothing more once it is %s, by alarm, by cron or after an eviction",
    async (status, kept) => {
      const { id, host, origin, stub, alarm, holds } = await newOrigin();
      await movePolicy(id, { status });
      pass(60_000);
      expect(await runDurableObjectAlarm(stub)).toBe(true);
      await wakeHub(env, origin);
      await evictDurableObject(stub);
      pass(600_000);
      await runDurableObjectAlarm(stub);
      expect([await seen(host, "/llms.txt"), await alarm(), await holds()]).toEqual([1, null, kept]);
    },
  );

  it("is asked for nothing more by a hub that was told, while the database is silent", async () => {
    const { id, host, origin, alarm, holds } = await newOrigin();
    await movePolicy(id, { status: "revoked" });
    await reconsiderHub(env, origin);
    expect([await alarm(), await holds()]).toEqual([null, false]);
    const original = PolicyCache.prototype.originNow;
    PolicyCache.prototype.originNow = () => Promise.reject(new Error("D1 is down"));
    try {
      await wakeHub(env, origin);
    } finally {
      PolicyCache.prototype.originNow = original;
    }
    expect(await seen(host, "/llms.txt")).toBe(1);
  });

  it("leaves nothing of a discovery that was under way when it was revoked", async () => {
    const { id, host, origin, holds } = await newOrigin();
    await become(host, "lazy");
    pass(60_001);
    const waking = wakeHub(env, origin);
    while ((await seen(host, "/llms.txt")) < 2) await scheduler.wait(5);
    await movePolicy(id, { status: "revoked" });
    await reconsiderHub(env, origin);
    await waking;
    expect([await holds(), await seen(host, "/tools/sum_numbers.js")]).toEqual([false, 1]);
  });
});

function manifest(answer: Awaited<ReturnType<typeof askHub>>): Uint8Array {
  if (!answer.ok || answer.packed === null) throw new Error("no release");
  return answer.packed.manifest;
}
