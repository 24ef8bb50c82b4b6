import { expect, it } from "vitest";
import { addDays } from "../../core/attestation/calendar-date.ts";
import { trustWith } from "../../core/attestation/fixture/policies.ts";
import { CLAIM, createReviewer, reread } from "../../core/attestation/fixture/reviewing.ts";
import { embeddedTrustRoot } from "../../core/attestation/trust-root.ts";
import { JUDGING_BUDGET, judge } from "./judging.ts";

it("[budget:judging] a look verifies what the gateway stored first, and leaves unverified what is past its budget", async () => {
  const attester = "sigstore:https://ci.example/review.yml";
  const key = { kind: "sigstore", issuer: "https://token.example", identity: "https://ci.example/review.yml" } as const;
  const { reviewer } = await createReviewer(attester, { key });
  const days = Array.from({ length: JUDGING_BUDGET / 50 + 3 }, (_, i) => addDays(CLAIM.signedOn, i));
  const attestations = await Promise.all(
    days.map((signedOn) =>
      reread({ ...CLAIM, signedOn, attester, note: null, proof: { kind: "sigstore", bundle: {} } }),
    ),
  );
  const evidence = attestations.map((attestation, i) => ({ attestation, storedAt: i === days.length - 1 ? 1 : null }));
  const trust = { version: 1, trust: trustWith({ reviewers: [reviewer] }), trustRoot: embeddedTrustRoot() };
  const skill = { origin: CLAIM.origin, name: CLAIM.skill, toolSha256: CLAIM.toolSha256 };
  const [judgement] = await judge([skill], evidence, trust, Date.parse("2026-12-01"));
  const unverified = judgement?.because.filter(({ standing }) => standing === "unverified");
  expect(unverified?.length).toBe(3);
  expect(judgement?.because.at(-1)?.standing).toBe("invalid");
});
