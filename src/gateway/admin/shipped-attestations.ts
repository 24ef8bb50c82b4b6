import type { Attestation } from "../../core/attestation/attestation.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import type { SkillId } from "../../core/skill.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { describeFailure } from "../log.ts";
import { approvedVersions } from "../registry/approved.ts";
import { FROM_PUBLISHER, noteOmitted, storeAttestations } from "../registry/attestations.ts";
import type { Acting, Registry } from "../registry/database.ts";
import { RegistryError } from "../registry/errors.ts";
import { getOrigin } from "../registry/origins.ts";
import { readTrust } from "../registry/trust.ts";
import { HUB_WAIT_MS, shippedWithRelease } from "../releases/hub-client.ts";
import { type AdminContext, actingNow } from "./environment.ts";
import { judge, skillOf } from "./judging.ts";

/**
 * Stores with the gateway what the publisher ships for the versions that are approved, as far as it counts today: with its next version it
 * will ship other attestations, and the approved one must not lose its verdict with them. What is stored can be revoked, and expires, like
 * any other. Those of the versions just approved come first, and are stored also where the rest finds no room, which the audit log then
 * says. Never rejects: the decision stands, and the next one tries again.
 *
 * @param decided the versions just approved; `null`: all that are approved.
 */
export async function keepShippedAttestations(
  c: AdminContext,
  originId: string,
  decided: readonly VersionName[] | null,
): Promise<void> {
  try {
    await keepShipped(c, originId, decided);
  } catch (error) {
    console.warn(JSON.stringify({ event: "attestations_not_kept", origin: originId, error: describeFailure(error) }));
  }
}

type VersionName = Pick<SkillId, "name"> & { readonly toolSha256: string };

async function keepShipped(c: AdminContext, originId: string, decided: readonly VersionName[] | null): Promise<void> {
  const registry = c.get("registry");
  // Rows hold what parseOrigin returned.
  const origin = (await getOrigin(registry, originId)).origin as CanonicalOrigin;
  const { attestations, facts } = await withDeadline(shippedWithRelease(c.env, origin), HUB_WAIT_MS);
  if (attestations.length === 0) return;
  const approved = new Set((await approvedVersions(registry, originId)).map(nameOf));
  const acting = actingNow(c);
  const trust = await readTrust(registry);
  const accepted = new Map<Sha256Hex, Attestation>();
  for (const attestation of attestations) {
    const isOfApproved = attestation.origin === origin && approved.has(nameOf(skillOf(attestation)));
    if (!isOfApproved || accepted.has(attestation.id)) continue;
    const evidence = [{ attestation, storedAt: null }];
    const [judgement] = await judge([skillOf(attestation)], evidence, trust, acting.now, facts);
    if (judgement?.verdict === "attested") accepted.set(attestation.id, attestation);
  }
  if (accepted.size === 0) return;
  const first = decided === null ? approved : new Set(decided.map(nameOf));
  const [own, rest] = [true, false].map((isFirst) =>
    [...accepted.values()].filter((attestation) => first.has(nameOf(skillOf(attestation))) === isFirst),
  ) as [Attestation[], Attestation[]];
  await storeOrSay(registry, acting, own, true);
  await storeOrSay(registry, acting, rest, false);
  forgetPolicy();
}

async function storeOrSay(
  registry: Registry,
  acting: Acting,
  [first, ...others]: readonly Attestation[],
  mayDisplace: boolean,
): Promise<void> {
  if (first === undefined) return;
  try {
    await storeAttestations(registry, acting, [first, ...others], { storedBy: FROM_PUBLISHER, mayDisplace });
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    await noteOmitted(registry, acting, [first, ...others], error.code);
  }
}

function nameOf({ name, toolSha256 }: VersionName): string {
  return JSON.stringify([name, toolSha256]);
}
