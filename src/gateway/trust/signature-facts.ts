import { type SignatureFact, type SignatureFacts, verifySignature } from "../../core/attestation/facts.ts";
import type { TrustRoot } from "../../core/attestation/trust-root.ts";
import type { SignatureQuestion } from "../../core/attestation/verdict.ts";
import { LruCache } from "../lru.ts";

/** Measured: a bundle takes 12 to 17 ms of CPU, a signature under 0.2 ms. */
const COST = { ed25519: 1, sigstore: 50 } as const;

/** Facts never change, so the requests and hubs of one isolate share them: some 400 bytes each. */
const established = new LruCache<string, SignatureFact>(10_000);

/** For tests: what is then asked is verified anew. */
export function forgetEstablishedFacts(): void {
  established.clear();
}

export interface Answers {
  /** By fact key: what was asked and could be answered. */
  readonly facts: ReadonlyMap<string, SignatureFact>;
  /** True where the budget did not suffice for all. */
  readonly isPartial: boolean;
}

/**
 * Answers questions by what is known, and verifies what is not, in their order, within a budget of CPU: 1 for an Ed25519 signature, 50 for a
 * Sigstore bundle. What is left unanswered counts for nothing until somebody asks again.
 *
 * @param known facts that were established elsewhere.
 */
export async function answerQuestions(
  questions: readonly SignatureQuestion[],
  known: SignatureFacts,
  trustRoot: TrustRoot,
  budget: number,
): Promise<Answers> {
  const facts = new Map<string, SignatureFact>();
  let left = budget;
  let isPartial = false;
  for (const { factKey, attestation, key } of questions) {
    let fact = known.get(factKey) ?? established.get(factKey);
    if (fact === undefined && left < COST[key.kind]) {
      isPartial = true;
      continue;
    }
    if (fact === undefined) {
      left -= COST[key.kind];
      fact = await verifySignature(attestation, key, trustRoot);
      established.set(factKey, fact);
    }
    facts.set(factKey, fact);
  }
  return { facts, isPartial };
}
