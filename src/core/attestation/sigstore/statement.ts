import { decodeUtf8, IntegrityError } from "../../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { type AttestationClaim, attestationClaimFields } from "../attestation.ts";
import { type FailedSignature, failed } from "../facts.ts";

export const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** The type under which Skill Attestations are signed, whoever made the tool that signs them. */
const PREDICATE_TYPE = "https://github.com/MauricioPerera/mcpwasm/attestation/v1";

/** What a reviewer has signed by Sigstore: an in-toto statement about the tool, its predicate the claim (Skill Attestations v0.4 §2.4). */
export function statementOf(claim: AttestationClaim): JsonObject {
  return {
    _type: STATEMENT_TYPE,
    subject: [{ name: `${claim.skill}@${claim.origin}`, digest: { sha256: claim.toolSha256 } }],
    predicateType: PREDICATE_TYPE,
    predicate: attestationClaimFields(claim),
  };
}

/**
 * Why a signed payload does not state this very claim, or `null` where it does. Without this a bundle could be put under another entry. Each value is
 * compared as text, so the statement's origin must be canonical.
 */
export function checkStatement(payload: Uint8Array, claim: AttestationClaim): FailedSignature | null {
  const statement = readStatement(payload);
  if (statement === null) return failed("bad_statement", "The bundle's payload is not a JSON object in UTF-8.");
  if (statement._type !== STATEMENT_TYPE || statement.predicateType !== PREDICATE_TYPE) {
    const message = `The payload must be of the types ${STATEMENT_TYPE} and ${PREDICATE_TYPE}.`;
    return failed("bad_statement", message);
  }
  const { subject, predicate } = statement;
  const [first, ...others] = Array.isArray(subject) ? (subject as Json[]) : [];
  const digest = isJsonObject(first) && isJsonObject(first.digest) ? first.digest.sha256 : undefined;
  if (digest !== claim.toolSha256 || others.length > 0) {
    return failed("other_subject", "The statement's one `subject` must have the `digest.sha256` of the tool.");
  }
  for (const [field, value] of Object.entries(attestationClaimFields(claim))) {
    if (isJsonObject(predicate) && predicate[field] === value) continue;
    return failed("other_claim", `The statement's predicate and the attestation differ in \`${field}\`.`);
  }
  return null;
}

function readStatement(payload: Uint8Array): JsonObject | null {
  try {
    const statement: unknown = JSON.parse(decodeUtf8(payload));
    return isJsonObject(statement) ? (statement as JsonObject) : null;
  } catch (error) {
    if (error instanceof IntegrityError || error instanceof SyntaxError) return null;
    throw error;
  }
}
