import { readPublicKey } from "../core/attestation/ed25519.ts";
import { isAttester } from "../core/attestation/read.ts";
import { isNamedByIdentity, type Reviewer, type ReviewerKey } from "../core/attestation/reviewer.ts";
import { embeddedTrustRoot } from "../core/attestation/trust-root.ts";
import type { RequiredAttestations } from "../core/runtime/origin-runtime.ts";
import { demandNodeCrypto } from "../library/node-crypto.ts";
import { ToolHostError } from "../library/tool-host-error.ts";

/** Whose attestations count: a key of one's own, or a certificate of Sigstore. */
export type TrustedReviewer =
  /** `attester`: `type:name`. `publicKey`: standard base64 of 32 bytes. */
  | { readonly attester: string; readonly publicKey: string }
  /** Compared exactly with the certificate. Not in browsers. */
  | { readonly issuer: string; readonly identity: string };

/** @throws {ToolHostError} `bad_option`, `unsupported`. */
export function readReviewers(reviewers: readonly TrustedReviewer[]): RequiredAttestations {
  if (reviewers.some((reviewer) => !("publicKey" in reviewer))) demandNodeCrypto();
  return { reviewers: reviewers.map(readReviewer), trustRoot: embeddedTrustRoot() };
}

function readReviewer(given: TrustedReviewer, index: number): Reviewer {
  const key: ReviewerKey =
    "publicKey" in given
      ? { kind: "ed25519", publicKey: given.publicKey }
      : { kind: "sigstore", issuer: given.issuer, identity: given.identity };
  const attester = "attester" in given ? given.attester : `sigstore:${given.identity}`;
  if (!isAttester(attester) || !isNamedByIdentity({ attester, key }))
    throw bad(index, "has no attester of the form type:name");
  if (key.kind === "ed25519" && typeof readPublicKey(key.publicKey) === "string")
    throw bad(index, "has no `publicKey` of 32 bytes in base64");
  return { id: `${index}`, attester, key, registeredAt: 0, retiredAt: null, revokedAt: null };
}

function bad(index: number, what: string): ToolHostError {
  return new ToolHostError("bad_option", `The entry ${index} of \`requireAttestation\` ${what}.`);
}
