import { beforeAll, describe, expect, it } from "vitest";
import type { Sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { Attestation } from "./attestation.ts";
import { factKey, type SignatureFact, verifySignature } from "./facts.ts";
import { trustWith } from "./fixture/policies.ts";
import { at, CLAIM, createReviewer, day, forged, reread, type TestReviewer } from "./fixture/reviewing.ts";
import type { Reviewer } from "./reviewer.ts";
import { embeddedTrustRoot } from "./trust-root.ts";
import { type Evidence, type JudgedSkill, openQuestions, type Trust, verdictOf } from "./verdict.ts";

const TODAY = day("2026-08-15");
const SKILL: JudgedSkill = { origin: CLAIM.origin, name: CLAIM.skill, toolSha256: CLAIM.toolSha256 };

let ada: TestReviewer;
let eve: TestReviewer;

beforeAll(async () => {
  ada = await createReviewer("human:ada");
  eve = await createReviewer("human:eve");
});

interface Circumstances {
  readonly trust?: Partial<Trust>;
  readonly today?: string;
  readonly storedAt?: number | null;
  readonly skill?: JudgedSkill;
}

/** Establishes what the verdict asks for, and judges. */
async function judge(attestations: readonly Attestation[], circumstances: Circumstances = {}) {
  const { today = TODAY, storedAt = null, skill = SKILL } = circumstances;
  const trust = trustWith({ reviewers: [ada.reviewer], ...circumstances.trust });
  const evidence: Evidence[] = attestations.map((attestation) => ({ attestation, storedAt }));
  const facts = new Map<string, SignatureFact>();
  for (const { factKey, attestation, key } of openQuestions([skill], evidence, facts, trust)) {
    facts.set(factKey, await verifySignature(attestation, key, embeddedTrustRoot()));
  }
  return verdictOf(skill, evidence, facts, trust, day(today));
}

const standings = async (...args: Parameters<typeof judge>) => {
  const { verdict, because } = await judge(...args);
  return [verdict, ...because.map(({ standing }) => standing)];
};

describe("the verdict on the edge days", () => {
  it.each([
    ["ends today", "2026-07-01", "2026-08-15", "attested"],
    ["ended yesterday", "2026-07-01", "2026-08-14", "expired"],
    ["begins today", "2026-08-15", "2027-01-01", "attested"],
    ["begins tomorrow", "2026-08-16", "2027-01-01", "unattested"],
    ["is reversed and to come", "2027-02-01", "2027-01-01", "unattested"],
    ["is reversed and past", "2026-07-20", "2026-07-10", "expired"],
    ["begins in the future and ended in the past", "2026-09-01", "2026-08-01", "expired"],
  ])("of an attestation that %s", async (_what, signedOn, validUntil, verdict) => {
    const attestation = await ada.sign({ signedOn: day(signedOn), validUntil: day(validUntil) });
    expect((await judge([attestation])).verdict).toBe(verdict);
  });
});

describe("the verdict on several attestations", () => {
  it("[10.4-T25] is invalid where a registered reviewer's signature fails, whatever else there is", async () => {
    const good = await ada.sign();
    expect(await standings([good, await forged(good)])).toEqual(["invalid", "attested", "invalid"]);
    const over = await forged(await ada.sign({ validUntil: day("2026-08-01") }));
    expect(await standings([over])).toEqual(["invalid", "invalid"]);
  });

  it("[10.4-T25] ignores whoever is not registered: a good signature and a failing one alike", async () => {
    const strangers = await eve.sign();
    expect(await standings([strangers, await forged(strangers)])).toEqual([
      "unattested",
      "unknown_attester",
      "unknown_attester",
    ]);
    expect((await judge([await ada.sign(), await forged(strangers)])).verdict).toBe("attested");
  });

  it("prefers one in force to one that is over, and that to one that is to come", async () => {
    const over = await ada.sign({ validUntil: day("2026-08-01") });
    const toCome = await ada.sign({ signedOn: day("2026-09-01") });
    expect((await judge([toCome, over, await ada.sign()])).verdict).toBe("attested");
    expect((await judge([toCome, over])).verdict).toBe("expired");
  });

  it("says why: the failure of the registered key, and whose it is", async () => {
    const [reason] = (await judge([await forged(await ada.sign())])).because;
    expect(reason).toMatchObject({ reviewerId: ada.reviewer.id, failure: { code: "wrong_signature" } });
  });
});

describe("an attestation counts for nothing", () => {
  it.each<[string, Partial<JudgedSkill>]>([
    ["another hash", { toolSha256: "b".repeat(64) as Sha256Hex }],
    ["another origin", { origin: "https://other.example" as CanonicalOrigin }],
    ["another base path", { origin: "https://publisher.example/base" as CanonicalOrigin }],
    ["another name", { name: "product" }],
  ])("on a skill of %s, even with a failing signature", async (_what, other) => {
    const good = await ada.sign();
    const skill = { ...SKILL, ...other };
    expect(await judge([good, await forged(good)], { skill })).toEqual({ verdict: "unattested", because: [] });
  });

  it("that was taken from another origin and relabelled: it is a forgery", async () => {
    const moved = { ...(await ada.sign({ origin: "https://other.example" as CanonicalOrigin })), origin: CLAIM.origin };
    expect((await judge([moved])).verdict).toBe("invalid");
  });

  it("once it is revoked, its failing signature too", async () => {
    const attestation = await ada.sign();
    const bad = await forged(attestation);
    const trust = { revokedAttestations: new Set([attestation.id, bad.id]) };
    expect(await standings([attestation, bad], { trust })).toEqual([
      "unattested",
      "revoked_attestation",
      "revoked_attestation",
    ]);
  });

  it("until its signature has been looked at", async () => {
    const trust = trustWith({ reviewers: [ada.reviewer] });
    const evidence = [{ attestation: await ada.sign(), storedAt: null }];
    const { verdict, because } = verdictOf(SKILL, evidence, new Map(), trust, TODAY);
    expect([verdict, because[0]?.standing]).toEqual(["unattested", "unverified"]);
  });
});

describe("what a log saw", () => {
  const REGISTERED = "2026-07-10T12:00:00Z";
  const identity = "https://code.example/ada";
  const key = { kind: "sigstore", issuer: "https://issuer.example", identity } as const;
  const reviewer: Reviewer = {
    ...{ id: "rev_again", attester: `sigstore:${identity}`, key },
    ...{ registeredAt: at(REGISTERED), retiredAt: null, revokedAt: null },
  };
  const stolen = { ...reviewer, id: "rev_before", registeredAt: 0, revokedAt: at("2026-07-10") };

  async function standingOf(signedOn: string, witnessed: string, bundle = {}, trust: Partial<Trust> = {}) {
    const proof = { kind: "sigstore", bundle } as const;
    const claim = { ...CLAIM, signedOn: day(signedOn) };
    const attestation = await reread({ ...claim, attester: reviewer.attester, note: null, proof });
    const trusted = trustWith({ reviewers: [stolen, reviewer], ...trust });
    const facts = new Map<string, SignatureFact>([
      [factKey(attestation, key, trusted.trustRootId), { holds: true, witnessedAt: at(witnessed) }],
    ]);
    const { because } = verdictOf(SKILL, [{ attestation, storedAt: null }], facts, trusted, TODAY);
    return because[0]?.standing;
  }

  it.each([
    ["at the moment of the registration", "2026-07-10", REGISTERED, "attested"],
    ["days after it was signed", "2026-07-11", "2026-07-20T00:00:00Z", "attested"],
    ["on the day before it was signed, as clocks differ", "2026-07-12", "2026-07-11T00:00:00Z", "attested"],
    ["two days before it was signed", "2026-07-13", "2026-07-11T23:59:59Z", "postdated"],
    ["on the day of the registration, before it", "2026-07-10", "2026-07-10T11:59:59Z", "signed_before_registration"],
    ["before it, under a later day", "2026-07-12", "2026-07-01T00:00:00Z", "signed_before_registration"],
  ])("is believed of a reviewer who was registered again: a signature seen %s", async (_what, signed, seen, is) => {
    expect(await standingOf(signed, seen, {}, { reviewers: [reviewer] })).toBe(is);
    expect(await standingOf(signed, seen)).toBe(is === "attested" ? is : "revoked_reviewer");
  });

  it("is revoked in whatever words its bundle comes back", async () => {
    const words = { ...CLAIM, signedOn: day("2026-07-11"), attester: reviewer.attester, note: null };
    const { id } = await reread({ ...words, proof: { kind: "sigstore", bundle: {} } });
    const trust = { revokedAttestations: new Set([id]) };
    for (const bundle of [{}, { padding: "x" }]) {
      expect(await standingOf("2026-07-11", "2026-07-11", bundle, trust)).toBe("revoked_attestation");
    }
    expect(await standingOf("2026-07-12", "2026-07-12", {}, trust)).toBe("attested");
  });
});

describe("a reviewer", () => {
  const reviewers = (...fields: Partial<Reviewer>[]) => ({
    trust: { reviewers: fields.map((more, index) => ({ ...ada.reviewer, id: `rev_${index}`, ...more })) },
  });

  it("is believed from the UTC day of the registration on", async () => {
    const attestation = await ada.sign();
    const onThatDay = reviewers({ registeredAt: at("2026-07-01T23:59:59Z") });
    expect(await standings([attestation], onThatDay)).toEqual(["attested", "attested"]);
    const later = reviewers({ registeredAt: at("2026-07-02T00:00:00Z") });
    expect(await standings([attestation], later)).toEqual(["unattested", "signed_before_registration"]);
    // What is forged need not have been signed on the day it says.
    expect(await standings([await forged(attestation)], later)).toEqual(["invalid", "invalid"]);
  });

  it("counts for nothing once revoked, for what the gateway stored before too", async () => {
    const revoked = reviewers({ revokedAt: at("2026-08-01") });
    const good = await ada.sign();
    for (const storedAt of [null, at("2026-07-02")]) {
      expect(await standings([good, await forged(good)], { ...revoked, storedAt })).toEqual([
        "unattested",
        "revoked_reviewer",
        "revoked_reviewer",
      ]);
    }
  });

  it("counts once retired for what the gateway had stored before, alone", async () => {
    const retiredAt = at("2026-08-01T08:00:00Z");
    const retired = reviewers({ retiredAt });
    const good = await ada.sign();
    expect(await standings([good], { ...retired, storedAt: retiredAt - 1 })).toEqual(["attested", "attested"]);
    expect(await standings([good], { ...retired, storedAt: retiredAt })).toEqual(["unattested", "retired_reviewer"]);
    expect(await standings([good], retired)).toEqual(["unattested", "retired_reviewer"]);
    expect((await judge([await forged(good)], { ...retired, storedAt: retiredAt - 1 })).verdict).toBe("invalid");
    expect((await judge([await forged(good)], retired)).verdict).toBe("unattested");
  });

  it("with a new key does not make the signatures of the old one forgeries", async () => {
    const { reviewer: next, sign } = await createReviewer("human:ada", { id: "rev_next" });
    const old = await ada.sign();
    for (const [withdrawal, standing] of [
      [{ retiredAt: at("2026-08-01") }, "retired_reviewer"],
      [{ revokedAt: at("2026-08-01") }, "revoked_reviewer"],
    ] as const) {
      const trust = { reviewers: [next, { ...ada.reviewer, ...withdrawal }] };
      expect(await standings([old], { trust })).toEqual(["unattested", standing]);
      expect(await standings([old, await sign()], { trust })).toEqual(["attested", standing, "attested"]);
      expect((await judge([await forged(old)], { trust })).verdict).toBe("invalid");
    }
  });

  it("is not asked for a proof of another kind", async () => {
    const key = { kind: "sigstore", issuer: "https://issuer.example", identity: "ada" } as const;
    expect(await standings([await ada.sign()], reviewers({ key }))).toEqual(["unattested", "unknown_attester"]);
  });
});
