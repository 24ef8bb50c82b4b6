import type { AttestationClaim } from "../core/attestation/attestation.ts";
import type { SignatureFact } from "../core/attestation/facts.ts";
import { verifySignature } from "../core/attestation/facts.ts";
import { readAttestations } from "../core/attestation/read.ts";
import { PAYLOAD_TYPE, statementOf } from "../core/attestation/sigstore/statement.ts";
import { embeddedTrustRoot, readTrustRoot, type TrustRoot } from "../core/attestation/trust-root.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { demandNodeCrypto } from "./node-crypto.ts";
import { ToolHostError } from "./tool-host-error.ts";

export type { SignatureCode, SignatureFact } from "../core/attestation/facts.ts";

/** What a reviewer attests, in the words of `attestations.json`. */
export interface AttestedClaim {
  /** Canonical, its base path kept. */
  readonly origin: string;
  readonly skill: string;
  readonly tool_sha256: string;
  /** `YYYY-MM-DD`. */
  readonly signed_on: string;
  readonly valid_until: string;
}

/** Whose certificate a bundle must carry. Both are compared exactly. */
export interface SigstoreReviewer {
  /** Of the OpenID Connect tokens. */
  readonly issuer: string;
  /** The e-mail address or URI that the certificate is about. */
  readonly identity: string;
  /** A `trusted_root.json`. Default: that of the public Sigstore instance, as of this version. */
  readonly trustRoot?: Json;
}

/** The DSSE payload type under which a statement is signed. */
export const STATEMENT_PAYLOAD_TYPE = PAYLOAD_TYPE;

/** What a reviewer signs by Sigstore: an in-toto statement about the tool's bytes (Skill Attestations v0.4 §2.4). */
export function buildSigstoreStatement(claim: AttestedClaim): JsonObject {
  const { origin, skill, tool_sha256: toolSha256, signed_on: signedOn, valid_until: validUntil } = claim;
  return statementOf({ origin, skill, toolSha256, signedOn, validUntil } as AttestationClaim);
}

/**
 * Whether one entry of an `attestations.json` carries a bundle of this reviewer about just this claim. Needs no network. It says nothing about
 * the dates: an attestation that has expired still holds as a signature.
 *
 * @throws {ToolHostError} `bad_option`: the entry or the trust root is malformed. `unsupported`: in a browser.
 */
export async function verifySigstoreAttestation(entry: Json, reviewer: SigstoreReviewer): Promise<SignatureFact> {
  demandNodeCrypto();
  const { attestations, malformed } = await readAttestations([entry]);
  const [attestation] = attestations;
  if (attestation === undefined) throw new ToolHostError("bad_option", `${malformed[0]?.message}`);
  const { issuer, identity, trustRoot } = reviewer;
  return verifySignature(attestation, { kind: "sigstore", issuer, identity }, await rootOf(trustRoot));
}

async function rootOf(json: Json | undefined): Promise<TrustRoot> {
  if (json === undefined) return embeddedTrustRoot();
  const read = await readTrustRoot(json);
  if (!read.ok) throw new ToolHostError("bad_option", read.message);
  return read.trustRoot;
}
