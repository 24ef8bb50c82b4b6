import type { Verdict } from "../../core/attestation/verdict.ts";
import { type DiscoverOptions, discover } from "../../core/discovery/discover.ts";
import { DiscoveryError } from "../../core/discovery/discovery-error.ts";
import type { ProseSkill, Release, ReleaseSkill } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { SkillId } from "../../core/skill.ts";
import type { TrustedReviewers } from "../verdicts.ts";
import { type AttestationMode, checkAttestations } from "./attestations.ts";
import { type Finding, findingOf, findingsOfFailure } from "./finding.ts";
import { checkMemories } from "./memories.ts";
import { checkMemoryUse } from "./memory-use.ts";
import { checkRecipeHead } from "./recipe-head.ts";

/** What `lint --json` prints. Plain JSON. */
export interface LintReport {
  readonly origin: CanonicalOrigin;
  /** No failures; warnings may be there. */
  readonly ok: boolean;
  readonly failures: number;
  readonly warnings: number;
  /** What a gateway would serve, in document order. */
  readonly skills: readonly LintedSkill[];
  readonly memories: readonly LintedMemory[];
  /** Lines that are links for people. */
  readonly links: readonly ProseSkill[];
  /** Well-formed entries of `attestations.json`. */
  readonly attestations: number;
  readonly findings: readonly Finding[];
}

export interface LintedSkill extends SkillId {
  readonly publicName: string;
  readonly version: string | null;
  readonly toolSha256: string;
  readonly bytes: number;
  readonly recipe: boolean;
  /** `null` where nobody said whom to trust. */
  readonly verdict: Verdict | null;
}

export interface LintedMemory {
  readonly scope: string | null;
  readonly sha256: string;
  readonly bytes: number;
}

export interface LintOptions extends Pick<DiscoverOptions, "origin" | "fetch" | "sandbox" | "limits" | "now"> {
  readonly reviewers: TrustedReviewers | null;
  readonly mode: AttestationMode;
}

/**
 * Checks a publisher as a gateway would: the same discovery, then what the standards advise beyond it. Never throws for
 * anything that the publisher did.
 */
export async function lintOrigin(options: LintOptions): Promise<LintReport> {
  const { origin } = options;
  let release: Release;
  try {
    release = await discover(options);
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error;
    return report({ origin, skills: [], memories: [], links: [], attestations: 0 }, findingsOfFailure(error));
  }
  const { findings, verdicts } = await checkAttestations(release, { ...options, now: options.now() });
  return report(
    {
      origin,
      skills: release.skills.map((skill, position) => lintedSkill(skill, verdicts[position] ?? null)),
      memories: release.memories.map(({ scope, sha256, bytes }) => ({ scope, sha256, bytes: bytes.length })),
      links: release.prose,
      attestations: release.attestations.length,
    },
    [
      ...(release.skills.length === 0 ? [noSkills()] : []),
      ...release.rejected.map(findingOf),
      ...checkMemories(release.memories),
      ...release.skills.flatMap((skill) => [...checkRecipeHead(skill), ...checkMemoryUse(skill, release.memories)]),
      ...findings,
    ],
  );
}

type Listed = Omit<LintReport, "ok" | "failures" | "warnings" | "findings">;

function report(listed: Listed, findings: readonly Finding[]): LintReport {
  const failures = findings.filter(({ level }) => level === "failure");
  const warnings = findings.filter(({ level }) => level === "warning");
  return {
    ...listed,
    ok: failures.length === 0,
    failures: failures.length,
    warnings: warnings.length,
    findings: [...failures, ...warnings],
  };
}

function lintedSkill(skill: ReleaseSkill, verdict: Verdict | null): LintedSkill {
  const { publicName, scope, name, version, toolSha256, source, recipe } = skill;
  return {
    publicName,
    scope,
    name,
    version,
    toolSha256,
    bytes: source.length,
    recipe: recipe !== null,
    verdict,
  };
}

function noSkills(): Finding {
  const message = "The origin declares executable skills, and none of them can be served.";
  return { level: "failure", subject: "origin", scope: null, name: "", code: "no_skills", message };
}
