import { type Evidence, isAbout, type JudgedSkill, type Judgement } from "../../core/attestation/verdict.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { Watcher } from "../durable/hub-answer.ts";
import { isHosted } from "../publishing/site-fetch.ts";
import { attestationsOf } from "../registry/attestations.ts";
import type { Acting, Registry } from "../registry/database.ts";
import { activateOrigin, recordFailedProbe, recordProbe, requireProbeable } from "../registry/onboarding.ts";
import { getOrigin, type OriginRow, requireStep } from "../registry/origins.ts";
import { probedSkills, probedTexts, type SkillVersion, stateOf } from "../registry/skills.ts";
import { readTrust } from "../registry/trust.ts";
import type { probeOrigin } from "../releases/hub-client.ts";
import { type AdminContext, actingNow } from "./environment.ts";
import { conditionally } from "./frame.ts";
import { judge } from "./judging.ts";
import type { ProbeAnswer } from "./probe-shape.ts";
import { Problem } from "./problem.ts";
import { showRejection } from "./rejection-shape.ts";

/** Discovers an origin now, whatever is cached. */
export type Prober = typeof probeOrigin;

/** An activation relies on a probe up to this age; after that the origin is probed anew. */
export const PROBE_FRESH_MS = 15 * 60_000;

/**
 * Probes an origin and records what was seen. A failing publisher is an answer with `error`, not a problem.
 * @throws RegistryError `not_found`, `bad_state` (revoked).
 */
export async function probeAndRecord(
  c: AdminContext,
  prober: Prober,
  id: string,
  watch: Watcher | null = null,
): Promise<ProbeAnswer> {
  const registry = c.get("registry");
  const before = await getOrigin(registry, id);
  requireProbeable(before);
  // Rows hold what parseOrigin returned.
  const found = await prober(c.env, before.origin as CanonicalOrigin, watch);
  if (!found.ok) {
    const { code, message, rejected } = found;
    const row = await recordFailedProbe(registry, actingNow(c), id, code);
    return { ...emptyAnswer(row), error: { code, message }, rejected: rejected.map(showRejection) };
  }
  const { fetchedAt, skills, index, rejected, prose, memories, attestations } = found;
  const { judgements, strays } = await judgeFound(registry, before.origin as CanonicalOrigin, found);
  const facts = { fetchedAt, skills: skills.length, rejected: rejected.length };
  const row = await recordProbe(registry, actingNow(c), id, skills, facts);
  const versions = row.probedAt === null ? [] : await probedSkills(registry, id, row.probedAt);
  const known = new Map(versions.map((version) => [keyOf(version), version]));
  return {
    ...emptyAnswer(row),
    fetchedAt,
    skills: skills.map((skill, i) => ({
      scope: skill.scope,
      name: skill.name,
      publicName: skill.publicName,
      description: skill.description,
      version: skill.version,
      toolSha256: skill.toolSha256,
      recipeSha256: skill.recipe?.sha256 ?? null,
      recipeVerified: skill.recipe?.verified ?? null,
      ...(judgements[i] ?? UNJUDGED),
      state: stateOf(known.get(keyOf(skill)) ?? UNDECIDED),
      approvedAt: known.get(keyOf(skill))?.approvedAt ?? null,
      changedSinceApproval: known.get(keyOf(skill))?.changedSinceApproval ?? false,
    })),
    index: { code: index.code, message: index.message, entries: index.entries },
    rejected: rejected.map(showRejection),
    prose: prose.map(({ name, description, reason }) => ({ name, description, reason })),
    memories: memories.map(({ scope, sha256, bytes, failure }) => ({ scope, sha256, bytes, failure })),
    attestations: attestations.length,
    strayAttestations: strays,
  };
}

/** What is listed of the attestations of one version, and of those of none. */
const MAX_REASONS = 100;

async function judgeFound(
  registry: Registry,
  origin: CanonicalOrigin,
  { skills, attestations, facts }: Extract<Awaited<ReturnType<Prober>>, { ok: true }>,
): Promise<{
  readonly judgements: readonly ReturnType<typeof showJudgement>[];
  readonly strays: ReturnType<typeof straysOf>;
}> {
  const evidence: Evidence[] = [
    ...attestations.map((attestation) => ({ attestation, storedAt: null })),
    ...(await attestationsOf(registry, origin)),
  ];
  const judged = skills.map(({ name, toolSha256 }) => ({ origin, name, toolSha256 }));
  const judgements = await judge(judged, evidence, await readTrust(registry), Date.now(), facts);
  const byId = Map.groupBy(evidence, ({ attestation }) => attestation.id);
  return {
    judgements: judgements.map((judgement) => showJudgement(judgement, byId)),
    strays: straysOf(judged, evidence),
  };
}

/** Attestations that are of no version found, each once: of what was there before, or of a name, hash or origin that somebody got wrong. */
function straysOf(skills: readonly JudgedSkill[], evidence: readonly Evidence[]) {
  const strays = new Map(
    evidence
      .filter(({ attestation }) => !skills.some((skill) => isAbout(attestation, skill)))
      .map((one) => [one.attestation.id, one]),
  );
  return [...strays.values()].slice(0, MAX_REASONS).map(({ attestation, storedAt }) => {
    const { id, origin, skill, toolSha256, attester, signedOn, validUntil } = attestation;
    return { attestationId: id, origin, skill, toolSha256, attester, signedOn, validUntil, storedAt };
  });
}

function showJudgement({ verdict, because }: Judgement, evidence: ReadonlyMap<string, readonly Evidence[]>) {
  const shown = because.slice(0, MAX_REASONS).map(({ attestationId, reviewerId, standing, failure }) => {
    const same = evidence.get(attestationId) ?? [];
    const attestation = same[0]?.attestation;
    return {
      attestationId,
      attester: attestation?.attester ?? "",
      signedOn: attestation?.signedOn ?? "",
      validUntil: attestation?.validUntil ?? "",
      // The same one may be shipped and stored.
      storedAt: same.find(({ storedAt }) => storedAt !== null)?.storedAt ?? null,
      reviewerId,
      standing,
      failure: failure === null ? null : { code: failure.code, message: failure.message },
    };
  });
  return { verdict, because: shown };
}

/**
 * Activates an origin on the strength of its latest probe. Where that is too old, or missing, the origin is probed first; what
 * an operator may have reviewed in the older probe must still be what is found, recipes, descriptions and definitions included.
 * @param acting with what the caller requires of the origin as it is now.
 * @param reviewed `probedAt` of the probe that the operator reviewed, or `null`.
 * @param show the origin as `If-Match` names it.
 * @throws RegistryError `not_found`, `bad_state`, `probe_changed`, `no_skills`; Problem `discovery_failed`, `no_skills`,
 * `probe_changed`.
 */
export async function activateProbed(
  c: AdminContext,
  prober: Prober,
  acting: Acting,
  id: string,
  reviewed: number | null,
  show: (row: OriginRow) => object,
): Promise<OriginRow> {
  const registry = c.get("registry");
  const row = await getOrigin(registry, id);
  requireStep(row, "activate");
  if (reviewed !== null && reviewed !== row.probedAt) {
    throw new Problem("probe_changed", { detail: "probedAt is not the latest probe of this origin.", id });
  }
  const mayLackTools = row.agentSkills || (await isHosted(c.env, row.origin as CanonicalOrigin));
  if (row.probedAt !== null && Date.now() - row.probedAt <= PROBE_FRESH_MS) {
    return activateOrigin(registry, acting, id, row.probedAt, mayLackTools);
  }
  // What the caller requires of the origin is judged before it is probed for nothing, and once more when it is written: of the row but for
  // the moment of the probe, which is ours.
  await acting.require?.();
  const earlier = row.probedAt === null ? null : await probedTexts(registry, id, row.probedAt);
  const probe = await probeAndRecord(c, prober, id);
  if (probe.error !== null) throw new Problem(probe.error.code, { detail: probe.error.message, id });
  const probedAt = probe.probedAt ?? 0;
  if (earlier !== null && !isSame(earlier, await probedTexts(registry, id, probedAt))) {
    throw new Problem("probe_changed", {
      detail: "The origin's skills, or what comes with them, changed since they were probed; review them.",
      id,
    });
  }
  const asRead = async () => {
    const now = await getOrigin(registry, id);
    return now.probedAt === probedAt ? { ...now, probedAt: row.probedAt } : now;
  };
  return activateOrigin(registry, conditionally(c, asRead, show), id, probedAt, mayLackTools);
}

const UNJUDGED = { verdict: "unattested" as const, because: [] };
const UNDECIDED = { approvedAt: null, rejectedAt: null };

function emptyAnswer({ id, origin, probedAt }: OriginRow): ProbeAnswer {
  return {
    id,
    origin,
    probedAt,
    fetchedAt: null,
    error: null,
    skills: [],
    index: null,
    rejected: [],
    prose: [],
    memories: [],
    attestations: 0,
    strayAttestations: [],
  };
}

type VersionKey = Pick<SkillVersion, "scope" | "name" | "toolSha256">;

function keyOf({ scope, name, toolSha256 }: VersionKey): string {
  return JSON.stringify([scope, name, toolSha256]);
}

function isSame(before: ReadonlySet<string>, after: ReadonlySet<string>): boolean {
  return before.size === after.size && [...after].every((text) => before.has(text));
}
