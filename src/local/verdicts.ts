import type { Attestation } from "../core/attestation/attestation.ts";
import type { CalendarDate } from "../core/attestation/calendar-date.ts";
import { type SignatureFact, verifySignature } from "../core/attestation/facts.ts";
import type { Reviewer } from "../core/attestation/reviewer.ts";
import type { TrustRoot } from "../core/attestation/trust-root.ts";
import { type Judgement, openQuestions, type Trust, verdictOf } from "../core/attestation/verdict.ts";
import type { Sha256Hex } from "../core/integrity.ts";
import type { CanonicalOrigin } from "../core/origin.ts";

/** Whom the person at the command line trusts. */
export interface TrustedReviewers {
  readonly reviewers: readonly Reviewer[];
  readonly trustRoot: TrustRoot;
}

interface JudgedOrigin {
  readonly origin: CanonicalOrigin;
  readonly skills: readonly { readonly name: string; readonly toolSha256: Sha256Hex }[];
}

/** The verdict of each skill, in the order given. */
export async function verdictsUnder(
  { origin, skills }: JudgedOrigin,
  attestations: readonly Attestation[],
  { reviewers, trustRoot }: TrustedReviewers,
  today: CalendarDate,
): Promise<readonly Judgement[]> {
  const trust: Trust = {
    reviewers,
    revokedAttestations: new Set(),
    revokedHashes: new Set(),
    trustRootId: trustRoot.id,
  };
  const judged = skills.map(({ name, toolSha256 }) => ({ origin, name, toolSha256 }));
  const evidence = attestations.map((attestation) => ({ attestation, storedAt: null }));
  const facts = new Map<string, SignatureFact>();
  for (const { factKey, attestation, key } of openQuestions(judged, evidence, facts, trust)) {
    facts.set(factKey, await verifySignature(attestation, key, trustRoot));
  }
  return judged.map((skill) => verdictOf(skill, evidence, facts, trust, today));
}
