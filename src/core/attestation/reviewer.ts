import { SIGSTORE_ATTESTER } from "./attestation.ts";

/** How a reviewer's proofs are known to be theirs. */
export type ReviewerKey =
  /** Standard base64 of the 32 raw bytes. */
  | { readonly kind: "ed25519"; readonly publicKey: string }
  /** Both compared exactly with the certificate: the OpenID Connect issuer, and the e-mail address or URI that it vouched for. */
  | { readonly kind: "sigstore"; readonly issuer: string; readonly identity: string };

/** Whether a Sigstore reviewer is called by the identity that its certificates have (Skill Attestations v0.4 §2.4); others may have any name. */
export function isNamedByIdentity({ attester, key }: Pick<Reviewer, "attester" | "key">): boolean {
  return key.kind !== "sigstore" || attester === `${SIGSTORE_ATTESTER}${key.identity}`;
}

/** One key of an attester, as the operator registered it. An attester may have several over time, at most one of them active. */
export interface Reviewer {
  readonly id: string;
  /** `type:name`. */
  readonly attester: string;
  readonly key: ReviewerKey;
  /** Epoch milliseconds. What was signed on an earlier UTC day does not count, nor a bundle that a log saw before this moment. */
  readonly registeredAt: number;
  /** Epoch milliseconds. From then on only attestations that the gateway had stored before count. */
  readonly retiredAt: number | null;
  /** Epoch milliseconds. From then on nothing counts: whoever has the key can forge dates. */
  readonly revokedAt: number | null;
}
