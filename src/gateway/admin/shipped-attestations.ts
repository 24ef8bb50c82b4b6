import type { Attestation } from "../../core/attestation/attestation.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { describeFailure } from "../log.ts";
import { approvedVersions } from "../registry/approved.ts";
import { storeAttestations } from "../registry/attestations.ts";
import { getOrigin } from "../registry/origins.ts";
import { readTrust } from "../registry/trust.ts";
import { shippedWithRelease } from "../releases/hub-client.ts";
import { type AdminContext, actingNow } from "./environment.ts";
import { judge, skillOf } from "./judging.ts";

/** Who is said to have stored what was taken from a publisher's own file. */
export const FROM_PUBLISHER = "publisher";

/** The hub may be in the middle of a discovery. */
const HUB_WAIT_MS = 2_000;

/**
 * Stores with the gateway what the publisher ships for the versions that are approved, as far as it counts today: with its next version it
 * will ship other attestations, and the approved one must not lose its verdict with them. What is stored can be revoked, and expires, like
 * any other. Never rejects: the decision stands, and the next one tries again.
 */
export async function keepShippedAttestations(c: AdminContext, originId: string): Promise<void> {
  try {
    await keepShipped(c, originId);
  } catch (error) {
    console.warn(JSON.stringify({ event: "attestations_not_kept", origin: originId, error: describeFailure(error) }));
  }
}

async function keepShipped(c: AdminContext, originId: string): Promise<void> {
  const registry = c.get("registry");
  // Rows hold what parseOrigin returned.
  const origin = (await getOrigin(registry, originId)).origin as CanonicalOrigin;
  const { attestations, facts } = await withDeadline(shippedWithRelease(c.env, origin), HUB_WAIT_MS);
  if (attestations.length === 0) return;
  const nameOf = (name: string, toolSha256: string) => JSON.stringify([name, toolSha256]);
  const approved = new Set(
    (await approvedVersions(registry, originId)).map(({ name, toolSha256 }) => nameOf(name, toolSha256)),
  );
  const acting = actingNow(c);
  const trust = await readTrust(registry);
  const accepted = new Map<Sha256Hex, Attestation>();
  for (const attestation of attestations) {
    const isOfApproved =
      attestation.origin === origin && approved.has(nameOf(attestation.skill, attestation.toolSha256));
    if (!isOfApproved || accepted.has(attestation.id)) continue;
    const evidence = [{ attestation, storedAt: null }];
    const [judgement] = await judge([skillOf(attestation)], evidence, trust, acting.now, facts);
    if (judgement?.verdict === "attested") accepted.set(attestation.id, attestation);
  }
  if (accepted.size === 0) return;
  await storeAttestations(registry, acting, [...accepted.values()], FROM_PUBLISHER);
  forgetPolicy();
}
