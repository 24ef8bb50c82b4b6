import type { JsonObject } from "../json.ts";

/** The certificate authorities, logs and time-stamping authorities that make a Sigstore bundle count. Plain data. */
export interface TrustRoot {
  /** SHA-256 of the canonical JSON, in lower-case hexadecimal digits. */
  readonly id: string;
  /** `application/vnd.dev.sigstore.trustedroot+json`. */
  readonly json: JsonObject;
}
