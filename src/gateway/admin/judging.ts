import type { Attestation } from "../../core/attestation/attestation.ts";
import { calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { type SignatureFact, verifySignature } from "../../core/attestation/facts.ts";
import {
  type Evidence,
  type JudgedSkill,
  type Judgement,
  openQuestions,
  verdictOf,
} from "../../core/attestation/verdict.ts";
import type { TrustInForce } from "../registry/trust.ts";

/**
 * Judges skills of any origins by evidence, as the gateway would at this moment: establishes the facts about signatures that this needs.
 *
 * @param evidence bounded by the caller: an Ed25519 signature costs 0.1 ms of CPU, a Sigstore bundle 15.
 * @param known facts that need not be established again.
 * @returns in the order of `skills`.
 */
export async function judge(
  skills: readonly JudgedSkill[],
  evidence: readonly Evidence[],
  { trust, trustRoot }: TrustInForce,
  now: number,
  known: Iterable<readonly [factKey: string, fact: SignatureFact]> = [],
): Promise<readonly Judgement[]> {
  const facts = new Map(known);
  for (const { factKey, attestation, key } of openQuestions(skills, evidence, facts, trust)) {
    facts.set(factKey, await verifySignature(attestation, key, trustRoot));
  }
  const byHash = Map.groupBy(evidence, ({ attestation }) => attestation.toolSha256);
  const today = calendarDateOf(now);
  return skills.map((skill) => verdictOf(skill, byHash.get(skill.toolSha256) ?? [], facts, trust, today));
}

/** The skill that an attestation is about. */
export function skillOf({ origin, skill, toolSha256 }: Attestation): JudgedSkill {
  return { origin, name: skill, toolSha256 };
}
