import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { addDays, calendarDateOf } from "../../src/core/attestation/calendar-date.ts";
import { PolicyCache } from "../../src/gateway/auth/policy.ts";
import { become, env, migrate } from "./gateway-fixture.ts";
import { api, lose, pass, skill } from "./trust-asks.ts";
import { addReviewer, approve, hashOf, revoke, startPublisher } from "./trust-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

describe("the attestations that a publisher ships for an approved version", () => {
  it("go on counting when it ships others, until they are revoked", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = `org_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const publisher = await startPublisher({ id, attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const [first, second] = [skill("first"), skill("second")];
    const stranger = { ...(await ada.sign(publisher.origin, first)), attester: "human:nobody" };
    await publisher.publish([first], [await ada.sign(publisher.origin, first), stranger]);
    const name = { scope: null, name: "s", toolSha256: await hashOf(first) };
    const { probedAt } = await api("POST", `/origins/${id}/probe`);
    await api("POST", `/origins/${id}/approve`, { skills: [name], probedAt });
    expect(await publisher.value("s")).toBe("first");
    const { items } = await api("GET", `/attestations?origin=${encodeURIComponent(publisher.origin)}`);
    expect(items).toMatchObject([{ attester: ada.attester, storedBy: "publisher" }]);
    await publisher.publish([second], [await ada.sign(publisher.origin, second)]);
    pass(105_001);
    expect(await publisher.tools()).toEqual(["s: Says first. [attestation: attested]"]);
    await revoke("attestation", items[0].id);
    pass(5_001);
    expect(await publisher.value("s")).toBe("no_skills");
  });
});

describe("the attestations of a version that is approved where the store is full", () => {
  it.each([
    ["publisher", "attestation.create"],
    ["test", "attestation.omit"],
  ])(
    "are stored in the place of others of the publisher's, or the audit log says that they are not; of %s",
    async (storedBy, action) => {
      const id = `org_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
      const publisher = await startPublisher({ id });
      const ada = await addReviewer("ada");
      const [s, t] = [skill("s"), skill("t", { name: "t" })];
      await approve(id, t);
      await publisher.publish([s, t], await Promise.all([s, t].map((one) => ada.sign(publisher.origin, one))));
      const rows = Array.from({ length: 1_000 }, () => crypto.randomUUID());
      await env.DB.prepare(
        "INSERT INTO attestations SELECT value, ?1, 'old', '', '', '', '9999-12-31', '{}', 1, ?3 FROM json_each(?2)",
      )
        .bind(publisher.origin, JSON.stringify(rows), storedBy)
        .run();
      const { probedAt } = await api("POST", `/origins/${id}/probe`);
      const name = { scope: null, name: "s", toolSha256: await hashOf(s) };
      await api("POST", `/origins/${id}/approve`, { skills: [name], probedAt });
      const audit = (await api("GET", "/audit?limit=10")).items as { action: string; subject: string }[];
      const actions = audit.filter(({ subject }) => subject === publisher.origin).map((row) => row.action);
      // The other version's find no room either way.
      expect(actions).toEqual(["attestation.omit", action]);
    },
  );
});

describe("the attestations of a held version", () => {
  const DAY_MS = 86_400_000;
  const day = (days: number) => addDays(calendarDateOf(Date.now()), days);

  /** A version that is approved, with nothing stored, and attested for 90 days. */
  async function attested() {
    vi.useFakeTimers({ toFake: ["Date"] });
    const publisher = await startPublisher({ attestationMode: "enforcing" });
    const ada = await addReviewer("ada");
    const [first, second] = [skill("first"), skill("second")];
    await approve(publisher.id, first);
    await publisher.publish([first], [await ada.sign(publisher.origin, first, { validUntil: day(90) })]);
    expect(await publisher.value("s")).toBe("first");
    const shipSecond = async () =>
      publisher.publish([second], [await ada.sign(publisher.origin, second, { validUntil: day(30) })]);
    return { publisher, ada, first, second, shipSecond };
  }

  it.each([false, true])(
    "are the last ones that the publisher shipped for it, renewals included; storage lost: %s",
    async (lost) => {
      const { publisher, ada, first, shipSecond } = await attested();
      pass(80 * DAY_MS);
      await publisher.publish([first], [await ada.sign(publisher.origin, first, { validUntil: day(90) })]);
      expect(await publisher.value("s")).toBe("first");
      pass(20 * DAY_MS);
      if (lost) await lose(publisher, true);
      for (let discoveries = 0; discoveries < 3; discoveries++) {
        await shipSecond();
        pass(105_001);
        expect(await publisher.value("s")).toBe("first");
      }
      await become(publisher.host, "down");
      await lose(publisher, true);
      expect(await publisher.value("s")).toBe("first");
      pass(71 * DAY_MS);
      await become(publisher.host, "files");
      expect(await publisher.value("s")).toBe("no_skills");
    },
  );

  it("stay where the database is silent while the publisher changes its code", async () => {
    const { publisher, shipSecond } = await attested();
    await shipSecond();
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const original = PolicyCache.prototype.originNow;
    PolicyCache.prototype.originNow = () => Promise.reject(new Error("D1 is down"));
    try {
      pass(105_001);
      expect(await publisher.value("s")).toBe("first");
    } finally {
      PolicyCache.prototype.originNow = original;
      vi.restoreAllMocks();
    }
  });

  it("do not outlive their withdrawal while the publisher still has the version", async () => {
    const { publisher, first, shipSecond } = await attested();
    await publisher.publish([first]);
    pass(105_001);
    expect(await publisher.value("s")).toBe("no_skills");
    await shipSecond();
    pass(105_001);
    expect(await publisher.value("s")).toBe("no_skills");
  });
});
