import type { JsonObject } from "../../json.ts";
import type { TrustRoot } from "../trust-root.ts";
import { TrustedRoot, type TrustMaterial, toTrustMaterial } from "./generated/library.mjs";

/** Parsed once: keys are imported and certificates read. Facts are asked for by the hundred under one root. */
const parsed = new WeakMap<JsonObject, TrustMaterial | null>();

/** What a trust root holds, or `null` where it cannot be read or has no authority or no log to trust. */
export function trustMaterialOf({ json }: Pick<TrustRoot, "json">): TrustMaterial | null {
  let material = parsed.get(json);
  if (material === undefined) {
    material = parse(json);
    parsed.set(json, material);
  }
  return material;
}

function parse(json: JsonObject): TrustMaterial | null {
  try {
    const material = toTrustMaterial(TrustedRoot.fromJSON(json));
    const { certificateAuthorities, ctlogs, tlogs } = material;
    return certificateAuthorities.length > 0 && ctlogs.length > 0 && tlogs.length > 0 ? material : null;
  } catch {
    // The library's parsers throw errors of many kinds at what they cannot parse.
    return null;
  }
}
