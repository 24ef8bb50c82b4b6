// Makes the bundles that the tests in workerd verify: `node src/dev/sigstore/fixture.ts`. The authority's makers run in Node alone.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { AttestationClaim } from "../../core/attestation/attestation.ts";
import { statementOf } from "../../core/attestation/sigstore/statement.ts";
import { createTestAuthority } from "./test-authority.ts";

const OUTPUT = fileURLToPath(new URL("../../core/attestation/sigstore/fixture/bundles.json", import.meta.url));
const signer = {
  issuer: "https://token.actions.example",
  identity: "https://code.example/ada/reviews/.github/workflows/review.yml@refs/heads/main",
};
const claim = {
  origin: "https://publisher.example/base",
  skill: "sum",
  toolSha256: "a".repeat(64),
  signedOn: "2026-07-01",
  validUntil: "2027-06-30",
} as AttestationClaim;
const statement = statementOf(claim);

const authority = await createTestAuthority();
const stranger = await createTestAuthority();
const fixture = {
  claim,
  signer,
  trustRoot: authority.trustRoot,
  strangersTrustRoot: stranger.trustRoot,
  bundles: {
    good: await authority.sign(statement, signer),
    late: await authority.sign(statement, { ...signer, loggedAfterMs: 3_600_000 }),
    otherStatement: await authority.sign({ ...statement, predicateType: "https://slsa.dev/provenance/v1" }, signer),
    twoSubjects: await authority.sign(
      { ...statement, subject: [...(statement.subject as []), { name: "x", digest: { sha256: "b".repeat(64) } }] },
      signer,
    ),
    halfSigned: await authority.sign({ ...statement, predicate: { origin: claim.origin } }, signer),
  },
};
writeFileSync(OUTPUT, `${JSON.stringify(fixture, null, 2)}\n`);
