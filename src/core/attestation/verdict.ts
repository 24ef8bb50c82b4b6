import { DAY_MS } from "../durations.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { Attestation } from "./attestation.ts";
import { type CalendarDate, calendarDateOf } from "./calendar-date.ts";
import { factKey, type SignatureFact, type SignatureFacts } from "./facts.ts";
import type { Reviewer, ReviewerKey } from "./reviewer.ts";

/** What the reviewers in force say of one (origin, scope, name, tool_sha256). The first that applies, in this order: */
export type Verdict = "invalid" | "attested" | "expired" | "unattested";

/** Whom the operator trusts, and what has been taken back. Plain data. */
export interface Trust {
  readonly reviewers: readonly Reviewer[];
  /** Ids of attestations. */
  readonly revokedAttestations: ReadonlySet<Sha256Hex>;
  /** Hashes of tools that run nowhere. */
  readonly revokedHashes: ReadonlySet<Sha256Hex>;
  /** Of the {@link TrustRoot} in force. */
  readonly trustRootId: string;
}

export interface JudgedSkill {
  readonly origin: CanonicalOrigin;
  /** Of the `llms.txt` line, without its scope. */
  readonly name: string;
  readonly toolSha256: Sha256Hex;
}

export interface Evidence {
  readonly attestation: Attestation;
  /** Epoch milliseconds at which the gateway stored it; `null` for what the publisher serves. */
  readonly storedAt: number | null;
}

/** How one attestation stands. Only the first three move the verdict. */
export type Standing =
  | "attested"
  | "expired"
  | "invalid"
  | "not_yet_valid"
  | "unknown_attester"
  | "revoked_attestation"
  | "revoked_reviewer"
  | "retired_reviewer"
  | "signed_before_registration"
  /** It claims to be signed days after a log had its signature. */
  | "postdated"
  /** Its signature has not been looked at yet. */
  | "unverified";

export interface Judgement {
  readonly verdict: Verdict;
  /** Of every attestation of this skill, in the order given. */
  readonly because: readonly Reason[];
}

export interface Reason {
  readonly attestationId: Sha256Hex;
  /** Whose key decided, where one did. */
  readonly reviewerId: string | null;
  readonly standing: Standing;
  /** Why an invalid one is. */
  readonly failure: Extract<SignatureFact, { holds: false }> | null;
}

/**
 * Judges a skill: a pure function of the evidence, the facts about its signatures, the operator's trust and the UTC day.
 * Skill Attestations v0.4 §4: a failing signature of a registered reviewer makes the verdict `invalid` whatever else there
 * is; what unregistered ones signed never counts.
 */
export function verdictOf(
  skill: JudgedSkill,
  evidence: readonly Evidence[],
  facts: SignatureFacts,
  trust: Trust,
  today: CalendarDate,
): Judgement {
  const because = evidence
    .filter(({ attestation }) => isAbout(attestation, skill))
    .map((one) => standingOf(one, facts, trust, today));
  const has = (standing: Standing) => because.some((reason) => reason.standing === standing);
  const verdict = (["invalid", "attested", "expired"] as const).find(has) ?? "unattested";
  return { verdict, because };
}

/** Whether it is of this version of this skill. The scope of a skill never enters. */
export function isAbout(attestation: Attestation, { origin, name, toolSha256 }: JudgedSkill): boolean {
  return attestation.toolSha256 === toolSha256 && attestation.skill === name && attestation.origin === origin;
}

function standingOf(evidence: Evidence, facts: SignatureFacts, trust: Trust, today: CalendarDate): Reason {
  const { attestation } = evidence;
  const reason = (standing: Standing, reviewer: Reviewer | null = null, failure: Reason["failure"] = null): Reason => ({
    attestationId: attestation.id,
    reviewerId: reviewer?.id ?? null,
    standing,
    failure,
  });
  if (trust.revokedAttestations.has(attestation.id)) return reason("revoked_attestation");
  const keys = keysFor(attestation, trust.reviewers);
  if (keys.length === 0) return reason("unknown_attester");

  const factOf = ({ key }: Reviewer) => facts.get(factKey(attestation, key, trust.trustRootId));
  // An older key of the attester may be the one that signed: that is no forgery, even where the key counts no more.
  const signers = keys.flatMap((reviewer) => {
    const fact = factOf(reviewer);
    return fact?.holds ? [{ reviewer, objection: objectionTo(reviewer, evidence, fact.witnessedAt) }] : [];
  });
  const signer = signers.find(({ objection }) => objection === null) ?? signers[0];
  if (signer !== undefined) {
    return reason(signer.objection ?? standingOn(attestation, today), signer.reviewer);
  }
  // The day it claims to be signed on is as forged as the signature, so a day before the registration is no excuse.
  const inForce = keys.find((reviewer) => withdrawalOf(reviewer, evidence) === null);
  if (inForce === undefined) return reason(keys.some(isRevoked) ? "revoked_reviewer" : "retired_reviewer");
  if (keys.some((reviewer) => factOf(reviewer) === undefined)) return reason("unverified");
  const failure = factOf(inForce);
  return reason("invalid", inForce, failure?.holds === false ? failure : null);
}

/** The keys that could have made an attestation's proof, those that count no more included. */
export function keysFor(attestation: Attestation, reviewers: readonly Reviewer[]): readonly Reviewer[] {
  const { attester, proof } = attestation;
  return reviewers.filter((reviewer) => reviewer.attester === attester && reviewer.key.kind === proof.kind);
}

/** Why a key does not count for a piece of evidence, or `null`. */
function objectionTo(reviewer: Reviewer, evidence: Evidence, witnessedAt: number | null): Standing | null {
  const withdrawn = withdrawalOf(reviewer, evidence);
  if (withdrawn !== null) return withdrawn;
  const { signedOn } = evidence.attestation;
  if (signedOn < calendarDateOf(reviewer.registeredAt)) return "signed_before_registration";
  if (witnessedAt === null) return null;
  // An identity that was stolen and won back is the same one: what the thief signed is told by when a log saw it.
  if (witnessedAt < reviewer.registeredAt) return "signed_before_registration";
  return signedOn > calendarDateOf(witnessedAt + DAY_MS) ? "postdated" : null;
}

function withdrawalOf(reviewer: Reviewer, { storedAt }: Evidence): Standing | null {
  if (isRevoked(reviewer)) return "revoked_reviewer";
  const { retiredAt } = reviewer;
  if (retiredAt === null || (storedAt !== null && storedAt < retiredAt)) return null;
  return "retired_reviewer";
}

function isRevoked({ revokedAt }: Reviewer): boolean {
  return revokedAt !== null;
}

/** The end day is inclusive, and looked at first: a window whose end lies before its start is over once its end is. */
function standingOn({ signedOn, validUntil }: Attestation, today: CalendarDate): Standing {
  if (today > validUntil) return "expired";
  return signedOn > today ? "not_yet_valid" : "attested";
}

/** A fact that a verdict needs. */
export interface SignatureQuestion {
  readonly factKey: string;
  readonly attestation: Attestation;
  readonly key: ReviewerKey;
}

/** Which facts the verdicts of these skills need and `facts` lacks. Attestations of other skills ask nothing. */
export function openQuestions(
  skills: readonly JudgedSkill[],
  evidence: readonly Evidence[],
  facts: SignatureFacts,
  trust: Trust,
): readonly SignatureQuestion[] {
  const wanted = new Set(skills.map(({ origin, name, toolSha256 }) => JSON.stringify([origin, name, toolSha256])));
  const questions = new Map<string, SignatureQuestion>();
  for (const { attestation } of evidence) {
    const { origin, skill, toolSha256 } = attestation;
    if (!wanted.has(JSON.stringify([origin, skill, toolSha256]))) continue;
    for (const { key } of keysFor(attestation, trust.reviewers)) {
      const name = factKey(attestation, key, trust.trustRootId);
      if (facts.get(name) === undefined) questions.set(name, { factKey: name, attestation, key });
    }
  }
  return [...questions.values()];
}
