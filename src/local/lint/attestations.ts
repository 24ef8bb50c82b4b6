import type { Attestation } from "../../core/attestation/attestation.ts";
import { calendarDateOf } from "../../core/attestation/calendar-date.ts";
import type { Verdict } from "../../core/attestation/verdict.ts";
import type { Release } from "../../core/discovery/release.ts";
import type { SkillId } from "../../core/skill.ts";
import { type TrustedReviewers, verdictsUnder } from "../verdicts.ts";
import type { Finding, Level } from "./finding.ts";

/** `off`: attestations are read, not judged. `advisory`: an invalid one fails. `enforcing`: every skill must be attested. */
export type AttestationMode = "off" | "advisory" | "enforcing";

export interface AttestationCheck {
  readonly findings: readonly Finding[];
  /** By position in `release.skills`; null where nothing was judged. */
  readonly verdicts: readonly (Verdict | null)[];
}

/** Judges a release's skills by what its publisher serves, as a gateway with these reviewers would on the day of `now`. */
export async function checkAttestations(
  release: Release,
  { reviewers, mode, now }: { reviewers: TrustedReviewers | null; mode: AttestationMode; now: number },
): Promise<AttestationCheck> {
  const { attestations } = release;
  const findings = unused(attestations, release);
  if (reviewers === null || mode === "off") return { findings, verdicts: release.skills.map(() => null) };

  const judged = await verdictsUnder(release, attestations, reviewers, calendarDateOf(now));
  for (const [position, { verdict, because }] of judged.entries()) {
    const skill = release.skills[position];
    if (skill === undefined || verdict === "attested") continue;
    const level: Level = verdict === "invalid" || mode === "enforcing" ? "failure" : "warning";
    const reasons = because.map(({ standing, failure }) => failure?.message ?? standing.replaceAll("_", " "));
    const message = `The skill is ${verdict}: ${reasons.join("; ") || "no attestation names this code"}.`;
    findings.push({ ...about(skill), level, code: verdict, message });
  }
  return { findings, verdicts: judged.map(({ verdict }) => verdict) };
}

/** Entries that no skill of the release can use: of code that was replaced, or of another origin. */
function unused(attestations: readonly Attestation[], release: Release): Finding[] {
  const served = new Set(release.skills.map(({ name, toolSha256 }) => `${name} ${toolSha256}`));
  return attestations.flatMap(({ origin, skill, toolSha256, attester }): Finding[] => {
    if (origin !== release.origin) {
      const message = `The attestation of ${skill} by ${attester} is for ${origin}, which is another origin.`;
      return [{ ...about({ scope: null, name: skill }), level: "warning", code: "other_origin", message }];
    }
    if (served.has(`${skill} ${toolSha256}`)) return [];
    const message = `The attestation of ${skill} by ${attester} is for code that is not served: ${toolSha256}.`;
    return [{ ...about({ scope: null, name: skill }), level: "warning", code: "unused_attestation", message }];
  });
}

function about({ scope, name }: SkillId) {
  return { subject: "attestation", scope, name } as const;
}
