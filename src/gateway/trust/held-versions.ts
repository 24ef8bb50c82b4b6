import { skillKey } from "../../core/catalog.ts";
import type { RejectionCode, Release, ReleaseSkill } from "../../core/discovery/release.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { type SkillId, toPublicName } from "../../core/skill.ts";
import type { OriginDecisions } from "./decisions.ts";

type Approvals = OriginDecisions["approved"];

/** Lines that name no skill of their own: nothing can be held for them. */
const NO_SKILL: ReadonlySet<RejectionCode> = new Set([
  "bad_metadata",
  "bad_scope",
  "bad_name",
  "name_collision",
  "too_many_skills",
  "too_many_rejections",
]);

/** Where versions come from that the publisher does not have any more, or not so. */
export interface ApprovedStore {
  /** What was completed under the very same decisions before: neither what it held nor what it found as approved is read again. */
  readonly before: Release | null;
  /** Approved versions, from the gateway's own store. */
  readonly readVersions: (wanted: readonly VersionKey[]) => Promise<readonly ReleaseSkill[]>;
  /** Of skills whose code is approved, those that are not as they were approved, as they were. */
  readonly readAsApproved: (skills: readonly ReleaseSkill[]) => Promise<readonly ReleaseSkill[]>;
}

/**
 * Of each skill that `llms.txt` still lists: the last approved version where its current one is not approved or cannot be had, and where it
 * is approved, that version as it was approved, if its recipe, description or definition are others now.
 */
export async function heldVersions(
  release: Release,
  approved: Approvals,
  { before, readVersions, readAsApproved }: ApprovedStore,
): Promise<readonly ReleaseSkill[]> {
  const heldBefore = new Map(before?.held.map((skill) => [versionKey(skill), skill]));
  const seenBefore = new Map(before?.skills.map((skill) => [versionKey(skill), skill]));
  const held: ReleaseSkill[] = [];
  const wanted: VersionKey[] = [];
  const compared: ReleaseSkill[] = [];
  for (const { scope, name, current } of listedSkills(release)) {
    const approvals = approved.get(skillKey({ scope, name })) ?? [];
    const [newest] = approvals;
    if (newest === undefined) continue;
    if (current !== null && approvals.some(({ toolSha256 }) => toolSha256 === current.toolSha256)) {
      const seen = seenBefore.get(versionKey(current));
      const known = heldBefore.get(versionKey(current));
      if (seen === undefined || !isAlike(seen, current)) compared.push(current);
      else if (known !== undefined) held.push(known);
      continue;
    }
    const key = { scope, name, toolSha256: newest.toolSha256 };
    const known = heldBefore.get(versionKey(key));
    if (known === undefined) wanted.push(key);
    else held.push(known);
  }
  const asApproved = compared.length === 0 ? [] : await readAsApproved(compared);
  const versions = wanted.length === 0 ? [] : await readVersions(wanted);
  return [...asApproved, ...held, ...versions];
}

/** Where nobody can say what is approved: all that may be, since a release holds no decisions. At most three versions a skill. */
export function heldWithoutDecisions(release: Release, previous: Release): readonly ReleaseSkill[] {
  return listedSkills(release).flatMap(({ scope, name, current }) => {
    const isOfSkill = (skill: ReleaseSkill) => skill.scope === scope && skill.name === name;
    const held = previous.held.filter(isOfSkill).slice(0, 2);
    const isKnown = ({ toolSha256 }: ReleaseSkill) => held.some((known) => known.toolSha256 === toolSha256);
    const isCurrent = (skill: ReleaseSkill) => current !== null && isAlike(skill, current);
    return [...held, ...previous.skills.filter((skill) => isOfSkill(skill) && !isKnown(skill) && !isCurrent(skill))];
  });
}

/** The same code, with the same of all that its hash does not cover. A recipe whose hash nobody declares is nobody's to approve. */
function isAlike(one: ReleaseSkill, other: ReleaseSkill): boolean {
  const [left, right] = [one, other].map(({ toolSha256, description, version, definition, recipe }) =>
    JSON.stringify([toolSha256, description, version, definition, recipe?.verified ? recipe.sha256 : null]),
  );
  return left === right;
}

export interface VersionKey extends SkillId {
  readonly toolSha256: Sha256Hex;
}

interface ListedSkill extends SkillId {
  /** `null` where its files could not be had. */
  readonly current: ReleaseSkill | null;
}

/** The skills that `llms.txt` names, those without a usable version included. */
export function listedSkills({ skills: usable, rejected }: Release): readonly ListedSkill[] {
  const listed: ListedSkill[] = usable.map((current) => ({ scope: current.scope, name: current.name, current }));
  const names = new Set(usable.map(({ publicName }) => publicName));
  for (const { subject, code, scope, name } of rejected) {
    const publicName = toPublicName({ scope, name });
    if (subject !== "skill" || NO_SKILL.has(code) || names.has(publicName)) continue;
    names.add(publicName);
    listed.push({ scope, name, current: null });
  }
  return listed;
}

function versionKey({ scope, name, toolSha256 }: VersionKey): string {
  return JSON.stringify([scope, name, toolSha256]);
}
