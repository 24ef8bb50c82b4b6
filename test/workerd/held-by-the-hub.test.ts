import { and, eq, inArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { PolicyCache, policyOf } from "../../src/gateway/auth/policy.ts";
import { artifacts, publications, publishedMemories, skills } from "../../src/gateway/registry/schema.ts";
import { reconsiderHub } from "../../src/gateway/releases/hub-client.ts";
import { TrustedRelease } from "../../src/gateway/trust/trusted-release.ts";
import { become, env, hubHasWritten, migrate } from "./gateway-fixture.ts";
import { bareRelease, lose, pass, silentAbout, skill, state } from "./trust-asks.ts";
import { addReviewer, approve, hashOf, hashText, movePolicy, startPublisher } from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

describe("what is held", () => {
  async function held() {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher();
    const first = skill("first", { recipe: "# First" });
    await publisher.publish([first]);
    await approve(publisher.id, first, 1);
    await publisher.value("s");
    await publisher.publish([skill("second")]);
    pass(105_001);
    expect(await publisher.value("s")).toBe("first");
    return { publisher, evict: (lost: boolean) => lose(publisher, lost) };
  }

  const memoryHash = (content: string) => hashText(JSON.stringify([{ id: "one#0", metadata: { content } }]));

  it("survives the eviction of the hub, the loss of its storage, and the origin going down", async () => {
    const { publisher, evict } = await held();
    await evict(false);
    expect(await publisher.value("s")).toBe("first");
    // Now it comes from the operator's own store.
    await evict(true);
    expect(await publisher.value("s")).toBe("first");
    await become(publisher.host, "down");
    pass(105_001);
    expect(state(await publisher.list())).toEqual([200, "stale"]);
    expect(await publisher.value("s")).toBe("first");
    await evict(false);
    expect(await publisher.value("s")).toBe("first");
  });

  it("survives even the loss of the hub's storage while the origin is down, for the time of the last known good", async () => {
    const { publisher, evict } = await held();
    await become(publisher.host, "down");
    await evict(true);
    expect(state(await publisher.list())).toEqual([200, "stale"]);
    expect(await publisher.value("s")).toBe("first");
    expect(await publisher.recipes()).toEqual(["skill://s"]);
    pass(86_400_000);
    expect(state(await publisher.list())).toEqual([502, "miss"]);
  });

  it("follows a rejection also while the origin is down: the version approved before is served again", async () => {
    const { publisher } = await held();
    const second = skill("second");
    await approve(publisher.id, second, 2);
    pass(105_001);
    expect(await publisher.value("s")).toBe("second");
    await become(publisher.host, "down");
    await drizzle(env.DB)
      .update(skills)
      .set({ approvedAt: null })
      .where(and(eq(skills.originId, publisher.id), eq(skills.toolSha256, await hashOf(second))));
    await movePolicy(publisher.id);
    expect(await publisher.value("s")).toBe("first");
  });

  it("is restored with the memories and attestations that the publisher last shipped, and without what it withdrew", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const handler = "host.memorySearch === undefined ? 'no memory' : host.memorySearch('tea').hits[0].text";
    const [s, gone] = [skill("s", { scope: "shop", handler }), skill("gone", { name: "gone" })] as const;
    for (const version of [s, gone]) await approve(publisher.id, version);
    const entries = await Promise.all([s, gone].map((one) => ada.sign(publisher.origin, one)));
    await publisher.publish([s, gone], entries, { shop: "An old tea", other: "Old" });
    expect(await publisher.value("shop__s")).toBe("An old tea");
    expect(await publisher.value("gone")).toBe("gone");
    await hubHasWritten(publisher.origin);
    await publisher.publish([s], entries, { shop: "The tea" });
    // Memories are written every ten minutes at most.
    pass(600_000);
    expect(await publisher.value("shop__s")).toBe("The tea");
    await become(publisher.host, "down");
    await lose(publisher, true);
    expect(state(await publisher.list())).toEqual([200, "stale"]);
    expect(await publisher.value("shop__s")).toBe("The tea");
    expect(await publisher.value("gone")).toBe(-32602);
    const kept = await drizzle(env.DB)
      .select()
      .from(publishedMemories)
      .where(eq(publishedMemories.originId, publisher.id));
    expect(kept.map(({ scope }) => scope)).toEqual(["shop"]);
    // Bytes that nothing refers to are gone: two sources and a memory stay.
    const stored = await drizzle(env.DB)
      .select({ sha256: artifacts.sha256 })
      .from(artifacts)
      .where(inArray(artifacts.sha256, await Promise.all(["An old tea", "Old", "The tea"].map(memoryHash))));
    expect(stored).toEqual([{ sha256: await memoryHash("The tea") }]);
  });

  it.each([false, true])(
    "keeps the attestations of a publisher whose attestations.json is out of order; storage lost: %s",
    async (lost) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const publisher = await startPublisher({ attestationMode: "enforcing" });
      const ada = await addReviewer("ada");
      const s = skill("s");
      await approve(publisher.id, s);
      await publisher.publish([s], [await ada.sign(publisher.origin, s)]);
      expect(await publisher.value("s")).toBe("s");
      await publisher.publish([s], null);
      if (lost) await lose(publisher, true);
      pass(105_001);
      expect(await publisher.value("s")).toBe("s");
      // Nor is the operator's own copy overwritten.
      await become(publisher.host, "down");
      await lose(publisher, true);
      expect(await publisher.value("s")).toBe("s");
      await become(publisher.host, "files");
      await publisher.publish([s]);
      pass(105_001);
      expect(await publisher.value("s")).toBe("no_skills");
    },
  );

  it("is not written for an origin of which nothing would be restored", async () => {
    const publisher = await startPublisher({ pin: "off" });
    await publisher.publish([skill("s")], [], { shop: "Tea" });
    expect(await publisher.value("s")).toBe("s");
    const rows = await drizzle(env.DB).select().from(publications).where(eq(publications.originId, publisher.id));
    expect(rows).toEqual([]);
  });

  it.each([
    ["another pin", (id: string) => movePolicy(id, { pin: "off" })],
    ["its revocation", (id: string) => movePolicy(id, { status: "revoked" })],
  ])("is kept no longer for an origin after %s, its memories included", async (_, decide) => {
    const publisher = await startPublisher();
    const s = skill("s");
    await approve(publisher.id, s);
    const content = `Tea ${crypto.randomUUID()}`;
    await publisher.publish([s], [], { shop: content });
    expect(await publisher.value("s")).toBe("s");
    const database = drizzle(env.DB);
    const hash = await memoryHash(content);
    const kept = async () => [
      (await database.select().from(publications).where(eq(publications.originId, publisher.id))).length,
      (await database.select().from(publishedMemories).where(eq(publishedMemories.originId, publisher.id))).length,
      (await database.select().from(artifacts).where(eq(artifacts.sha256, hash))).length,
    ];
    await expect.poll(kept).toEqual([1, 1, 1]);
    await decide(publisher.id);
    await reconsiderHub(env, publisher.origin);
    await expect.poll(kept).toEqual([0, 0, 0]);
    // What is not kept for this is kept again where it is wanted again.
    await movePolicy(publisher.id, { pin: "hold", status: "active" });
    await publisher.value("s");
    await reconsiderHub(env, publisher.origin);
    await expect.poll(kept).toEqual([1, 1, 1]);
  });

  it("is not asked of the operator's store where the origin is not pinned to it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const s = skill("s");
    await approve(publisher.id, s);
    await publisher.publish([s], [await ada.sign(publisher.origin, s)]);
    expect(await publisher.value("s")).toBe("s");
    // As another isolate would, whose word did not reach the hub.
    await movePolicy(publisher.id, { pin: "warn" });
    await publisher.publish([s], null);
    await lose(publisher, true);
    pass(105_001);
    expect(await publisher.value("s")).toBe("no_skills");
  });

  it.each(["publications", "skills"])("does without what D1 does not say in time of its %s", async (table) => {
    const { publisher, evict } = await held();
    await evict(true);
    vi.spyOn(console, "warn").mockImplementation(() => {});
    if (table === "publications") await publisher.publish([skill("second")], null);
    const trusted = new TrustedRelease({ ...env, DB: silentAbout(table) } as never, () => {});
    const deciding = Promise.resolve(await policyOf(env.DB).originNow(publisher.origin));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const answer =
        table === "publications"
          ? trusted.lastPublished(deciding)
          : trusted.complete(bareRelease(publisher.origin), null, deciding);
      for (let i = 0; i < 20; i++) await vi.advanceTimersByTimeAsync(1_000);
      expect(await answer).toEqual(table === "publications" ? null : expect.objectContaining({ isPartial: true }));
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
  });

  it.each([false, true])(
    "does not bring back what the origin withdrew before it went down; storage lost: %s",
    async (lost) => {
      const { publisher, evict } = await held();
      await become(publisher.host, "prose");
      pass(105_001);
      expect(await publisher.value("s")).toBe("no_skills");
      await become(publisher.host, "down");
      pass(10_001);
      await evict(lost);
      expect(await publisher.value("s")).toBe("discovery_failed");
    },
  );

  it("stays where the hub cannot ask the database", async () => {
    const { publisher } = await held();
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const original = PolicyCache.prototype.originNow;
    PolicyCache.prototype.originNow = () => Promise.reject(new Error("D1 is down"));
    try {
      await publisher.publish([skill("third")]);
      pass(105_001);
      expect(await publisher.value("s")).toBe("first");
    } finally {
      PolicyCache.prototype.originNow = original;
      vi.restoreAllMocks();
    }
  });
});
