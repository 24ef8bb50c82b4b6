import type { Evidence } from "../../core/attestation/verdict.ts";
import { admit, type Catalog, type CatalogSkill } from "../../core/catalog.ts";
import type { Release, ReleaseSkill } from "../../core/discovery/release.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { policyOf } from "../auth/policy.ts";
import type { HubInspection } from "../durable/hub-answer.ts";
import { readTrust } from "../registry/trust.ts";
import { inspectHub } from "../releases/hub-client.ts";
import type { InspectedRelease, ScriptFacts } from "../releases/inspection.ts";
import { policyFor } from "../trust/served-policy.ts";
import type { AdminContext } from "./environment.ts";
import { judge } from "./judging.ts";

/** What an origin's hub holds, and what clients without rules of their own get of it. */
export interface HeldRelease {
  readonly failure: HubInspection["failure"];
  /** `null`: the hub holds nothing. */
  readonly held: (InspectedRelease & { readonly catalog: Catalog; readonly evidence: readonly Evidence[] }) | null;
}

/**
 * Looks at the hub without a question to the origin.
 *
 * @throws GatewayError `discovery_failed` where the hub does not answer.
 */
export async function readHeldRelease(c: AdminContext, origin: CanonicalOrigin): Promise<HeldRelease> {
  const [{ inspected, failure }, decided] = await Promise.all([
    inspectHub(c.env, origin),
    policyOf(c.env.DB).originNow(origin),
  ]);
  if (inspected === null || decided === null) return { failure, held: null };
  const { release } = inspected;
  const policy = await policyFor(release, decided, c.get("settings").attestationMode);
  const evidence = [
    ...release.attestations.map((attestation) => ({ attestation, storedAt: null })),
    ...decided.decisions.stored,
  ];
  return { failure, held: { ...inspected, catalog: admit(release, policy, Date.now()), evidence } };
}

/** How the versions of a release's skills fare, in its order, the held ones last. */
export async function describeSkills(c: AdminContext, { held }: HeldRelease) {
  if (held === null) return [];
  const { release, scripts, catalog, evidence } = held;
  const versions = [...release.skills, ...release.held];
  const { origin, facts } = release;
  const judged = versions.map(({ name, toolSha256 }) => ({ origin, name, toolSha256 }));
  const judgements = await judge(judged, evidence, await readTrust(c.get("registry")), Date.now(), facts);
  const served = new Map(catalog.skills.map((entry) => [entry.skill, entry]));
  return versions.map((skill, i) => {
    const { scope, name, publicName, description, version, toolSha256, definition, recipe } = skill;
    const script = scripts.get(toolSha256) ?? NO_SCRIPT;
    return {
      ...{ scope, name, publicName, description, version, toolSha256 },
      bytes: script.bytes,
      definition: { ...definition },
      recipe: recipe === null ? null : { sha256: recipe.sha256, verified: recipe.verified },
      verdict: judgements[i]?.verdict ?? ("unattested" as const),
      ...standing(skill, served.get(skill), release, catalog),
      fetches: { paths: [...script.fetches.paths], complete: script.fetches.complete },
    };
  });
}

const NO_SCRIPT: ScriptFacts = { bytes: 0, fetches: { paths: [], complete: false } };

type PinState = "served" | "flagged" | "held" | "waiting" | "withheld";

function standing(
  skill: ReleaseSkill,
  entry: CatalogSkill | undefined,
  release: Release,
  { withheld }: Catalog,
): { readonly pinState: PinState; readonly code: string | null; readonly message: string | null } {
  if (entry !== undefined) {
    if (entry.flag !== null) return { pinState: "flagged", code: entry.flag, message: null };
    return { pinState: release.held.includes(skill) ? "held" : "served", code: null, message: null };
  }
  const { scope, name, toolSha256 } = skill;
  const reason = withheld.find((one) => one.scope === scope && one.name === name && one.toolSha256 === toolSha256);
  if (reason !== undefined) return { pinState: "withheld", code: reason.code, message: reason.message };
  const message = "Another version of this skill is served in its place.";
  return { pinState: "waiting", code: "awaiting_approval", message };
}
