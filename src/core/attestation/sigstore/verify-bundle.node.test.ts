import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { bundleVerifier } from "../../../dev/sigstore/build.ts";
import { createTestAuthority } from "../../../dev/sigstore/test-authority.ts";
import { embedTrustedRoot } from "../../../dev/sigstore/trusted-root.ts";
import { attestationEntry } from "../attestation.ts";
import { verifySignature } from "../facts.ts";
import { CLAIM } from "../fixture/reviewing.ts";
import { readAttestations } from "../read.ts";
import { readTrustRoot } from "../trust-root.ts";
import { statementOf } from "./statement.ts";
import { sigstoreSuite } from "./suite.ts";

sigstoreSuite({ it, expect });

it("a bundle made a moment ago holds", async () => {
  const authority = await createTestAuthority();
  const signer = { issuer: "https://token.actions.example", identity: "https://code.example/ada" };
  const bundle = await authority.sign(statementOf(CLAIM), signer);
  const attester = `sigstore:${signer.identity}`;
  const entry = attestationEntry({ ...CLAIM, attester, note: null, proof: { kind: "sigstore", bundle } });
  const [attestation] = (await readAttestations([entry])).attestations;
  const read = await readTrustRoot(authority.trustRoot);
  if (attestation === undefined || !read.ok) throw new Error("The authority's own words are malformed.");
  expect(await verifySignature(attestation, { kind: "sigstore", ...signer }, read.trustRoot)).toMatchObject({
    holds: true,
  });
});

it("the embedded trust root is that of the pinned @sigstore/tuf", () => {
  expect(readFileSync(new URL("./trusted-root.ts", import.meta.url), "utf8")).toBe(embedTrustedRoot());
});

it("the built verifier is current, and asks its platform for nothing but cryptography and comparison", async () => {
  const text = readFileSync(new URL("./generated/library.mjs", import.meta.url), "utf8");
  expect(text).toBe(await bundleVerifier());
  expect([...text.matchAll(/from\s*"([^"]+)"/g)].map(([, name]) => name).sort()).toEqual(["node:crypto", "node:util"]);
});
