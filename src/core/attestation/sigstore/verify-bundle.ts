import type { JsonObject } from "../../json.ts";
import type { AttestationClaim } from "../attestation.ts";
import { type FailedSignature, failed, type SignatureCode, type SignatureFact } from "../facts.ts";
import type { ReviewerKey } from "../reviewer.ts";
import type { TrustRoot } from "../trust-root.ts";
import {
  bundleFromJSON,
  isBundleWithDsseEnvelope,
  toSignedEntity,
  VerificationError,
  Verifier,
} from "./generated/library.mjs";
import { checkStatement, PAYLOAD_TYPE } from "./statement.ts";
import { trustMaterialOf } from "./trust-material.ts";

type SigstoreKey = Extract<ReviewerKey, { kind: "sigstore" }>;
type Entity = ReturnType<typeof toSignedEntity>;

/** Log entries, and time stamps, of one bundle; a real one has a single one of each. Each costs signatures to check. */
const MAX_WITNESSES = 4;

/**
 * Verifies a bundle without any network: the certificate chains to the trust root and was valid when a log or a
 * time-stamping authority of the trust root saw the signature; the log has it; the signature is that of the certificate;
 * the certificate is that of the reviewer; and what was signed is this claim. Only then does the fact hold.
 *
 * @param json the publisher's words, of bounded size.
 */
export function verifyBundle(
  claim: AttestationClaim,
  json: JsonObject,
  key: SigstoreKey,
  trustRoot: TrustRoot,
): SignatureFact {
  const material = trustMaterialOf(trustRoot);
  if (material === null) return failed("bad_trust_root", "The trust root cannot be read.");
  const parsed = parseBundle(json);
  if (parsed === null) {
    return failed(
      "bad_bundle",
      "The bundle is not a whole Sigstore bundle with a DSSE envelope of an in-toto statement.",
    );
  }
  const { entity, payload, isOutsideValidity, witnessedAt } = parsed;
  let signer: ReturnType<Verifier["verify"]>;
  try {
    signer = new Verifier(material).verify(entity);
  } catch (error) {
    return verificationFailure(error, isOutsideValidity);
  }
  return checkIdentity(signer, key) ?? checkStatement(payload, claim) ?? { holds: true, witnessedAt };
}

interface ParsedBundle {
  readonly entity: Entity;
  readonly payload: Uint8Array;
  /** True where the signature was seen before or after the time of the certificate. */
  readonly isOutsideValidity: boolean;
  /** Epoch milliseconds; as trustworthy as the entity, whose verification looks at the same moments. */
  readonly witnessedAt: number;
}

function parseBundle(json: JsonObject): ParsedBundle | null {
  try {
    const bundle = bundleFromJSON(json);
    if (!isBundleWithDsseEnvelope(bundle)) return null;
    const { payload, payloadType } = bundle.content.dsseEnvelope;
    const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial;
    const stamps = timestampVerificationData?.rfc3161Timestamps ?? [];
    if (payloadType !== PAYLOAD_TYPE || Math.max(tlogEntries.length, stamps.length) > MAX_WITNESSES) return null;
    const entity = toSignedEntity(bundle);
    const witnessedAt = Math.min(...entity.timestamps.flatMap(witnessedMoment));
    return { entity, payload, isOutsideValidity: isSeenOutsideValidity(entity), witnessedAt };
  } catch {
    // The library's parsers throw errors of many kinds at what they cannot parse.
    return null;
  }
}

/** A log vouches for its time by its promise alone: one without is no time at all. */
function witnessedMoment(stamp: Entity["timestamps"][number]): readonly number[] {
  if (stamp.$case === "timestamp-authority") return [stamp.timestamp.signingTime.getTime()];
  const { inclusionPromise, integratedTime } = stamp.tlogEntry;
  return inclusionPromise ? [Number(integratedTime) * 1000] : [];
}

function isSeenOutsideValidity({ key, timestamps }: Entity): boolean {
  if (key.$case !== "certificate") return false;
  return timestamps.flatMap(witnessedMoment).some((at) => !key.certificate.validForDate(new Date(at)));
}

const CODES: Readonly<Record<VerificationError["code"], SignatureCode>> = {
  NOT_IMPLEMENTED_ERROR: "bad_bundle",
  CERTIFICATE_ERROR: "untrusted_certificate",
  PUBLIC_KEY_ERROR: "untrusted_certificate",
  TIMESTAMP_ERROR: "untrusted_timestamp",
  TLOG_ERROR: "untrusted_log",
  TLOG_INCLUSION_PROOF_ERROR: "untrusted_log",
  TLOG_INCLUSION_PROMISE_ERROR: "untrusted_log",
  TLOG_MISSING_INCLUSION_ERROR: "untrusted_log",
  TLOG_BODY_ERROR: "other_log_entry",
  SIGNATURE_ERROR: "wrong_signature",
};

const SENTENCES: Partial<Record<SignatureCode, string>> = {
  bad_bundle: "The bundle has a part that cannot be read.",
  untrusted_certificate: "The certificate is not one of the trust root's authorities, or no certificate log has it.",
  untrusted_timestamp: "No time stamp of the bundle is by an authority of the trust root.",
  untrusted_log: "No log of the trust root proves that it has the signature.",
  other_log_entry: "The log's entry is about another payload or signature.",
  wrong_signature: "The signature is not that of the certificate over this payload.",
};

function verificationFailure(error: unknown, isOutsideValidity: boolean): SignatureFact {
  const code = error instanceof VerificationError ? CODES[error.code] : "bad_bundle";
  if (code === "untrusted_certificate" && isOutsideValidity) {
    return failed("expired_certificate", "The signature was made when the certificate was not valid.");
  }
  return failed(code, SENTENCES[code] ?? "The bundle cannot be verified.");
}

/** Compared here and exactly: the library would read the identity as a regular expression. */
function checkIdentity({ identity }: ReturnType<Verifier["verify"]>, key: SigstoreKey): FailedSignature | null {
  if (identity?.extensions?.issuer !== key.issuer) {
    return failed("other_issuer", "The certificate's OpenID Connect issuer is not the registered one.");
  }
  if (identity.subjectAlternativeName !== key.identity) {
    return failed("other_identity", "The certificate's identity is not the registered one.");
  }
  return null;
}
