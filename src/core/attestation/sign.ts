import type { JsonObject } from "../json.ts";
import {
  type AttestationClaim,
  attestationEntry,
  attestationPayload,
  type UnidentifiedAttestation,
} from "./attestation.ts";
import { encodeBase64 } from "./base64.ts";

export interface Signer {
  /** `type:name`. */
  readonly attester: string;
  /** Ed25519, with the usage `sign`; WebCrypto, so that it works in a browser as in Node. */
  readonly privateKey: CryptoKey;
}

/**
 * Signs a claim (Skill Attestations v0.4 §2.1). Whether the bytes of `toolSha256` were read is the caller's to see to.
 *
 * @example `attestationEntry(await signAttestation(claim, { attester: "human:ada", privateKey }))`
 */
export async function signAttestation(
  claim: AttestationClaim,
  { attester, privateKey }: Signer,
  note: string | null = null,
): Promise<UnidentifiedAttestation> {
  const signature = await crypto.subtle.sign("Ed25519", privateKey, attestationPayload(claim));
  const { origin, skill, toolSha256, signedOn, validUntil } = claim;
  const proof = { kind: "ed25519", signature: encodeBase64(new Uint8Array(signature)) } as const;
  return { origin, skill, toolSha256, signedOn, validUntil, attester, note, proof };
}

/**
 * The JSON array that a publisher would put at `/.well-known/agent-skills/attestations.json`: by skill, and of each the
 * newest first. `readAttestations` reads it back to the same attestations.
 */
export function publishableAttestations(attestations: readonly UnidentifiedAttestation[]): readonly JsonObject[] {
  const sorted = attestations.toSorted(
    (a, b) => compare(a.skill, b.skill) || compare(b.signedOn, a.signedOn) || compare(a.attester, b.attester),
  );
  return sorted.map(attestationEntry);
}

/** By code units, so that every machine sorts alike. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
