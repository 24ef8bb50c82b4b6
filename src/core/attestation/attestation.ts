import type { Sha256Hex } from "../integrity.ts";
import type { JsonObject } from "../json.ts";
import type { CanonicalOrigin } from "../origin.ts";
import type { CalendarDate } from "./calendar-date.ts";

/** What a reviewer signs: these bytes, on this origin, under this name, from one day to another (Skill Attestations v0.4 §2). */
export interface AttestationClaim {
  /** Canonical, its base path kept. */
  readonly origin: CanonicalOrigin;
  /** The name of the `llms.txt` line; scopes never enter an attestation. */
  readonly skill: string;
  readonly toolSha256: Sha256Hex;
  readonly signedOn: CalendarDate;
  /** The last day on which it holds. */
  readonly validUntil: CalendarDate;
}

/** One well-formed entry of an `attestations.json` or of the gateway's own store. Whether its proof holds is another question. */
export interface Attestation extends AttestationClaim {
  /**
   * What a revocation names: SHA-256 of the claim, the attester and, of an Ed25519 proof, the signature. No bundle enters: whoever serves one can
   * write it in other words, so all bundles of one attester about one claim share an id.
   */
  readonly id: Sha256Hex;
  /** SHA-256 of the claim, the attester and the proof as it is written: what a fact is about. Entries that differ in their note alone are one. */
  readonly proofId: Sha256Hex;
  /** `type:name`, such as `human:ada`, or `sigstore:` and an identity of the OpenID Connect issuer. */
  readonly attester: string;
  readonly note: string | null;
  readonly proof: AttestationProof;
}

export type AttestationProof =
  /** Standard base64, where it is one, of 64 bytes over {@link attestationPayload}. */
  | { readonly kind: "ed25519"; readonly signature: string }
  /** A Sigstore bundle of an in-toto statement about the claim. */
  | { readonly kind: "sigstore"; readonly bundle: JsonObject };

/** An attestation before its ids are computed. */
export type UnidentifiedAttestation = Omit<Attestation, "id" | "proofId">;

/** Attesters of this type prove themselves by a bundle, all others by a signature. */
export const SIGSTORE_ATTESTER = "sigstore:";

/** The bytes under an Ed25519 signature: UTF-8 of the five values joined by single line feeds, none at the end (§2.1). */
export function attestationPayload(claim: AttestationClaim): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(Object.values(attestationClaimFields(claim)).join("\n")) as Uint8Array<ArrayBuffer>;
}

/** The claim's five values under the names that they have in files and statements, in the order in which they are signed. */
export function attestationClaimFields(claim: AttestationClaim) {
  return {
    origin: claim.origin,
    skill: claim.skill,
    tool_sha256: claim.toolSha256,
    signed_on: claim.signedOn,
    valid_until: claim.validUntil,
  };
}

/** The entry as it stands in an `attestations.json`; what `readAttestations` reads back to the same attestation. */
export function attestationEntry(attestation: UnidentifiedAttestation): JsonObject {
  const { attester, note, proof } = attestation;
  return {
    ...attestationClaimFields(attestation),
    attester,
    ...(proof.kind === "ed25519" ? { signature: proof.signature } : { sigstore_bundle: proof.bundle }),
    ...(note === null ? {} : { note }),
  };
}
