import { skillKey, versionKey } from "../../core/catalog.ts";
import type { Contradiction, Rejection, RejectionCode, Release, ReleaseSkill } from "../../core/discovery/release.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { type PublicName, type SkillId, toPublicName } from "../../core/skill.ts";
import type { OriginDecisions } from "./decisions.ts";

type Approvals = OriginDecisions["approved"];

/** Lines that name no skill of their own: nothing is held for them. */
const NOTHING_HELD: ReadonlySet<RejectionCode> = new Set([
  "bad_metadata",
  "bad_scope",
  "bad_name",
  "name_collision",
  "too_many_skills",
  "too_many_rejections",
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
 *
 * While `llms.txt` and `index.json` contradict each other about a tool, that is the last approved version that `index.json` does not
 * contradict too, and none once that lasts; so it is with a recipe.
 */
export async function approvedVersions(
  release: Release,
  approved: Approvals,
  { before, readVersions, compare }: ApprovedStore,
): Promise<ApprovedVersions> {
  const heldBefore = new Map(before?.held.map((skill) => [versionKey(skill), skill]));
  const seenBefore = new Map(before?.skills.map((skill) => [versionKey(skill), skill]));
  const confirmedBefore = new Set(before?.confirmed);
  const listed = listedSkills(release);
  const contradictedBefore = new Map(before === null ? [] : listedSkills(before).map(contradictionEntry));
  const held: ReleaseSkill[] = [];
  const confirmed = new Set<PublicName>();
  const wanted: VersionName[] = [];
  const compared: ReleaseSkill[] = [];
  for (const skill of listed) {
    const { scope, name, current } = skill;
    const approvals = approved.get(skillKey(skill)) ?? [];
    const newest = approvals.find(({ toolSha256 }) => mayHold(skill, toolSha256));
    if (newest === undefined) continue;
    const [key, contradicted] = contradictionEntry(skill);
    const isKnown = before === null || contradicted === contradictedBefore.get(key);
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
    const version = { scope, name, toolSha256: newest.toolSha256 };
    const known = isKnown ? heldBefore.get(versionKey(version)) : undefined;
    if (known === undefined) wanted.push(version);
    else held.push(known);
  }
  const found: Compared = compared.length === 0 ? { confirmed: [], changed: [] } : await compare(compared);
  const versions = wanted.length === 0 ? [] : await readVersions(wanted);
  for (const { publicName } of found.confirmed) confirmed.add(publicName);
  return {
    held: withoutRecipes([...found.changed, ...held, ...versions], listed),
    // In document order, so that what is found again makes the same release.
    confirmed: release.skills.map(({ publicName }) => publicName).filter((name) => confirmed.has(name)),
  };
}

/** Where nobody can say what is approved now: what was approved before, since a release holds no decisions. At most three versions a skill. */
export function approvedBefore(release: Release, previous: Release): ApprovedVersions {
  const confirmedBefore = new Set(previous.confirmed);
  const held: ReleaseSkill[] = [];
  const confirmed: PublicName[] = [];
  const listed = listedSkills(release);
  for (const line of listed) {
    const { scope, name, current } = line;
    const isOfSkill = (skill: ReleaseSkill) =>
      skill.scope === scope && skill.name === name && mayHold(line, skill.toolSha256);
    const heldBefore = previous.held.filter(isOfSkill).slice(0, 2);
    held.push(...heldBefore);
    for (const skill of previous.skills) {
      if (!isOfSkill(skill) || !confirmedBefore.has(skill.publicName)) continue;
      if (current !== null && isAlike(skill, current)) confirmed.push(skill.publicName);
      else if (heldBefore.every(({ toolSha256 }) => toolSha256 !== skill.toolSha256)) held.push(skill);
    }
  }
  return { held: withoutRecipes(held, listed), confirmed };
}

/** The skills of which something may be served where nothing but `llms.txt` and what was approved is at hand. */
export function restorableSkills(release: Release): readonly SkillId[] {
  const held = new Set(release.held.map(skillKey));
  const listed = listedSkills(release).filter(
    (skill) => skill.current !== null || skill.contradictions.length === 0 || held.has(skillKey(skill)),
  );
  return listed.map(({ scope, name }) => ({ scope, name }));
}

/** Whether a version of the skill may be served in the place of its current one. */
function mayHold({ current, contradictions }: ListedSkill, toolSha256: Sha256Hex): boolean {
  return current !== null || !isContradicted(contradictions, "tool", toolSha256);
}

/** Once a contradiction lasts it is about all versions; before that it is about those that `index.json` does not declare. */
function isContradicted(
  contradictions: ListedSkill["contradictions"],
  file: "tool" | "recipe",
  sha256: Sha256Hex,
): boolean {
  return contradictions.some((one) => one === null || one.isLasting || one[file].some((other) => other !== sha256));
}

function contradictionEntry(skill: ListedSkill): [skillKey: string, contradictions: string] {
  return [skillKey(skill), JSON.stringify(skill.contradictions)];
}

/** No version of a skill brings back a recipe that is refused. */
function withoutRecipes(held: readonly ReleaseSkill[], listed: readonly ListedSkill[]): readonly ReleaseSkill[] {
  const contradicted = new Map(listed.map((skill) => [skillKey(skill), skill.contradictions]));
  return held.map((skill) => {
    const { recipe } = skill;
    if (recipe === null) return skill;
    const isRefused = isContradicted(contradicted.get(skillKey(skill)) ?? [], "recipe", recipe.sha256);
    return isRefused ? { ...skill, recipe: null } : skill;
  });
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
  /** What `index.json` says otherwise: of its recipe, or of its tool where there is no usable version. `null`: nobody remembers what. */
  readonly contradictions: readonly (Contradiction | null)[];
}

/** The skills that `llms.txt` names, those without a usable version included. */
function listedSkills({ skills: usable, rejected }: Release): readonly ListedSkill[] {
  const mismatches = Map.groupBy(
    rejected.filter(({ code }) => code === "index_mismatch"),
    (one) => `${one.subject} ${skillKey(one)}`,
  );
  const contradictionsOf = (subject: Rejection["subject"], id: SkillId) =>
    (mismatches.get(`${subject} ${skillKey(id)}`) ?? []).map(({ contradiction }) => contradiction ?? null);
  const listed: ListedSkill[] = usable.map((current) => {
    const { scope, name } = current;
    return { scope, name, current, contradictions: contradictionsOf("recipe", current) };
  });
  const names = new Set(usable.map(({ publicName }) => publicName));
  for (const { subject, code, scope, name } of rejected) {
    const publicName = toPublicName({ scope, name });
    if (subject !== "skill" || NOTHING_HELD.has(code) || names.has(publicName)) continue;
    names.add(publicName);
    listed.push({ scope, name, current: null, contradictions: contradictionsOf("skill", { scope, name }) });
  }
  return listed;
}
