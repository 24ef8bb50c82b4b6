import { canonicalJson } from "../canonical-json.ts";
import { type Sha256Hex, sha256Hex } from "../integrity.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { isWithinDepth } from "../json-depth.ts";
import { EMBEDDED_TRUST_ROOT, EMBEDDED_TRUST_ROOT_ID } from "./sigstore/trusted-root.ts";

/** The certificate authorities, logs and time-stamping authorities that make a Sigstore bundle count. Plain data. */
export interface TrustRoot {
  /** SHA-256 of the canonical JSON, in lower-case hexadecimal digits. */
  readonly id: Sha256Hex;
  /** `application/vnd.dev.sigstore.trustedroot+json`. */
  readonly json: JsonObject;
}

export type TrustRootCode = "bad_type" | "too_deep" | "too_large" | "bad_trust_root";

/** Characters of a trust root's JSON; that of the public instance has 6,000. */
export const MAX_TRUST_ROOT_LENGTH = 262_144;
const MAX_DEPTH = 16;

let embedded: TrustRoot | undefined;

/** The root of the public Sigstore instance, which this version was built with. */
export function embeddedTrustRoot(): TrustRoot {
  embedded ??= { id: EMBEDDED_TRUST_ROOT_ID as Sha256Hex, json: JSON.parse(EMBEDDED_TRUST_ROOT) as JsonObject };
  return embedded;
}

/** Reads what an operator gives as a `trusted_root.json`; it needs a certificate authority, a certificate log and a log. */
export async function readTrustRoot(
  json: Json,
): Promise<
  | { readonly ok: true; readonly trustRoot: TrustRoot }
  | { readonly ok: false; readonly code: TrustRootCode; readonly message: string }
> {
  const refused = (code: TrustRootCode, message: string) => ({ ok: false, code, message }) as const;
  if (!isJsonObject(json)) return refused("bad_type", "The trust root must be a JSON object.");
  if (!isWithinDepth(json, MAX_DEPTH)) {
    return refused("too_deep", `The trust root is nested more than ${MAX_DEPTH} deep.`);
  }
  const text = canonicalJson(json);
  if (text.length > MAX_TRUST_ROOT_LENGTH) {
    return refused("too_large", `The trust root is longer than ${MAX_TRUST_ROOT_LENGTH} characters of JSON.`);
  }
  const { trustMaterialOf } = await import("./sigstore/trust-material.ts");
  if (trustMaterialOf({ json }) === null) {
    return refused(
      "bad_trust_root",
      "The trust root is not a Sigstore trusted_root.json with `certificateAuthorities`, `ctlogs` and `tlogs`.",
    );
  }
  return { ok: true, trustRoot: { id: await sha256Hex(new TextEncoder().encode(text)), json } };
}
