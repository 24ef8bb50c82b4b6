import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import { verdicts } from "../../src/gateway/registry/schema.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { env, migrate } from "./gateway-fixture.ts";
import { ENFORCING, forgetColo, header, pass, refusal, skill } from "./trust-asks.ts";
import {
  addReviewer,
  approve,
  hashOf,
  movePolicy,
  type Published,
  revoke,
  startPublisher,
  store,
} from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

describe("verdicts", () => {
  it("[10.2-attestation-header] are in the description and, counted, in the header; in mode off nowhere", async () => {
    const publisher = await startPublisher({ pin: "off" });
    const ada = await addReviewer("ada");
    const [good, bad, none] = ["good", "bad", "none"].map((name) => skill(name, { name })) as [
      Published,
      Published,
      Published,
    ];
    const forged = { ...(await ada.sign(publisher.origin, bad)), signature: btoa("\0".repeat(64)) };
    await publisher.publish([good, bad, none], [await ada.sign(publisher.origin, good), forged]);
    expect(await publisher.tools()).toEqual([
      "good: Says good. [attestation: attested]",
      "bad: Says bad. [attestation: invalid]",
      "none: Says none. [attestation: unattested]",
    ]);
    expect(header(await publisher.list())).toBe("attested=1,expired=0,invalid=1,unattested=1");
    expect(await publisher.tools(ENFORCING)).toEqual(["good: Says good. [attestation: attested]"]);
    expect(header(await publisher.list(ENFORCING))).toBe("attested=1,expired=0,invalid=1,unattested=1");
    expect(await publisher.tools({ ATTESTATION_MODE: "off" })).toEqual([
      "good: Says good.",
      "bad: Says bad.",
      "none: Says none.",
    ]);
    expect(header(await publisher.list({ ATTESTATION_MODE: "off" }))).toBeNull();
  });

  it("follow the origin's own mode, which goes before the gateway's", async () => {
    const publisher = await startPublisher({ pin: "off", attestationMode: "enforcing" });
    await publisher.publish([skill("one", { recipe: "# One" })]);
    const answer = await publisher.list();
    expect(header(answer)).toBe("attested=0,expired=0,invalid=0,unattested=1");
    expect(await refusal(answer)).toEqual([
      502,
      "no_skills",
      "The origin offers no skill that may be used: 1 have no reviewer's attestation in force.",
    ]);
    await movePolicy(publisher.id, { attestationMode: "off" });
    expect(await publisher.tools(ENFORCING)).toEqual(["s: Says one."]);
  });

  it("change at midnight UTC, with a reviewer, and with a revocation, and no cache is flushed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.parse("2026-11-30T23:59:50Z"));
    const publisher = await startPublisher({ pin: "off", attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const one = skill("one");
    const day = "2026-11-30" as never;
    await publisher.publish([one], [await ada.sign(publisher.origin, one, { signedOn: day, validUntil: day })]);
    expect(await publisher.value("s")).toBe("one");
    pass(10_000);
    const expired = await publisher.list();
    expect([expired.headers.get("X-Gw-Discovery"), header(expired)]).toEqual([
      "hit",
      "attested=0,expired=1,invalid=0,unattested=0",
    ]);
    // A reviewer registered since: the release in memory knows nothing of him.
    const bob = await addReviewer("bob");
    const id = await store(publisher.id, await bob.sign(publisher.origin, one));
    expect(await publisher.value("s")).toBe("one");
    const lift = await revoke("attestation", id);
    expect(await publisher.value("s")).toBe("one");
    pass(5_001);
    expect(await publisher.value("s")).toBe("no_skills");
    await lift();
    forgetPolicy();
    expect(await publisher.value("s")).toBe("one");
    await bob.change({ retiredAt: Date.now() + 1 });
    forgetPolicy();
    expect(await publisher.value("s")).toBe("one");
    await bob.change({ revokedAt: Date.now() });
    pass(5_001);
    expect(await publisher.value("s")).toBe("no_skills");
  });

  it("[10.4-T25] come from what the publisher ships and what the gateway stored, merged", async () => {
    const publisher = await startPublisher({ pin: "off" });
    const ada = await addReviewer("ada");
    const one = skill("one");
    await publisher.publish([one], [await ada.sign(publisher.origin, one)]);
    expect(header(await publisher.list())).toBe("attested=1,expired=0,invalid=0,unattested=0");
    const forged = { ...(await ada.sign(publisher.origin, one)), signature: btoa("\u0001".repeat(64)) };
    await store(publisher.id, forged);
    expect(header(await publisher.list())).toBe("attested=0,expired=0,invalid=1,unattested=0");
  });
});

describe("skills of one name in several scopes", () => {
  it("[10.1-C] are judged each by its own hash, through every layer, in lists, calls and recipes", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ pin: "off", attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const alpha = skill("evil", { scope: "alpha", recipe: "# Evil" });
    const beta = skill("good", { scope: "beta", recipe: "# Good" });
    for (const order of [
      [alpha, beta],
      [beta, alpha],
    ]) {
      await publisher.publish(order, [await ada.sign(publisher.origin, beta)]);
      releases.clear();
      pass(105_001);
      for (const layer of ["miss", "hit", "l2", "hub"]) {
        if (layer === "l2" || layer === "hub") releases.clear();
        if (layer === "hub") await forgetColo(publisher.origin);
        const answer = await publisher.list();
        expect([answer.headers.get("X-Gw-Discovery"), header(answer)]).toEqual([
          layer,
          "attested=1,expired=0,invalid=0,unattested=1",
        ]);
        expect(await publisher.tools()).toEqual(["beta__s: Says good. [attestation: attested]"]);
        expect(await publisher.recipes()).toEqual(["skill://beta__s"]);
        expect(await publisher.guide("beta__s")).toContain("# Good");
        expect(await publisher.guide("alpha__s")).not.toContain("# Evil");
        expect(await publisher.value("beta__s")).toBe("good");
        expect(await publisher.value("alpha__s")).toBe(-32602);
        expect(await publisher.value("s")).toBe(-32602);
      }
    }
  });
});

describe("the history of verdicts", () => {
  it("has a row for each change and none without", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ pin: "off" });
    const ada = await addReviewer("ada");
    const one = skill("one");
    const history = () =>
      drizzle(env.DB)
        .select({ scope: verdicts.scope, name: verdicts.name, verdict: verdicts.verdict })
        .from(verdicts)
        .where(eq(verdicts.originId, publisher.id))
        .orderBy(verdicts.at);
    await publisher.publish([one]);
    for (const entries of [[], [], [await ada.sign(publisher.origin, one)]]) {
      await publisher.publish([one], entries);
      pass(105_001);
      await publisher.list();
    }
    await expect.poll(history).toEqual([
      { scope: "", name: "s", verdict: "unattested" },
      { scope: "", name: "s", verdict: "attested" },
    ]);
  });
});

describe("a revoked hash", () => {
  it("runs nowhere, in no mode, 5 s later at the latest, until the revocation is lifted", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const one = skill(`once ${crypto.randomUUID()}`);
    const publishers = [await startPublisher({ pin: "off", attestationMode: "off" }), await startPublisher()];
    for (const publisher of publishers) {
      await publisher.publish([one]);
      await approve(publisher.id, one);
    }
    const values = () => Promise.all(publishers.map((publisher) => publisher.value("s")));
    expect(await values()).toEqual([one.answer, one.answer]);
    const lift = await revoke("hash", (await hashOf(one)) as Sha256Hex);
    pass(5_001);
    expect(await values()).toEqual(["no_skills", "no_skills"]);
    await lift();
    pass(5_001);
    expect(await values()).toEqual([one.answer, one.answer]);
  });

  it("is not loaded by a discovery, which the answer says; with the next one after the lift it is back", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ pin: "off" });
    const one = skill(`once ${crypto.randomUUID()}`);
    const lift = await revoke("hash", (await hashOf(one)) as Sha256Hex);
    await publisher.publish([one]);
    expect(await refusal(await publisher.list())).toEqual([
      502,
      "no_skills",
      "The origin offers no skill that may be used: 1 were revoked by an operator.",
    ]);
    await lift();
    pass(105_001);
    expect(await publisher.value("s")).toBe(one.answer);
  });
});
