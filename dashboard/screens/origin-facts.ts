import type { Probe, Release, SkillId, SkillSource, SkillVersion } from "../api/types.ts";

function keyOf({ scope, name, toolSha256 }: SkillId & { readonly toolSha256: string }): string {
  return JSON.stringify([scope, name, toolSha256]);
}

/** How many of the current versions are attested today; null: the hub does not hold them all, so that it is not known. */
export function attestedToday(current: readonly SkillVersion[], release: Release | undefined): number | null {
  if (release === undefined || current.length === 0) return null;
  const verdicts = new Map(release.skills.map((skill) => [keyOf(skill), skill.verdict]));
  const found = current.map((version) => verdicts.get(keyOf(version)));
  return found.includes(undefined) ? null : found.filter((verdict) => verdict === "attested").length;
}

/**
 * A probe's result with the decisions and verdicts as they are now; null: the origin was probed again since, by whomever.
 *
 * @param probedAt of the origin, Unix milliseconds.
 */
export function probeToday(
  probe: Probe,
  probedAt: number | null,
  current: readonly SkillVersion[],
  release: Release | undefined,
): Probe | null {
  if (probe.probedAt !== null && probedAt !== null && probedAt > probe.probedAt) return null;
  const versions = new Map(current.map((version) => [keyOf(version), version]));
  const verdicts = new Map(release?.skills.map((skill) => [keyOf(skill), skill.verdict]));
  const skills = probe.skills.map((skill) => {
    const version = versions.get(keyOf(skill));
    const verdict = verdicts.get(keyOf(skill)) ?? skill.verdict;
    return {
      ...skill,
      ...(version === undefined
        ? {}
        : {
            state: version.state,
            approvedAt: version.approvedAt,
            changedSinceApproval: version.changedSinceApproval,
          }),
      verdict,
      // Who vouched then does not explain another verdict.
      because: verdict === skill.verdict ? skill.because : [],
    };
  });
  return { ...probe, skills };
}

/** The probe that the versions on the screen are of, by its time; null where they are of several, or there are none. */
export function probeOf(current: readonly SkillVersion[]): number | null {
  const [first, ...others] = new Set(current.map(({ lastSeenAt }) => lastSeenAt));
  return first === undefined || others.length > 0 ? null : first;
}

/** All that a decision about a version takes beside its code, as one text to compare. */
export function textsTaken({ version, recipe, definition, changed }: SkillSource): string {
  const taken = changed ?? { description: version.description, version: version.version, recipe, definition };
  return JSON.stringify([taken.description, taken.version, taken.recipe, taken.definition]);
}
