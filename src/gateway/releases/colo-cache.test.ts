import { afterEach, describe, expect, it, vi } from "vitest";
import { become, env, seen } from "../../../test/workerd/gateway-fixture.ts";
import type { Release } from "../../core/discovery/release.ts";
import { NO_INDEX } from "../../core/discovery/skills-index.ts";
import { sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { ColoCache, MAX_ENTRY_BYTES } from "./colo-cache.ts";
import { askHub, hubStatus } from "./hub-client.ts";
import { packRelease } from "./packed-release.ts";
import { ReleaseCache } from "./release-cache.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** An isolate of its own: a memory in front of the cache that all share. */
function newIsolate(colo: ColoCache | null = new ColoCache()) {
  const work: Promise<unknown>[] = [];
  const memory = new ReleaseCache(undefined, colo);
  return {
    get: (origin: CanonicalOrigin) => memory.get(env, origin, (promise) => void work.push(promise)),
    /** Waits for what goes on behind the answers. */
    async settle() {
      while (work.length > 0) await Promise.allSettled(work.splice(0));
    },
  };
}

function newPublisher(kind = "good") {
  vi.useFakeTimers({ toFake: ["Date"] });
  const host = `${kind}-${crypto.randomUUID()}.example`;
  return { host, origin: `https://${host}` as CanonicalOrigin };
}

/** A publisher whose release one isolate has put into the shared cache. */
async function shared(kind = "good") {
  const publisher = newPublisher(kind);
  const isolate = newIsolate();
  const { release } = await isolate.get(publisher.origin);
  await isolate.settle();
  return { ...publisher, isolate, release };
}

const names = ({ skills }: Release) => skills.map(({ publicName }) => publicName as string);
const setAge = ({ fetchedAt }: Release, ms: number) => vi.setSystemTime(fetchedAt + ms);

/** Rewrites an entry of the Cache API, found by the requests that reading a release makes. */
async function alter(origin: CanonicalOrigin, change: (bytes: Uint8Array) => Uint8Array | string): Promise<void> {
  const urls: string[] = [];
  const match = (url: string) => {
    urls.push(url);
    return caches.default.match(url);
  };
  const watched = { match } as unknown as Cache;
  const colo = new ColoCache(() => watched);
  const head = await colo.head(origin);
  if (head === null) throw new Error("nothing to alter");
  await colo.load(origin, head);
  const url = urls.find((each) => each.endsWith(head.version)) ?? "";
  const bytes = new Uint8Array((await (await caches.default.match(url))?.arrayBuffer()) ?? new ArrayBuffer(0));
  const headers = { "Cache-Control": "max-age=600" };
  await caches.default.put(url, new Response(change(bytes), { headers }));
}

describe("releases in the Cache API", () => {
  it("[10.1-D] serve another isolate what the first one discovered, scopes, names and bytes alike", async () => {
    const { origin, release, host } = await shared("scoped");
    expect(names(release)).toEqual(["alpha__s", "beta__s", "s"]);
    const found = await newIsolate().get(origin);
    expect(found).toEqual({ state: "l2", release });
    expect(await seen(host, "/llms.txt")).toBe(1);
  });

  it("[budget:servable] serve a release of 105,000 ms, and not one of 105,001 ms", async () => {
    for (const [age, state] of [
      [104_999, "l2"],
      [105_000, "l2"],
      [105_001, "miss"],
    ] as const) {
      const { origin, release } = await shared();
      setAge(release, age);
      const isolate = newIsolate();
      expect((await isolate.get(origin)).state).toBe(state);
      await isolate.settle();
    }
  });

  it("[budget:fresh] are refreshed behind the answer after 15,000 ms, for all isolates", async () => {
    for (const [age, fetches] of [
      [15_000, 1],
      [15_001, 2],
    ] as const) {
      const { origin, release, host, isolate } = await shared();
      setAge(release, age);
      const other = newIsolate();
      expect((await other.get(origin)).release.fetchedAt).toBe(release.fetchedAt);
      await other.settle();
      await vi.waitFor(async () => expect(await seen(host, "/llms.txt")).toBe(fetches), 5_000);
      if (fetches === 1) continue;
      // Asked for is not yet held.
      const heldAt = async () => (await hubStatus(env, origin)).fetchedAt;
      await vi.waitFor(async () => expect(await heldAt()).toBeGreaterThan(release.fetchedAt), 5_000);
      // The isolate that asks next brings the refreshed time from the hub; the one after it finds that in the cache.
      // From now on, not from then: waiting moved the clock, and one that is set back makes a release of unknown age.
      vi.setSystemTime(Date.now() + 200);
      await other.get(origin);
      await other.settle();
      await isolate.get(origin);
      await isolate.settle();
      expect((await isolate.get(origin)).release.fetchedAt).toBeGreaterThan(release.fetchedAt);
      expect(await seen(host, "/llms.txt")).toBe(2);
    }
  });

  it.each([
    [
      "an altered source byte",
      (bytes: Uint8Array) => bytes.map((byte, i) => (i === bytes.length - 5 ? byte ^ 1 : byte)),
    ],
    [
      "an altered manifest",
      (bytes: Uint8Array) => bytes.map((byte, i) => (i === bytes.indexOf(10) + 2 ? byte ^ 1 : byte)),
    ],
    ["missing bytes", (bytes: Uint8Array) => bytes.slice(0, -1)],
    ["no bytes", () => new Uint8Array(0)],
    ["a page of HTML", () => "<!doctype html>"],
    ["a list without an artifact", (bytes: Uint8Array) => withoutArtifacts(bytes)],
  ])("are discarded and fetched anew where they have %s", async (_, change) => {
    const { origin, release } = await shared();
    await alter(origin, change);
    const isolate = newIsolate();
    expect(await isolate.get(origin)).toEqual({ state: "hub", release });
    await isolate.settle();
    expect(await newIsolate().get(origin)).toEqual({ state: "l2", release });
  });

  it("are never those of another origin", async () => {
    const { origin, release } = await shared();
    const { origin: other } = newPublisher();
    const packed = await packRelease({ ...release, origin: other });
    await new ColoCache().store(origin, packed, packed);
    expect((await newIsolate().get(origin)).state).toBe("hub");
  });

  it("of an odd head or one of the future count for nothing", async () => {
    const { origin, release } = await shared();
    setAge(release, -1);
    expect(await new ColoCache().head(origin)).toBeNull();
    const packed = await packRelease(release);
    setAge(release, 0);
    const { fetchedAt } = release;
    await new ColoCache().store(origin, { version: "no hash" as never, fetchedAt, policyVersion: 0 }, packed);
    expect(await new ColoCache().head(origin)).toBeNull();
  });

  it("go when the origin withdraws what it offered", async () => {
    const { origin, release, host, isolate } = await shared();
    await become(host, "prose");
    setAge(release, 105_001);
    await expect(isolate.get(origin)).rejects.toMatchObject({ code: "no_skills" });
    await isolate.settle();
    setAge(release, 1_000);
    expect(await new ColoCache().head(origin)).toBeNull();
  });

  it("are not those of a failing origin once they are too old to be served", async () => {
    const { origin, release, host, isolate } = await shared();
    await become(host, "down");
    setAge(release, 105_001);
    expect((await isolate.get(origin)).state).toBe("stale");
    await isolate.settle();
    expect(await new ColoCache().head(origin)).toBeNull();
    expect((await newIsolate().get(origin)).state).toBe("stale");
  });

  it.each([
    ["absent", () => undefined],
    ["of no effect", () => ({ match: async () => undefined, put: async () => {}, delete: async () => false })],
    ["failing", () => new Proxy({}, { get: () => () => Promise.reject(new Error("broken")) })],
  ])("are skipped where the Cache API is %s", async (_, platform) => {
    const { origin } = newPublisher();
    const colo = new ColoCache(platform as () => Cache);
    for (const state of ["miss", "hub"]) {
      const isolate = newIsolate(colo);
      expect((await isolate.get(origin)).state).toBe(state);
      await isolate.settle();
    }
  });

  it("[budget:colo-entry] hold releases of 4,194,304 bytes, and no larger ones", async () => {
    for (const [more, kept] of [
      [-1, true],
      [0, true],
      [1, false],
    ] as const) {
      const { origin } = newPublisher();
      const packed = await sized(origin, MAX_ENTRY_BYTES + more);
      const colo = new ColoCache();
      await colo.store(origin, packed, packed);
      const head = await colo.head(origin);
      expect(head !== null).toBe(kept);
      if (head !== null) expect((await colo.load(origin, head))?.bytes).toBe(MAX_ENTRY_BYTES + more);
    }
  });

  it("are no way around the hub for an origin that is not known", async () => {
    const { origin } = newPublisher("down");
    await expect(newIsolate().get(origin)).rejects.toMatchObject({ code: "discovery_failed" });
    expect(await askHub(env, origin, null)).toMatchObject({ ok: false });
  });
});

/** A packed release of exactly so many bytes. */
async function sized(origin: CanonicalOrigin, bytes: number) {
  const make = async (length: number) => {
    const filler = new Uint8Array(length);
    const memory = {
      scope: null,
      format: "minimemory-okf-v1" as const,
      sha256: await sha256Hex(filler),
      bytes: filler,
    };
    const facts = {
      origin,
      fetchedAt: Date.now(),
      skills: [],
      prose: [],
      held: [],
      confirmed: [],
      attestations: [],
      facts: [],
      index: NO_INDEX,
      rejected: [],
    };
    return packRelease({ ...facts, memories: [memory] });
  };
  return make(bytes - (await make(0)).manifest.length);
}

function withoutArtifacts(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(10);
  const { manifest } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as { manifest: number };
  const line = new TextEncoder().encode(`${JSON.stringify({ manifest, artifacts: [] })}\n`);
  const rest = bytes.subarray(end + 1);
  const whole = new Uint8Array(line.length + rest.length);
  whole.set(line);
  whole.set(rest, line.length);
  return whole;
}
