import { type Evidence, type JudgedSkill, openQuestions, type Trust } from "../../core/attestation/verdict.ts";
import type { Policy, StoredAttestation, ToolRules } from "../../core/catalog.ts";
import type { Release } from "../../core/discovery/release.ts";
import { LruCache } from "../lru.ts";
import type { Decided } from "./decisions.ts";
import { answerQuestions } from "./signature-facts.ts";

/**
 * What one request may spend on facts that its release lacks, in the units of {@link answerQuestions}: some 40 ms for 512 signatures, 150 ms
 * for 10 bundles. Releases bring their facts along, so this is for reviewers and attestations registered since.
 */
const REQUEST_BUDGET = 512;

/** Most signatures of one release that are looked at; a file of 256 KiB has fewer entries, unless an attester has several keys. */
const MAX_QUESTIONS = 4_000;

interface Served extends Decided {
  readonly mode: Policy["mode"];
  readonly policy: Policy;
  /** Some facts are still to be established. */
  readonly isPartial: boolean;
}

/** One a release: the same policy again while nothing moved, since what was admitted is kept by it. */
const served = new WeakMap<Release, Served>();

/**
 * The policy of an active origin for a client that may use it. It is there at once unless signatures of this release have still to be
 * verified; those past the budget of a request count for nothing until the next one goes on with them.
 *
 * @param fallback the gateway's mode, for origins without one of their own.
 */
export function policyFor(
  release: Release,
  { decisions, trust }: Decided,
  fallback: Policy["mode"],
): Policy | Promise<Policy> {
  const mode = decisions.mode ?? fallback;
  const known = served.get(release);
  if (known?.decisions === decisions && known.trust === trust && known.mode === mode && !known.isPartial) {
    return known.policy;
  }
  return establish(release, { decisions, trust }, mode);
}

async function establish(release: Release, { decisions, trust }: Decided, mode: Policy["mode"]): Promise<Policy> {
  const { facts, isPartial } =
    mode === "off"
      ? { facts: new Map(), isPartial: false }
      : await answerQuestions(
          questionsOf(release, decisions.stored, trust.trust),
          new Map(release.facts),
          trust.trustRoot,
          REQUEST_BUDGET,
        );
  const { pin, approved, rejected, stored } = decisions;
  const policy: Policy = {
    status: "active",
    granted: true,
    mode,
    pin,
    approved,
    rejected,
    trust: trust.trust,
    stored,
    facts,
    tools: null,
  };
  served.set(release, { decisions, trust, mode, policy, isPartial });
  return policy;
}

/** Skills in the catalogs of clients with rules, each some 400 bytes; what other clients see is one catalog a release. */
const RULED_SKILLS = 20_000;

const ruled = new LruCache<ToolRules, { readonly base: Policy; readonly policy: Policy; readonly skills: number }>(
  RULED_SKILLS,
  ({ skills }) => skills,
);

/** The policy for a client with rules of its own: the same object again while neither the policy nor the rules moved. */
export function underRules(release: Release, base: Policy, tools: ToolRules): Policy {
  const known = ruled.get(tools);
  if (known?.base === base) return known.policy;
  const policy = { ...base, tools };
  ruled.set(tools, { base, policy, skills: 1 + release.skills.length + release.held.length });
  return policy;
}

/** Every fact that a verdict about the release's skills can need, known or not. */
export function questionsOf(release: Release, stored: readonly StoredAttestation[], trust: Trust) {
  const { origin } = release;
  const skills = [...release.skills, ...release.held].map(
    ({ name, toolSha256 }): JudgedSkill => ({ origin, name, toolSha256 }),
  );
  const evidence: Evidence[] = [
    // What the operator recorded comes first where a budget does not suffice for all.
    ...stored,
    ...release.attestations.map((attestation) => ({ attestation, storedAt: null })),
  ];
  return openQuestions(skills, evidence, new Map(), trust).slice(0, MAX_QUESTIONS);
}
