/** How a reviewer's proofs are known to be theirs. */
export type ReviewerKey =
  /** Standard base64 of the 32 raw bytes. */
  | { readonly kind: "ed25519"; readonly publicKey: string }
  /** Both compared exactly with the certificate: the OpenID Connect issuer, and the e-mail address or URI that it vouched for. */
  | { readonly kind: "sigstore"; readonly issuer: string; readonly identity: string };

/** One key of an attester, as the operator registered it. An attester may have several over time, at most one of them active. */
export interface Reviewer {
  readonly id: string;
  /** `type:name`. */
  readonly attester: string;
  readonly key: ReviewerKey;
  /** Epoch milliseconds. What was signed on an earlier UTC day does not count. */
  readonly registeredAt: number;
  /** Epoch milliseconds. From then on only attestations that the gateway had stored before count. */
  readonly retiredAt: number | null;
  /** Epoch milliseconds. From then on nothing counts: whoever has the key can forge dates. */
  readonly revokedAt: number | null;
}
