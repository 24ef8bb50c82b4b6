// The entry of the bundle that `npm run build:sigstore` makes. Import the bundle, `generated/library.mjs`, never this file.
export { bundleFromJSON, isBundleWithDsseEnvelope, ValidationError } from "@sigstore/bundle";
export { TrustedRoot } from "@sigstore/protobuf-specs";
export { type TrustMaterial, toSignedEntity, toTrustMaterial, VerificationError, Verifier } from "@sigstore/verify";
