import type { JsonObject } from "../../json.ts";
import type { AttestationClaim } from "../attestation.ts";
import { failed, type SignatureFact } from "../facts.ts";
import type { ReviewerKey } from "../reviewer.ts";
import type { TrustRoot } from "../trust-root.ts";

export async function verifyBundle(
  _claim: AttestationClaim,
  _bundle: JsonObject,
  _key: Extract<ReviewerKey, { kind: "sigstore" }>,
  _trustRoot: TrustRoot,
): Promise<SignatureFact> {
  return failed("bad_bundle", "Bundles are not judged yet.");
}
