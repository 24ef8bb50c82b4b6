import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { become, env, hubHasWritten, migrate, seen } from "../../../test/workerd/gateway-fixture.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { askHub, probeOrigin, wakeHub } from "../releases/hub-client.ts";
import { packedBytes, unpackRelease } from "../releases/packed-release.ts";
import { ReleaseCache } from "../releases/release-cache.ts";
import { forgetHeldReleases } from "./held-release.ts";

// The hub runs in the isolate of the tests, so it sees the date that a test sets; timers are left alone.
const setAge = (fetchedAt: number, ms: number) => vi.setSystemTime(fetchedAt + ms);

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

async function publisher(kind = "good") {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { host, origin } = await addOriginName(kind);
  const ask = async (known: string | null = null) => {
    const answer = await askHub(env, origin, known);
    return answer.ok ? answer : { ...answer, state: answer.failure.code };
  };
  const fetches = () => seen(host, "/llms.txt");
  return { host, origin, ask, fetches };
}

/** A hub discovers what it is asked for, registered or not: a name is enough. */
async function addOriginName(kind: string): Promise<{ host: string; origin: CanonicalOrigin }> {
  const host = `${kind}-${crypto.randomUUID()}.example`;
  return { host, origin: `https://${host}` as CanonicalOrigin };
}

async function settled(check: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1_000 && !(await check()); i++) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function fetchedAt(ask: () => Promise<{ ok: boolean; fetchedAt?: number }>): Promise<number> {
  const answer = await ask();
  if (answer.fetchedAt === undefined) throw new Error("no release");
  return answer.fetchedAt;
}

describe("OriginHub", () => {
  it("[budget:fresh] serves a release of 15,000 ms as it is, and refreshes one of 15,001 ms behind the answer", async () => {
    const { ask, fetches } = await publisher();
    const at = await fetchedAt(ask);
    for (const age of [14_999, 15_000]) {
      setAge(at, age);
      expect((await ask()).state).toBe("hub");
      expect(await fetches()).toBe(1);
    }
    setAge(at, 15_001);
    const [first, second] = await Promise.all([ask(), ask()]);
    expect([first.state, second.state]).toEqual(["hub", "hub"]);
    await settled(async () => (await fetchedAt(ask)) > at);
    expect(await fetches()).toBe(2);
  });

  it("[budget:servable] serves a release of 105,000 ms, and not one of 105,001 ms while the origin answers", async () => {
    const { ask, fetches, host } = await publisher();
    const at = await fetchedAt(ask);
    await become(host, "lazy");
    setAge(at, 104_999);
    expect((await ask()).state).toBe("hub");
    await settled(async () => (await fetchedAt(ask)) > at);
    const second = await fetchedAt(ask);
    setAge(second, 105_000);
    expect(await ask()).toMatchObject({ state: "hub", fetchedAt: second });
    await settled(async () => (await fetchedAt(ask)) > second);
    const third = await fetchedAt(ask);
    const before = await fetches();
    setAge(third, 105_001);
    expect((await ask()).state).toBe("miss");
    expect(await fetches()).toBe(before + 1);
  });

  it("[budget:failure-memory] asks a failing origin again after 10,000 ms and not at 9,999 ms", async () => {
    const { ask, fetches } = await publisher("down");
    expect((await ask()).state).toBe("discovery_failed");
    const at = Date.now();
    setAge(at, 9_000);
    expect((await ask()).state).toBe("discovery_failed");
    expect(await fetches()).toBe(1);
    setAge(at, 10_001);
    expect((await ask()).state).toBe("discovery_failed");
    expect(await fetches()).toBe(2);
  });

  it("[budget:stale-if-error] serves the last known good for 24 h while the origin fails, then fails too", async () => {
    const { ask, host } = await publisher();
    const at = await fetchedAt(ask);
    await become(host, "down");
    setAge(at, 60_000);
    expect((await ask()).state).toBe("hub");
    for (const [age, state] of [
      [105_001, "stale"],
      [86_400_000, "stale"],
      [86_400_001, "discovery_failed"],
    ] as const) {
      setAge(at, age);
      expect(await ask()).toMatchObject({ state });
    }
    await become(host, "good");
    setAge(at, 86_500_000);
    expect((await ask()).state).toBe("miss");
  });

  it("serves the last known good where the origin answers everything with a page of HTML", async () => {
    const { ask, host } = await publisher();
    const at = await fetchedAt(ask);
    await become(host, "page");
    setAge(at, 105_001);
    expect(await ask()).toMatchObject({ state: "stale", fetchedAt: at });
  });

  it("takes an origin that answers and offers nothing at its word", async () => {
    const { ask, host, origin } = await publisher();
    const at = await fetchedAt(ask);
    await become(host, "prose");
    setAge(at, 200_000);
    expect((await ask()).state).toBe("no_skills");
    await hubHasWritten(origin);
    await abortAllDurableObjects();
    await become(host, "down");
    expect((await ask()).state).toBe("discovery_failed");
  });

  it("sends no bytes to a caller that has them", async () => {
    const { ask } = await publisher();
    const full = await ask();
    if (!full.ok || full.packed === null) throw new Error("no release");
    expect(await ask(full.version)).toEqual({ ...full, state: "hub", packed: null });
    expect(await ask("another")).toEqual({ ...full, state: "hub" });
  });

  it("[budget:release] sends and keeps 16 MiB of recipes, in characters that take two bytes in memory, and of one tool in 60 scopes", async () => {
    const { ask, origin, fetches } = await publisher("huge");
    const first = await ask();
    if (!first.ok || first.packed === null) throw new Error("no release");
    const release = unpackRelease(first.packed);
    expect(release.skills.length).toBe(60);
    expect(release.skills.map(({ recipe }) => recipe?.text.length)).toEqual(Array(60).fill(262_000));
    expect(first.packed.artifacts.size).toBe(61);
    await evictDurableObject(env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)));
    const again = await ask();
    expect(again.ok && again.packed && packedBytes(again.packed)).toBe(packedBytes(first.packed));
    expect([again.state, await fetches()]).toEqual(["hub", 1]);
  }, 60_000);

  it.each([
    ["a missing chunk", "DELETE FROM chunks WHERE name = 'manifest'"],
    ["an altered artifact", "UPDATE chunks SET bytes = X'00' WHERE LENGTH(name) = 64"],
    ["an altered manifest", "UPDATE chunks SET bytes = X'7B7D' WHERE name = 'manifest'"],
    ["a head that is no JSON", "UPDATE chunks SET bytes = X'7B' WHERE name = 'head'"],
    ["no rows at all", "DELETE FROM chunks"],
  ])("discovers anew where its storage has %s", async (_, damage) => {
    const { ask, fetches, origin } = await publisher();
    const first = await ask();
    const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin));
    await hubHasWritten(origin);
    await runInDurableObject(stub, (_object, state) => void state.storage.sql.exec(damage));
    forgetHeldReleases();
    await evictDurableObject(stub);
    expect(await ask()).toMatchObject({ ok: true, state: "miss", version: first.ok && first.version });
    expect(await fetches()).toBe(2);
    forgetHeldReleases();
    await evictDurableObject(stub);
    expect((await ask()).state).toBe("hub");
  });

  it("serves what it discovered when its storage takes nothing, and withdraws it all the same", async () => {
    const { ask, host, origin, fetches } = await publisher();
    const stub = env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin));
    const run = (sql: string) => runInDurableObject(stub, (_object, state) => void state.storage.sql.exec(sql));
    // A new object makes the table with its first release; this one finds it made, and then it is gone.
    await run("CREATE TABLE chunks (name, part, bytes)");
    await evictDurableObject(stub);
    await run("DROP TABLE chunks");
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const at = await fetchedAt(ask);
    expect((await ask()).state).toBe("hub");
    expect(await fetches()).toBe(1);
    forgetHeldReleases();
    expect((await ask()).state).toBe("miss");
    await become(host, "prose");
    setAge(at, 200_000);
    expect((await ask()).state).toBe("no_skills");
    const events = errors.mock.calls.map(([line]) => (JSON.parse(String(line)) as { event: string }).event);
    expect(new Set(events)).toEqual(new Set(["release_not_stored", "release_not_read"]));
    errors.mockRestore();
  });

  it("asks the origin again when the clock was set back behind the release", async () => {
    const { ask, fetches } = await publisher();
    const at = await fetchedAt(ask);
    setAge(at, -3_600_000);
    expect((await ask()).state).toBe("miss");
    expect(await fetches()).toBe(2);
  });

  it("[10.2-stampede] a probe among many callers starts after them and sees the publisher's last change", async () => {
    const { ask, origin, host, fetches } = await publisher("lazy");
    const callers = Array.from({ length: 20 }, () => ask());
    await settled(async () => (await fetches()) === 1);
    await become(host, "prose");
    const probes = await Promise.all([probeOrigin(env, origin), probeOrigin(env, origin)]);
    expect(probes.map((probe) => !probe.ok && probe.code)).toEqual(["no_skills", "no_skills"]);
    await Promise.all(callers);
    expect(await fetches()).toBe(2);
  });

  it("a probe tells of a memory that has its hash and cannot be searched", async () => {
    const { origin, host } = await publisher("files");
    const snapshots = { good: '[{"id":"a"}]', twice: '[{"id":"a"},{"id":"a"}]' };
    const lines = Object.entries(snapshots).map(async ([scope, text]) => {
      const sha256 = await sha256Hex(new TextEncoder().encode(text));
      const memory = { scope, snapshot: `/${scope}.json`, snapshot_sha256: sha256, format: "minimemory-okf-v1" };
      return `<!-- skills-memory: ${JSON.stringify(memory)} -->`;
    });
    const tool = "registerTool({ name: 't', handler: () => 1 });";
    const line = { tool: "/t.js", tool_sha256: await sha256Hex(new TextEncoder().encode(tool)) };
    const llms = `# Files\n\n${(await Promise.all(lines)).join("\n")}\n\n## Skills\n\n- [t](): T <!-- skill: ${JSON.stringify(line)} -->\n`;
    const files = { "/llms.txt": llms, "/t.js": tool, "/good.json": snapshots.good, "/twice.json": snapshots.twice };
    await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });
    const probe = await probeOrigin(env, origin);
    expect(probe.ok && probe.memories).toMatchObject([
      { scope: "good", failure: null },
      { scope: "twice", bytes: 23, failure: { code: "duplicate_id", message: expect.stringContaining("the id") } },
    ]);
  });

  it("keeps the last known good through an eviction", async () => {
    const { ask, host, origin } = await publisher();
    const at = await fetchedAt(ask);
    await evictDurableObject(env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)));
    await become(host, "down");
    setAge(at, 200_000);
    expect((await ask()).state).toBe("stale");
  });

  it("does not fetch an address that must not be fetched, whoever asks", async () => {
    for (const origin of ["https://127.0.0.1", "http://shop.example", "https://metadata.internal"]) {
      expect(await askHub(env, origin as CanonicalOrigin, null)).toMatchObject({ ok: false });
    }
  });

  it("refreshes on waking only what its own alarm should have refreshed", async () => {
    const { ask, fetches, origin } = await publisher();
    const at = await fetchedAt(ask);
    setAge(at, 60_000);
    await wakeHub(env, origin);
    expect(await fetches()).toBe(1);
    setAge(at, 60_001);
    await wakeHub(env, origin);
    expect(await fetches()).toBe(2);
  });
});

describe("ReleaseCache", () => {
  const work: Promise<unknown>[] = [];
  const get = (cache: ReleaseCache, origin: CanonicalOrigin) =>
    cache.get(env, origin, (promise) => void work.push(promise));

  it("serves up to 105 s from memory by the hub's clock, refreshing behind the answer after 15 s", async () => {
    const { origin, ask, fetches } = await publisher();
    const cache = new ReleaseCache();
    const at = await fetchedAt(ask);
    expect((await get(cache, origin)).state).toBe("hub");
    // The first load goes on when its caller hangs up, for those who wait for it.
    expect(work.splice(0).length).toBe(1);
    setAge(at, 15_000);
    expect((await get(cache, origin)).state).toBe("hit");
    expect(work.length).toBe(0);
    setAge(at, 105_000);
    expect((await get(cache, origin)).state).toBe("hit");
    expect((await get(cache, origin)).state).toBe("hit");
    expect(work.length).toBe(1);
    await Promise.all(work.splice(0));
    await settled(async () => (await fetches()) === 2);
  });

  it("[budget:release-cache] keeps releases while their bytes fit, and drops the one used longest ago", async () => {
    const { origin: first } = await publisher();
    const { origin: second } = await publisher();
    const roomy = new ReleaseCache();
    for (const origin of [first, second, first]) await get(roomy, origin);
    expect((await get(roomy, first)).state).toBe("hit");
    const tight = new ReleaseCache(3_000);
    for (const origin of [first, second]) await get(tight, origin);
    expect((await get(tight, second)).state).toBe("hit");
    expect((await get(tight, first)).state).toBe("hub");
  });

  it("drops what an origin has withdrawn", async () => {
    const { origin, host, ask } = await publisher();
    const cache = new ReleaseCache();
    const at = await fetchedAt(ask);
    await get(cache, origin);
    await become(host, "prose");
    setAge(at, 105_001);
    await expect(get(cache, origin)).rejects.toMatchObject({ code: "no_skills" });
    await expect(get(cache, origin)).rejects.toMatchObject({ code: "no_skills" });
  });
});
