import type { Attestation } from "../core/attestation/attestation.ts";
import type { CalendarDate } from "../core/attestation/calendar-date.ts";
import { establishFacts, type TrustedReviewers, trustIn } from "../core/attestation/trusted-reviewers.ts";
import { type Judgement, verdictOf } from "../core/attestation/verdict.ts";
import type { Sha256Hex } from "../core/integrity.ts";
import type { CanonicalOrigin } from "../core/origin.ts";

export type { TrustedReviewers } from "../core/attestation/trusted-reviewers.ts";

interface JudgedOrigin {
  readonly origin: CanonicalOrigin;
  readonly skills: readonly { readonly name: string; readonly toolSha256: Sha256Hex }[];
}

/** The verdict of each skill, in the order given. */
export async function verdictsUnder(
  { origin, skills }: JudgedOrigin,
  attestations: readonly Attestation[],
  trusted: TrustedReviewers,
  today: CalendarDate,
): Promise<readonly Judgement[]> {
  const judged = skills.map(({ name, toolSha256 }) => ({ origin, name, toolSha256 }));
  const evidence = attestations.map((attestation) => ({ attestation, storedAt: null }));
  const facts = await establishFacts(judged, evidence, trusted);
  return judged.map((skill) => verdictOf(skill, evidence, facts, trustIn(trusted), today));
}
