import type { Attestation } from "../../core/attestation/attestation.ts";
import { calendarDateOf } from "../../core/attestation/calendar-date.ts";
import type { SignatureFact } from "../../core/attestation/facts.ts";
import {
  type Evidence,
  type JudgedSkill,
  type Judgement,
  openQuestions,
  verdictOf,
} from "../../core/attestation/verdict.ts";
import type { TrustInForce } from "../registry/trust.ts";
import { answerQuestions } from "../trust/signature-facts.ts";

/** What one look may spend on signatures, in the units of `answerQuestions`: some 0.8 s for 4,000 signatures, 1.2 s for 80 bundles. */
export const JUDGING_BUDGET = 4_000;

/**
 * Judges skills of any origins by evidence, as the gateway would at this moment: establishes the facts about signatures that this needs.
 *
 * @param evidence past {@link JUDGING_BUDGET} it stays `unverified`, what the publisher serves before what the gateway stored.
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
  const before = new Map(known);
  const [stored, shipped] = [evidence.filter(isStored), evidence.filter((one) => !isStored(one))];
  const questions = openQuestions(skills, [...stored, ...shipped], before, trust);
  const answers = await answerQuestions(questions, before, trustRoot, JUDGING_BUDGET);
  const facts = new Map([...before, ...answers.facts]);
  const byHash = Map.groupBy(evidence, ({ attestation }) => attestation.toolSha256);
  const today = calendarDateOf(now);
  return skills.map((skill) => verdictOf(skill, byHash.get(skill.toolSha256) ?? [], facts, trust, today));
}

function isStored({ storedAt }: Evidence): boolean {
  return storedAt !== null;
}

/** The skill that an attestation is about. */
export function skillOf({ origin, skill, toolSha256 }: Attestation): JudgedSkill {
  return { origin, name: skill, toolSha256 };
}
