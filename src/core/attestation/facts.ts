import type { Attestation } from "./attestation.ts";
import { verifyEd25519 } from "./ed25519.ts";
import type { ReviewerKey } from "./reviewer.ts";
import type { TrustRoot } from "./trust-root.ts";

/**
 * Whether an attestation's proof is that of a key. A fact about the attestation's words, the key and, for bundles, the
 * trust root: it never changes, so it may be kept for ever and anywhere. Plain data.
 */
export type SignatureFact =
  | {
      readonly holds: true;
      /** Epoch milliseconds at which a log or a time-stamping authority of the trust root first saw the signature; `null`: nobody did, as with Ed25519. */
      readonly witnessedAt: number | null;
    }
  | {
      readonly holds: false;
      readonly code: SignatureCode;
      /** One English sentence. */
      readonly message: string;
    };

export type SignatureCode =
  | "other_kind"
  // Ed25519
  | "bad_key"
  | "bad_base64"
  | "bad_length"
  | "wrong_signature"
  // Sigstore: the bundle
  | "bad_trust_root"
  | "bad_bundle"
  | "untrusted_certificate"
  | "expired_certificate"
  | "untrusted_timestamp"
  | "untrusted_log"
  | "other_log_entry"
  // Sigstore: what it says, and who says it
  | "other_identity"
  | "other_issuer"
  | "bad_statement"
  | "other_subject"
  | "other_claim";

export type SignatureFacts = Pick<ReadonlyMap<string, SignatureFact>, "get">;

/** Names a fact. Of the trust root only its id enters, and only for bundles: a new root asks again. */
export function factKey(attestation: Pick<Attestation, "proofId">, key: ReviewerKey, trustRootId: string): string {
  return key.kind === "ed25519"
    ? `${attestation.proofId} ed25519 ${key.publicKey}`
    : `${attestation.proofId} sigstore ${trustRootId} ${JSON.stringify([key.issuer, key.identity])}`;
}

/** Establishes a fact. Never throws for anything that a publisher, a reviewer or an operator wrote. */
export async function verifySignature(
  attestation: Attestation,
  key: ReviewerKey,
  trustRoot: TrustRoot,
): Promise<SignatureFact> {
  const { proof } = attestation;
  if (key.kind === "ed25519" && proof.kind === "ed25519") {
    return verifyEd25519(attestation, proof.signature, key.publicKey);
  }
  if (key.kind === "sigstore" && proof.kind === "sigstore") {
    // Loaded when the first bundle is to be judged: most isolates never see one.
    const { verifyBundle } = await import("./sigstore/verify-bundle.ts");
    return verifyBundle(attestation, proof.bundle, key, trustRoot);
  }
  return failed("other_kind", `A key of kind ${key.kind} cannot prove an attestation by ${proof.kind}.`);
}

export type FailedSignature = Extract<SignatureFact, { holds: false }>;

export function failed(code: SignatureCode, message: string): FailedSignature {
  return { holds: false, code, message };
}
