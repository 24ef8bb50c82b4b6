import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { PolicyCache } from "../../src/gateway/auth/policy.ts";
import { origins, skills } from "../../src/gateway/registry/schema.ts";
import { env, migrate, seen } from "./gateway-fixture.ts";
import { pass, refusal, skill, state } from "./trust-asks.ts";
import { approve, hashOf, movePolicy, type Published, startPublisher } from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

describe("pin: hold", () => {
  it("goes on serving the approved version when a publisher changes its code, until the new one is approved", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher();
    const [first, second] = [skill("first", { recipe: "# First" }), skill("second", { recipe: "# Second" })];
    await publisher.publish([first]);
    await approve(publisher.id, first, 1);
    expect(await publisher.value("s")).toBe("first");
    await publisher.publish([second]);
    pass(105_001);
    expect(await publisher.value("s")).toBe("first");
    expect(await publisher.tools()).toEqual(["s: Says first. [attestation: unattested]"]);
    // The release in memory has both.
    await approve(publisher.id, second, 2);
    expect(await publisher.value("s")).toBe("second");
  });

  it("makes a new skill wait, also in a scope beside an approved one of its name", async () => {
    const publisher = await startPublisher();
    const known = skill("known");
    await publisher.publish([known, skill("new", { scope: "beta" }), skill("other", { name: "t" })]);
    await approve(publisher.id, known);
    expect(await publisher.tools()).toEqual(["s: Says known. [attestation: unattested]"]);
    expect(await publisher.value("beta__s")).toBe(-32602);
    await approve(publisher.id, skill("other", { name: "t" }));
    expect(await publisher.value("t")).toBe("other");
  });

  it("serves nothing of an origin whose code nobody approved, and says so", async () => {
    const publisher = await startPublisher();
    await publisher.publish([skill("one")]);
    expect(await refusal(await publisher.list())).toEqual([
      502,
      "no_skills",
      "The origin offers no skill that may be used: 1 wait for an operator's approval.",
    ]);
  });

  it("keeps the approved version where the new one cannot be had, and lets go of it with its line", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher();
    const [first, other] = [skill("first"), skill("other", { name: "t" })];
    await publisher.publish([first, other]);
    await approve(publisher.id, first);
    await approve(publisher.id, other);
    await publisher.publish([skill("second", { declared: "0".repeat(64) }), other]);
    expect(await publisher.value("s")).toBe("first");
    await publisher.publish([other]);
    pass(105_001);
    expect(await publisher.value("s")).toBe(-32602);
    expect(await publisher.value("t")).toBe("other");
  });
});

describe("a decision about versions", () => {
  const forget = async (publisher: { readonly id: string }, version: Published) =>
    drizzle(env.DB)
      .update(skills)
      .set({ approvedAt: null })
      .where(and(eq(skills.originId, publisher.id), eq(skills.toolSha256, await hashOf(version))));

  async function three() {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher();
    const versions = [skill("first"), skill("second"), skill("third")] as const;
    const [first, second, third] = versions;
    await publisher.publish([third]);
    await approve(publisher.id, first, 1);
    await approve(publisher.id, second, 2);
    expect(await publisher.value("s")).toBe("second");
    return { publisher, versions };
  }

  it("is in force with the policy: an older version approved again, a rejected one, no release being refreshed", async () => {
    const { publisher, versions } = await three();
    const [first, , third] = versions;
    const release = await publisher.list();
    await approve(publisher.id, first, 3);
    expect(await publisher.value("s")).toBe("first");
    await forget(publisher, first);
    await movePolicy(publisher.id);
    expect(await publisher.value("s")).toBe("second");
    await approve(publisher.id, third, 4);
    expect(await publisher.value("s")).toBe("third");
    // As another isolate would: nothing is forgotten here.
    await forget(publisher, third);
    await drizzle(env.DB)
      .update(origins)
      .set({ policyVersion: sql`policy_version + 1` })
      .where(eq(origins.id, publisher.id));
    expect(await publisher.value("s")).toBe("third");
    pass(5_001);
    expect(await publisher.value("s")).toBe("second");
    expect(await seen(publisher.host, "/llms.txt")).toBe(1);
    expect(release.headers.get("X-Gw-Discovery")).toBe("hit");
  });

  it("is asked of the hub once: what is followed, and what nobody can follow, is a hit again", async () => {
    const { publisher, versions } = await three();
    await approve(publisher.id, versions[0], 3);
    const states = async () => [await publisher.list(), await publisher.list()].map((answer) => state(answer)[1]);
    expect(await states()).toEqual(["hub", "hit"]);
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const original = PolicyCache.prototype.originNow;
    PolicyCache.prototype.originNow = () => Promise.reject(new Error("D1 is down"));
    try {
      await movePolicy(publisher.id);
      expect(await states()).toEqual(["hub", "hit"]);
      expect(await publisher.value("s")).toBe("first");
    } finally {
      PolicyCache.prototype.originNow = original;
      vi.restoreAllMocks();
    }
    pass(5_001);
    expect(await states()).toEqual(["hub", "hit"]);
  });

  it("made while the publisher is read is in force for the next call", async () => {
    const { publisher, versions } = await three();
    const original = PolicyCache.prototype.originNow;
    let asked = 0;
    PolicyCache.prototype.originNow = async function (origin) {
      asked += 1;
      const decided = await original.call(this, origin);
      // The discovery has read what was decided.
      if (asked === 1) await approve(publisher.id, versions[0], 3);
      return decided;
    };
    try {
      pass(105_001);
      // This call was let through before the decision.
      expect(await publisher.value("s")).toBe("second");
      expect(await publisher.value("s")).toBe("first");
    } finally {
      PolicyCache.prototype.originNow = original;
    }
  });
});

describe("pin: warn", () => {
  it("serves the new version and flags it", async () => {
    const publisher = await startPublisher({ pin: "warn" });
    await publisher.publish([skill("second"), skill("other", { name: "t" })]);
    await approve(publisher.id, skill("first"));
    await approve(publisher.id, skill("other", { name: "t" }));
    expect(await publisher.tools()).toEqual([
      "s: Says second. [attestation: unattested] [not approved]",
      "t: Says other. [attestation: unattested]",
    ]);
    expect(await publisher.value("s")).toBe("second");
    await drizzle(env.DB)
      .update(skills)
      .set({ approvedAt: null, rejectedAt: 1 })
      .where(and(eq(skills.originId, publisher.id), eq(skills.name, "t")));
    await movePolicy(publisher.id);
    expect(await publisher.value("t")).toBe(-32602);
    expect(await publisher.value("s")).toBe("second");
  });
});
