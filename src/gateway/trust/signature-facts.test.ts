import { expect, it } from "vitest";
import type { SignatureFact } from "../../core/attestation/facts.ts";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import { embeddedTrustRoot } from "../../core/attestation/trust-root.ts";
import type { SignatureQuestion } from "../../core/attestation/verdict.ts";
import { answerQuestions, forgetEstablishedFacts } from "./signature-facts.ts";

async function questions(kinds: readonly ("ed25519" | "sigstore")[]): Promise<SignatureQuestion[]> {
  const { attestations } = await readAttestations([entryOf()]);
  return kinds.flatMap((kind, i) =>
    attestations.map((attestation) => ({
      factKey: `${kind} ${i}`,
      attestation,
      key:
        kind === "ed25519"
          ? { kind, publicKey: "" }
          : { kind, issuer: "https://issuer.example", identity: "ada@issuer.example" },
    })),
  );
}

const known = (...keys: string[]) =>
  new Map<string, SignatureFact>(keys.map((key) => [key, { holds: true, witnessedAt: null }]));
const answered = async (asked: readonly SignatureQuestion[], budget: number, before = known()) => {
  const { facts, isPartial } = await answerQuestions(asked, before, embeddedTrustRoot(), budget);
  return [[...facts.keys()], isPartial];
};

it("[budget:facts] verifies what its budget covers, and the next one goes on", async () => {
  forgetEstablishedFacts();
  const asked = await questions(["ed25519", "ed25519", "ed25519"]);
  expect(await answered(asked, 2)).toEqual([["ed25519 0", "ed25519 1"], true]);
  expect(await answered(asked, 2)).toEqual([["ed25519 0", "ed25519 1", "ed25519 2"], false]);
});

it("[budget:facts] counts a bundle as 50 signatures, and goes on to cheaper questions after one that it cannot afford", async () => {
  forgetEstablishedFacts();
  const asked = await questions(["sigstore", "sigstore", "ed25519"]);
  expect(await answered(asked, 99)).toEqual([["sigstore 0", "ed25519 2"], true]);
  forgetEstablishedFacts();
  expect(await answered(asked, 101)).toEqual([["sigstore 0", "sigstore 1", "ed25519 2"], false]);
});

it("asks for nothing that is known", async () => {
  forgetEstablishedFacts();
  const asked = await questions(["sigstore", "ed25519"]);
  expect(await answered(asked, 0, known("sigstore 0", "ed25519 1"))).toEqual([["sigstore 0", "ed25519 1"], false]);
});
