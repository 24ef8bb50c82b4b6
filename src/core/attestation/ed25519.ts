import { type AttestationClaim, attestationPayload } from "./attestation.ts";
import { decodeBase64 } from "./base64.ts";
import { failed, type SignatureFact } from "./facts.ts";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Keys of small order, without the sign bit: under them anybody can sign anything (RFC 8032 §5.1.7 does not exclude them). */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** The 32 bytes of a reviewer's public key, or a sentence that says why it is none. */
export function readPublicKey(publicKey: string): Uint8Array<ArrayBuffer> | string {
  const raw = decodeBase64(publicKey);
  if (raw === null) return "The public key is not standard base64 with its padding.";
  if (raw.length !== KEY_BYTES) return `The public key has ${raw.length} bytes; an Ed25519 key has ${KEY_BYTES}.`;
  const hex = Array.from(raw, (byte, index) => (index === KEY_BYTES - 1 ? byte & 0x7f : byte))
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  if (SMALL_ORDER.has(hex)) return "The public key has a small order: anybody could sign under it.";
  return raw;
}

/** Skill Attestations v0.4 §2.1: Ed25519 over the payload, the signature in standard base64. */
export async function verifyEd25519(
  claim: AttestationClaim,
  signature: string,
  publicKey: string,
): Promise<SignatureFact> {
  const rawKey = readPublicKey(publicKey);
  if (typeof rawKey === "string") return failed("bad_key", rawKey);
  const bytes = decodeBase64(signature);
  if (bytes === null) return failed("bad_base64", "The signature is not standard base64 with its padding.");
  if (bytes.length !== SIGNATURE_BYTES) {
    return failed("bad_length", `The signature has ${bytes.length} bytes; one by Ed25519 has ${SIGNATURE_BYTES}.`);
  }
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("raw", rawKey, "Ed25519", false, ["verify"]);
  } catch {
    return failed("bad_key", "The public key is not a point of the curve.");
  }
  const holds = await crypto.subtle.verify("Ed25519", key, bytes, attestationPayload(claim));
  return holds
    ? { holds, witnessedAt: null }
    : failed("wrong_signature", "The signature is not that of the key over these five values.");
}
