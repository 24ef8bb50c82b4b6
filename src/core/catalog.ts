import type { Attestation } from "./attestation/attestation.ts";
import { type CalendarDate, calendarDateOf } from "./attestation/calendar-date.ts";
import type { SignatureFact, SignatureFacts } from "./attestation/facts.ts";
import { type Evidence, type Trust, type Verdict, verdictOf } from "./attestation/verdict.ts";
import type { Release, ReleaseMemory, ReleaseSkill } from "./discovery/release.ts";
import { DAY_MS } from "./durations.ts";
import type { Sha256Hex } from "./integrity.ts";
import type { CanonicalOrigin } from "./origin.ts";
import { GUIDE_TOOL, type PublicName, type SkillId } from "./skill.ts";

/**
 * What the operator decided about one origin and one client. Plain data, never changed: a decision that changes is another
 * object, and while none does the same object is given again, since what was admitted is kept by it.
 */
export interface Policy {
  readonly status: "pending" | "active" | "suspended" | "revoked";
  /** Whether the client may use the origin. */
  readonly granted: boolean;
  /** What a verdict does: nothing, be shown, or decide. */
  readonly mode: "off" | "advisory" | "enforcing";
  /** What becomes of code that nobody approved: it is served, served with a flag, or the last approved version is instead. */
  readonly pin: "off" | "warn" | "hold";
  /** By {@link skillKey}; the newest approval first. */
  readonly approved: ReadonlyMap<string, readonly ApprovedVersion[]>;
  /** Hashes of versions that the operator refused: they are served under no pin and no name, unless approved under this one. */
  readonly rejected: ReadonlySet<Sha256Hex>;
  readonly trust: Trust;
  /** The gateway's own store of attestations, as far as it concerns the origin. */
  readonly stored: readonly StoredAttestation[];
  /** What was established besides the release's own facts. */
  readonly facts: ReadonlyMap<string, SignatureFact>;
  /** `null`: the client may see every tool. */
  readonly tools: ToolRules | null;
}

/** Which tools of an origin one client may see, by public name; the rest is unknown to it, recipes included. */
export interface ToolRules {
  /** `null`: every tool that is not denied. */
  readonly allow: ReadonlySet<string> | null;
  /** Goes before `allow`. */
  readonly deny: ReadonlySet<string>;
}

/** Whether these rules let a client see a tool. The runtime's own tool is seen unless it is denied by name: it shows no more than they let through. */
export function mayUse({ allow, deny }: ToolRules, publicName: string): boolean {
  return !deny.has(publicName) && (allow === null || publicName === GUIDE_TOOL || allow.has(publicName));
}

export interface ApprovedVersion {
  readonly toolSha256: Sha256Hex;
  /** Epoch milliseconds. */
  readonly approvedAt: number;
}

export interface StoredAttestation {
  readonly attestation: Attestation;
  /** Epoch milliseconds. */
  readonly storedAt: number;
}

/** What one client may list and call on one origin at one moment. Plain data. */
export interface Catalog {
  readonly origin: CanonicalOrigin;
  /** Of the release. */
  readonly fetchedAt: number;
  /** In document order. */
  readonly skills: readonly CatalogSkill[];
  /** The verdicts of what would be served in any mode; none in mode `off`. */
  readonly counts: Readonly<Record<Verdict, number>>;
  /** In document order. */
  readonly withheld: readonly WithheldSkill[];
  /** Skills that the client's rules hide: they are in none of the above. */
  readonly hidden: number;
  /** Whether the runtime's own tool is offered where there are recipes. */
  readonly guide: boolean;
  /** All of the release. Each is searched by the skills of its own scope alone; at most one a scope. */
  readonly memories: readonly ReleaseMemory[];
}

export interface CatalogSkill {
  readonly skill: ReleaseSkill;
  /** `null` in mode `off`. */
  readonly verdict: Verdict | null;
  /** Under `pin: warn`, code that nobody approved. */
  readonly flag: "unapproved" | null;
}

export interface WithheldSkill extends SkillId {
  readonly toolSha256: Sha256Hex;
  /** `unconfirmed`: its code is approved, and nobody could tell whether the rest of it is as it was approved. */
  readonly code: "awaiting_approval" | "unconfirmed" | "rejected" | "revoked_hash" | "not_attested";
  /** One English sentence. */
  readonly message: string;
}

/** Names a skill of an origin, whichever version: two skills never share one. */
export function skillKey({ scope, name }: SkillId): string {
  return JSON.stringify([scope, name]);
}

/** Names one version of a skill of an origin. */
export function versionKey({ scope, name, toolSha256 }: SkillId & { readonly toolSha256: Sha256Hex }): string {
  return JSON.stringify([scope, name, toolSha256]);
}

/**
 * Decides what of a release a client may see. A pure function of facts, policy and the UTC day: a policy that changes needs
 * no cache flush, the next call sees it. Nothing is admitted unless the origin is active and granted; nothing is ever known
 * by its name alone.
 *
 * @param now epoch milliseconds.
 */
export function admit(release: Release, policy: Policy, now: number): Catalog {
  const day = Math.floor(now / DAY_MS);
  let admitted = decided.get(release);
  if (admitted === undefined) {
    admitted = new WeakMap();
    decided.set(release, admitted);
  }
  let decision = admitted.get(policy);
  if (decision?.day !== day) {
    decision = { day, catalog: decide(release, policy, calendarDateOf(now)) };
    admitted.set(policy, decision);
  }
  return decision.catalog;
}

/** Decisions made before: calls of the same release under the same policy share one catalog and what is made of it. */
const decided = new WeakMap<Release, WeakMap<Policy, { readonly day: number; readonly catalog: Catalog }>>();

function decide(release: Release, policy: Policy, day: CalendarDate): Catalog {
  const { origin, fetchedAt, memories } = release;
  const counts = { attested: 0, expired: 0, invalid: 0, unattested: 0 };
  const skills: CatalogSkill[] = [];
  const withheld: WithheldSkill[] = [];
  if (policy.status !== "active" || !policy.granted)
    return { origin, fetchedAt, skills, memories: [], counts, withheld, hidden: 0, guide: true };

  const versions: ApprovedVersions = {
    held: groupBy(release.held, skillKey),
    confirmed: new Set(release.confirmed),
  };
  const judge = policy.mode === "off" ? () => null : judgeOf(release, policy, day);
  const { tools } = policy;
  let hidden = 0;
  for (const line of linesOf(release)) {
    if (tools !== null && !mayUse(tools, line.publicName)) {
      hidden += 1;
      continue;
    }
    const version = chooseVersion(line, versions, policy);
    if (version === null) continue;
    if ("code" in version) {
      withheld.push(version);
      continue;
    }
    const verdict = judge(version.skill);
    if (verdict !== null) counts[verdict] += 1;
    if (policy.mode === "enforcing" && verdict !== "attested") {
      withheld.push(
        withhold(version.skill, "not_attested", `Its verdict is ${verdict}, and only attested skills are served.`),
      );
    } else {
      skills.push({ ...version, verdict });
    }
  }
  const guide = tools === null || mayUse(tools, GUIDE_TOOL);
  return { origin, fetchedAt, skills, memories, counts, withheld, hidden, guide };
}

/** What a release has as it was approved. */
interface ApprovedVersions {
  /** By {@link skillKey}. */
  readonly held: ReadonlyMap<string, readonly ReleaseSkill[]>;
  /** Public names of current ones. */
  readonly confirmed: ReadonlySet<PublicName>;
}

/** A skill that `llms.txt` lists. */
interface Line {
  /** By {@link skillKey}. */
  readonly key: string;
  readonly publicName: PublicName;
  /** `null` where its files cannot be had at this moment. */
  readonly current: ReleaseSkill | null;
}

/** In document order; of those that were rejected the held ones, last, since a release does not say where they stood. */
function linesOf({ skills, held, rejected }: Release): readonly Line[] {
  const lines = new Map<string, Line>();
  for (const current of skills) {
    lines.set(skillKey(current), { key: skillKey(current), publicName: current.publicName, current });
  }
  if (held.every((skill) => lines.has(skillKey(skill)))) return [...lines.values()];
  const listed = new Set(rejected.filter(({ subject }) => subject === "skill").map(skillKey));
  for (const skill of held) {
    const key = skillKey(skill);
    if (listed.has(key) && !lines.has(key)) lines.set(key, { key, publicName: skill.publicName, current: null });
  }
  return [...lines.values()];
}

/** Which version of a skill is to be served, if any. A revoked one is not replaced by an older one. */
function chooseVersion(
  { key, current }: Line,
  { held, confirmed }: ApprovedVersions,
  { pin, approved, rejected, trust }: Policy,
): Omit<CatalogSkill, "verdict"> | WithheldSkill | null {
  const approvals = approved.get(key) ?? [];
  const isApproved = current !== null && approvals.some(({ toolSha256 }) => toolSha256 === current.toolSha256);
  const isRevoked = ({ toolSha256 }: ReleaseSkill) => trust.revokedHashes.has(toolSha256);
  const versions = held.get(key) ?? [];
  const pinned = () => {
    const skill = isApproved ? asApproved(current, versions, confirmed.has(current.publicName)) : null;
    if (skill !== null || (isApproved && isRevoked(current))) return skill ?? current;
    return newestApproved(approvals, versions, trust);
  };
  const skill = pin === "hold" ? pinned() : current;
  if (skill === null) return current === null ? null : withholdUnapproved(current, isApproved, rejected);
  if (isRevoked(skill)) return withhold(skill, "revoked_hash", "The operator revoked this hash: it runs nowhere.");
  if (rejected.has(skill.toolSha256) && !approvals.some(({ toolSha256 }) => toolSha256 === skill.toolSha256)) {
    return withholdUnapproved(skill, false, rejected);
  }
  return { skill, flag: pin === "warn" && !isApproved ? "unapproved" : null };
}

function withholdUnapproved(skill: ReleaseSkill, isApproved: boolean, rejected: Policy["rejected"]): WithheldSkill {
  if (isApproved) {
    const sentence = "Its code is approved, but what comes with it could not be compared with what was approved.";
    return withhold(skill, "unconfirmed", sentence);
  }
  return rejected.has(skill.toolSha256)
    ? withhold(skill, "rejected", "The operator rejected this code.")
    : withhold(skill, "awaiting_approval", "Nobody has approved this code, and no approved version is at hand.");
}

/**
 * What its hash does not cover (recipe, description, what it registers) is as it was when it was approved. `null`: nothing says how that was;
 * what the publisher has now may be anything.
 */
function asApproved(
  current: ReleaseSkill,
  versions: readonly ReleaseSkill[],
  isConfirmed: boolean,
): ReleaseSkill | null {
  return versions.find(({ toolSha256 }) => toolSha256 === current.toolSha256) ?? (isConfirmed ? current : null);
}

/** What is at hand may be older than the newest approval, but never goes back behind one that was revoked. */
function newestApproved(
  approvals: readonly ApprovedVersion[],
  versions: readonly ReleaseSkill[],
  { revokedHashes }: Trust,
): ReleaseSkill | null {
  for (const { toolSha256 } of approvals) {
    const version = versions.find((held) => held.toolSha256 === toolSha256);
    if (version !== undefined) return version;
    if (revokedHashes.has(toolSha256)) return null;
  }
  return null;
}

function withhold(
  { scope, name, toolSha256 }: ReleaseSkill,
  code: WithheldSkill["code"],
  message: string,
): WithheldSkill {
  return { scope, name, toolSha256, code, message };
}

/** Judges versions of an origin's skills by what the publisher serves and what the gateway stored, merged. */
function judgeOf(release: Release, policy: Policy, day: CalendarDate): (skill: ReleaseSkill) => Verdict {
  const { origin } = release;
  const evidence: Evidence[] = [
    ...release.attestations.map((attestation) => ({ attestation, storedAt: null })),
    ...policy.stored,
  ];
  const byHash = groupBy(evidence, ({ attestation }) => attestation.toolSha256);
  const ownFacts = new Map(release.facts);
  const facts: SignatureFacts = { get: (key) => ownFacts.get(key) ?? policy.facts.get(key) };
  return ({ name, toolSha256 }) =>
    verdictOf({ origin, name, toolSha256 }, byHash.get(toolSha256) ?? [], facts, policy.trust, day).verdict;
}

/** As `Map.groupBy`, which Node 20 lacks. */
function groupBy<K, V>(values: readonly V[], keyOf: (value: V) => K): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
