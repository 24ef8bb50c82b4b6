import { type Attestation, attestationEntry } from "../../core/attestation/attestation.ts";
import type { Release } from "../../core/discovery/release.ts";

/** Characters of JSON that are carried over, as many as a publisher's own file may have. */
const MAX_CARRIED_LENGTH = 262_144;

/** What the origin shipped before, and what is known of the proofs. */
export type ShippedBefore = Pick<Release, "attestations" | "facts">;

/**
 * A release's attestations, and after them those that the origin shipped before about versions that are held and that it has no more: its file
 * is about what it publishes now. Those that a reviewer's key proved come first, and of them those that hold longest; what failed is left out.
 */
export function withCarried(release: Release, before: ShippedBefore | null): readonly Attestation[] {
  const { origin, attestations } = release;
  const wanted = new Set(release.held.map(({ name, toolSha256 }) => nameOf(name, toolSha256)));
  // Of what it still has the publisher says itself who vouches for it.
  for (const { name, toolSha256 } of release.skills) wanted.delete(nameOf(name, toolSha256));
  if (before === null || wanted.size === 0) return attestations;
  const known = new Set(attestations.map(({ proofId }) => proofId));
  const proofs = Map.groupBy(before.facts, ([factKey]) => factKey.slice(0, 64));
  const found = before.attestations.flatMap((attestation) => {
    const { proofId, skill, toolSha256 } = attestation;
    if (attestation.origin !== origin || !wanted.has(nameOf(skill, toolSha256)) || known.has(proofId)) return [];
    const facts = proofs.get(proofId) ?? [];
    const isProven = facts.some(([, fact]) => fact.holds);
    return facts.length > 0 && !isProven ? [] : [{ attestation, isProven }];
  });
  found.sort(
    (left, right) =>
      Number(right.isProven) - Number(left.isProven) ||
      right.attestation.validUntil.localeCompare(left.attestation.validUntil),
  );
  let left = MAX_CARRIED_LENGTH;
  const carried = found.flatMap(({ attestation }) => {
    left -= JSON.stringify(attestationEntry(attestation)).length;
    return left < 0 ? [] : [attestation];
  });
  return [...attestations, ...carried];
}

function nameOf(name: string, toolSha256: string): string {
  return JSON.stringify([name, toolSha256]);
}
