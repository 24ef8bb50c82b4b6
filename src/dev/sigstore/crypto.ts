import crypto from "node:crypto";

/**
 * `crypto` as `@sigstore/core` uses it. It verifies without naming a digest, where Node picks the key's own one; workerd
 * fails instead (`Failed to initialize verification context`), so the digest is named here.
 */
export default {
  createHash: crypto.createHash,
  createPublicKey: crypto.createPublicKey,
  timingSafeEqual: crypto.timingSafeEqual,
  verify(
    algorithm: string | null | undefined,
    signed: NodeJS.ArrayBufferView,
    key: crypto.KeyObject,
    signature: NodeJS.ArrayBufferView,
  ): boolean {
    return crypto.verify(algorithm ?? digestOf(key), signed, key, signature);
  },
};

function digestOf({ asymmetricKeyType, asymmetricKeyDetails }: crypto.KeyObject): string | null {
  if (asymmetricKeyType === "ed25519") return null;
  return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === "secp384r1" ? "sha384" : "sha256";
}
