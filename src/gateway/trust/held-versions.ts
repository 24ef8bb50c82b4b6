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

/**
 * The last approved version of each skill that `llms.txt` still lists and whose current version is not approved, or cannot be had.
 *
 * @param previous what the hub had: what is among it is not read from the database.
 * @param read from the gateway's own store.
 */
export async function heldVersions(
  release: Release,
  approved: Approvals,
  previous: readonly ReleaseSkill[],
  read: (wanted: readonly VersionKey[]) => Promise<readonly ReleaseSkill[]>,
): Promise<readonly ReleaseSkill[]> {
  const known = new Map(previous.map((skill) => [versionKey(skill), skill]));
  const held: ReleaseSkill[] = [];
  const wanted: VersionKey[] = [];
  for (const { scope, name, current } of listedSkills(release)) {
    const approvals = approved.get(skillKey({ scope, name })) ?? [];
    if (approvals.some(({ toolSha256 }) => toolSha256 === current)) continue;
    const [newest] = approvals;
    if (newest === undefined) continue;
    const key = { scope, name, toolSha256: newest.toolSha256 };
    const version = known.get(versionKey(key));
    if (version === undefined) wanted.push(key);
    else held.push(version);
  }
  return wanted.length === 0 ? held : [...held, ...(await read(wanted))];
}

/** Where nobody can say what is approved: all that may be, since a release holds no decisions. At most two versions a skill. */
export function heldWithoutDecisions(release: Release, previous: Release): readonly ReleaseSkill[] {
  return listedSkills(release).flatMap(({ scope, name, current }) => {
    const isVersion = (skill: ReleaseSkill) =>
      skill.scope === scope && skill.name === name && skill.toolSha256 !== current;
    return [...previous.held.filter(isVersion).slice(0, 1), ...previous.skills.filter(isVersion)];
  });
}

export interface VersionKey extends SkillId {
  readonly toolSha256: Sha256Hex;
}

interface ListedSkill extends SkillId {
  /** `null` where its files could not be had. */
  readonly current: Sha256Hex | null;
}

/** The skills that `llms.txt` names, those without a usable version included. */
function listedSkills({ skills: usable, rejected }: Release): readonly ListedSkill[] {
  const listed: ListedSkill[] = usable.map(({ scope, name, toolSha256 }) => ({ scope, name, current: toolSha256 }));
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
