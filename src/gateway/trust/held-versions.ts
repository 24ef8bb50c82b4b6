import { skillKey, versionKey } from "../../core/catalog.ts";
import type { RejectionCode, Release, ReleaseSkill } from "../../core/discovery/release.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { type PublicName, type SkillId, toPublicName } from "../../core/skill.ts";
import type { OriginDecisions } from "./decisions.ts";

type Approvals = OriginDecisions["approved"];

/** Lines that name no skill of their own, or one of which the publisher's own documents disagree: nothing is held for them. */
const NOTHING_HELD: ReadonlySet<RejectionCode> = new Set([
  "bad_metadata",
  "bad_scope",
  "bad_name",
  "name_collision",
  "too_many_skills",
  "too_many_rejections",
  "index_mismatch",
]);

/** Where versions come from that the publisher does not have any more, or not so. */
export interface ApprovedStore {
  /** What was completed under the very same decisions before: what it held or confirmed is not read again. */
  readonly before: Release | null;
  /** Approved versions, from the gateway's own store. */
  readonly readVersions: (wanted: readonly VersionName[]) => Promise<readonly ReleaseSkill[]>;
  /** Skills whose code is approved, compared with what was approved. */
  readonly compare: (skills: readonly ReleaseSkill[]) => Promise<Compared>;
}

/** Of skills whose code is approved; what the store does not know is in neither. */
export interface Compared {
  /** They are just as they were approved. */
  readonly confirmed: readonly ReleaseSkill[];
  /** The others, as they were approved. */
  readonly changed: readonly ReleaseSkill[];
}

/** What of a release is as it was approved. */
export type ApprovedVersions = Pick<Release, "held" | "confirmed">;

/**
 * Of each skill that `llms.txt` still lists: the last approved version where its current one is not approved or cannot be had, and where it
 * is approved, that version as it was approved, if its recipe, description or definition are others now, or the word that they are not.
 */
export async function approvedVersions(
  release: Release,
  approved: Approvals,
  { before, readVersions, compare }: ApprovedStore,
): Promise<ApprovedVersions> {
  const heldBefore = new Map(before?.held.map((skill) => [versionKey(skill), skill]));
  const seenBefore = new Map(before?.skills.map((skill) => [versionKey(skill), skill]));
  const confirmedBefore = new Set(before?.confirmed);
  const refused = refusedRecipes(release);
  const refusedBefore = before === null ? refused : refusedRecipes(before);
  const held: ReleaseSkill[] = [];
  const confirmed = new Set<PublicName>();
  const wanted: VersionName[] = [];
  const compared: ReleaseSkill[] = [];
  for (const { scope, name, current } of listedSkills(release)) {
    const approvals = approved.get(skillKey({ scope, name })) ?? [];
    const [newest] = approvals;
    if (newest === undefined) continue;
    const isKnown = refused.has(skillKey({ scope, name })) === refusedBefore.has(skillKey({ scope, name }));
    if (current !== null && approvals.some(({ toolSha256 }) => toolSha256 === current.toolSha256)) {
      const seen = seenBefore.get(versionKey(current));
      const known = heldBefore.get(versionKey(current));
      if (!isKnown || seen === undefined || !isAlike(seen, current)) compared.push(current);
      else if (known !== undefined) held.push(known);
      else if (confirmedBefore.has(current.publicName)) confirmed.add(current.publicName);
      // It was left out of the release for its size, or the store did not know it.
      else compared.push(current);
      continue;
    }
    const key = { scope, name, toolSha256: newest.toolSha256 };
    const known = isKnown ? heldBefore.get(versionKey(key)) : undefined;
    if (known === undefined) wanted.push(key);
    else held.push(known);
  }
  const found: Compared = compared.length === 0 ? { confirmed: [], changed: [] } : await compare(compared);
  const versions = wanted.length === 0 ? [] : await readVersions(wanted);
  for (const { publicName } of found.confirmed) confirmed.add(publicName);
  return {
    held: withoutRecipes([...found.changed, ...held, ...versions], refused),
    // In document order, so that what is found again makes the same release.
    confirmed: release.skills.map(({ publicName }) => publicName).filter((name) => confirmed.has(name)),
  };
}

/** Where nobody can say what is approved now: what was approved before, since a release holds no decisions. At most three versions a skill. */
export function approvedBefore(release: Release, previous: Release): ApprovedVersions {
  const confirmedBefore = new Set(previous.confirmed);
  const held: ReleaseSkill[] = [];
  const confirmed: PublicName[] = [];
  for (const { scope, name, current } of listedSkills(release)) {
    const isOfSkill = (skill: ReleaseSkill) => skill.scope === scope && skill.name === name;
    const heldBefore = previous.held.filter(isOfSkill).slice(0, 2);
    held.push(...heldBefore);
    for (const skill of previous.skills) {
      if (!isOfSkill(skill) || !confirmedBefore.has(skill.publicName)) continue;
      if (current !== null && isAlike(skill, current)) confirmed.push(skill.publicName);
      else if (heldBefore.every(({ toolSha256 }) => toolSha256 !== skill.toolSha256)) held.push(skill);
    }
  }
  return { held: withoutRecipes(held, refusedRecipes(release)), confirmed };
}

/** Skills, by `skillKey`, of whose recipe `llms.txt` and `index.json` say different things. */
function refusedRecipes({ rejected }: Release): ReadonlySet<string> {
  const refused = rejected.filter(({ subject, code }) => subject === "recipe" && code === "index_mismatch");
  return new Set(refused.map(skillKey));
}

/** No version of a skill brings back a recipe that is refused. */
function withoutRecipes(held: readonly ReleaseSkill[], refused: ReadonlySet<string>): readonly ReleaseSkill[] {
  return held.map((skill) => (refused.has(skillKey(skill)) ? { ...skill, recipe: null } : skill));
}

/** The same code, with the same of all that its hash does not cover. A recipe whose hash nobody declares is nobody's to approve. */
function isAlike(one: ReleaseSkill, other: ReleaseSkill): boolean {
  const [left, right] = [one, other].map(({ toolSha256, description, version, definition, recipe }) =>
    JSON.stringify([toolSha256, description, version, definition, recipe?.verified ? recipe.sha256 : null]),
  );
  return left === right;
}

export interface VersionName extends SkillId {
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
    if (subject !== "skill" || NOTHING_HELD.has(code) || names.has(publicName)) continue;
    names.add(publicName);
    listed.push({ scope, name, current: null });
  }
  return listed;
}
