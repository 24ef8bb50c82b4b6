import { type SignatureFact, type SignatureFacts, verifySignature } from "./facts.ts";
import type { Reviewer } from "./reviewer.ts";
import type { TrustRoot } from "./trust-root.ts";
import { type Evidence, type JudgedSkill, openQuestions, type Trust } from "./verdict.ts";

/** Whom somebody trusts who keeps no register: a person at a command line, or a page. */
export interface TrustedReviewers {
  readonly reviewers: readonly Reviewer[];
  readonly trustRoot: TrustRoot;
}

/** What judging needs of them; nothing is ever revoked. */
export function trustIn({ reviewers, trustRoot }: TrustedReviewers): Trust {
  return { reviewers, revokedAttestations: new Set(), revokedHashes: new Set(), trustRootId: trustRoot.id };
}

/**
 * Verifies, one after the other, the signatures that the verdicts of these skills depend on. Their number is bounded by the size of
 * `attestations.json`; a host that serves strangers needs a budget besides.
 *
 * @returns by `factKey`.
 */
export async function establishFacts(
  skills: readonly JudgedSkill[],
  evidence: readonly Evidence[],
  trusted: TrustedReviewers,
  known: SignatureFacts = new Map(),
): Promise<ReadonlyMap<string, SignatureFact>> {
  const facts = new Map<string, SignatureFact>();
  for (const { factKey, attestation, key } of openQuestions(skills, evidence, known, trustIn(trusted))) {
    facts.set(factKey, await verifySignature(attestation, key, trusted.trustRoot));
  }
  return facts;
}
