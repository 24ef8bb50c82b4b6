import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { attestationPayload } from "./attestation.ts";
import { encodeBase64 } from "./base64.ts";
import { verifyEd25519 } from "./ed25519.ts";
import { verifySignature } from "./facts.ts";
import { CLAIM, createReviewer, day } from "./fixture/reviewing.ts";
import { readAttestations } from "./read.ts";
import { embeddedTrustRoot } from "./trust-root.ts";

/** RFC 8032 §7.1, test 1: a key whose private half everybody knows. */
const PUBLIC_KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

async function signed() {
  const { reviewer, sign } = await createReviewer();
  const { proof } = await sign();
  if (proof.kind !== "ed25519" || reviewer.key.kind !== "ed25519") throw new Error("not a signature");
  return { signature: proof.signature, publicKey: reviewer.key.publicKey };
}

const verify = async (claim: Partial<typeof CLAIM>, signature: string, publicKey: string) => {
  const fact = await verifyEd25519({ ...CLAIM, ...claim }, signature, publicKey);
  return fact.holds ? "holds" : fact.code;
};

it("signs five values joined by line feeds, none at the end", () => {
  const text = `https://publisher.example\nsum\n${"a".repeat(64)}\n2026-07-01\n2027-06-30`;
  expect(new TextDecoder().decode(attestationPayload(CLAIM))).toBe(text);
});

describe("a signature", () => {
  it("holds over the very claim and no other", async () => {
    const { signature, publicKey } = await signed();
    expect(await verify({}, signature, publicKey)).toBe("holds");
    expect(await verify({ skill: "product" }, signature, publicKey)).toBe("wrong_signature");
    expect(await verify({ validUntil: day("2099-01-01") }, signature, publicKey)).toBe("wrong_signature");
    expect(await verify({}, signature, PUBLIC_KEY)).toBe("wrong_signature");
  });

  it.each<[string, (signature: string) => string, string]>([
    ["that is no base64", () => "not base64!", "bad_base64"],
    ["in base64url", (s) => s.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""), "bad_base64"],
    ["without its padding", (s) => s.replaceAll("=", ""), "bad_base64"],
    ["with white space", (s) => `${s.slice(0, 10)} ${s.slice(10)}`, "bad_base64"],
    ["with loose bits at its end", (s) => `${s.slice(0, 85)}${s[85] === "B" ? "C" : "B"}==`, "bad_base64"],
    [
      "in hexadecimal",
      (s) => Array.from(atob(s), (c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join(""),
      "bad_length",
    ],
    ["of 63 bytes", (s) => btoa(atob(s).slice(1)), "bad_length"],
    ["of 65 bytes", (s) => btoa(`${atob(s)}x`), "bad_length"],
    ["of nothing", () => "", "bad_length"],
  ])("%s fails with its own code", async (_what, change, code) => {
    const { signature, publicKey } = await signed();
    expect(await verify({}, change(signature), publicKey)).toBe(code);
  });
});

describe("a public key", () => {
  it.each([
    ["that is short", btoa("short")],
    ["of 33 bytes", encodeBase64(new Uint8Array(33))],
    ["that is no base64", "%"],
    ["in base64url", PUBLIC_KEY.replace("/", "_")],
    ["of small order: zero", encodeBase64(new Uint8Array(32))],
    ["of small order: one, with its sign bit", encodeBase64(Uint8Array.from([1, ...new Array(30).fill(0), 0x80]))],
  ])("%s verifies nothing", async (_what, key) => {
    const { signature } = await signed();
    expect(await verify({}, signature, key)).toBe("bad_key");
  });

  it("of small order would let anybody sign: it is refused before it is asked", async () => {
    // With the neutral element as key and R, and 0 as S, the equation of RFC 8032 holds for every message.
    const one = [1, ...new Array(31).fill(0)];
    const signature = encodeBase64(Uint8Array.from([...one, ...new Array(32).fill(0)]));
    expect(await verify({}, signature, encodeBase64(Uint8Array.from(one)))).toBe("bad_key");
  });
});

it("a key cannot prove an attestation of another kind", async () => {
  const { sign } = await createReviewer();
  const key = { kind: "sigstore", issuer: "https://issuer.example", identity: "ada" } as const;
  expect(await verifySignature(await sign(), key, embeddedTrustRoot())).toMatchObject({ code: "other_kind" });
});

interface ReferenceVectors {
  readonly reviewers: Readonly<Record<string, { readonly public_key: string }>>;
  readonly attestations: readonly Json[];
}

/** Attestations that others published; they are not part of this repository. */
const vectors = Object.values(
  import.meta.glob<ReferenceVectors>("../../../../shared/data/attestations/reference.json", {
    import: "default",
    eager: true,
  }),
);

it.skipIf(vectors.length === 0)("all published attestations verify (skipped where ../shared has none)", async () => {
  for (const { reviewers, attestations: entries } of vectors) {
    const { attestations, malformed } = await readAttestations(entries);
    expect(malformed).toEqual([]);
    expect(attestations).toHaveLength(entries.length);
    for (const attestation of attestations) {
      const publicKey = reviewers[attestation.attester]?.public_key ?? "";
      const fact = await verifySignature(attestation, { kind: "ed25519", publicKey }, embeddedTrustRoot());
      expect(fact, attestation.skill).toEqual({ holds: true, witnessedAt: null });
    }
  }
});
