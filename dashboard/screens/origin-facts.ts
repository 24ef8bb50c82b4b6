import { hiddenCharacters } from "../../src/core/hidden-characters.ts";
import type { HiddenCharacter, Probe, Release, SkillId, SkillSource, SkillVersion } from "../api/types.ts";

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

/**
 * The probe that the versions on the screen are of, by its time; null where they are of several.
 *
 * @param none the probe that saw none, where there are none: a publisher of Agent Skills alone. null: it is not known which one did.
 */
export function probeOf(current: readonly SkillVersion[], none: number | null): number | null {
  const [first, ...others] = new Set(current.map(({ lastSeenAt }) => lastSeenAt));
  if (first === undefined) return none;
  return others.length > 0 ? null : first;
}

/** What a decision about a version takes beside its code: as a probe saw it last, where that is not what was approved. */
function taken({ version, recipe, definition, changed }: SkillSource) {
  return changed ?? { description: version.description, version: version.version, recipe, definition };
}

/** All that a decision about a version takes beside its code, as one text to compare. */
export function textsTaken(read: SkillSource): string {
  const { description, version, recipe, definition } = taken(read);
  return JSON.stringify([description, version, recipe, definition]);
}

/** The texts that a decision takes and that have characters which nobody sees, by the names that people give them. */
export function hiddenTexts(
  read: SkillSource,
): readonly { readonly where: string; readonly found: readonly HiddenCharacter[] }[] {
  const { description, version, recipe, definition } = taken(read);
  const fresh = read.changed === null ? "" : "new ";
  const texts = [
    { where: "source", text: read.source },
    { where: `${fresh}description`, text: description },
    { where: `${fresh}version`, text: version },
    { where: `${fresh}recipe`, text: recipe },
    { where: `${fresh}schema`, text: definitionText(definition) },
  ];
  return texts
    .map(({ where, text }) => ({ where, found: hiddenCharacters(text ?? "") }))
    .filter(({ found }) => found.length > 0);
}

/** A definition as it is laid out for reading. */
export function definitionText(definition: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(definition, null, 2);
}
