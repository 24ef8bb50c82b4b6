import { expect, it } from "vitest";
import { attestationEntry } from "../../core/attestation/attestation.ts";
import { addDays, calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { statementOf } from "../../core/attestation/sigstore/statement.ts";
import { readTrustRoot } from "../../core/attestation/trust-root.ts";
import { adder, Publisher, sha256Of } from "../../core/discovery/fixture/publisher.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import { Runtime } from "../../core/runtime/runtime.ts";
import { createTestAuthority } from "../../dev/sigstore/test-authority.ts";
import { createNodeSandboxLater } from "../node-sandbox.ts";
import { readReviewer } from "../reviewer-options.ts";

it("serves what an identity of Sigstore attests that --require-attestation names, and nothing else", async () => {
  const [issuer, identity] = ["https://token.actions.example", "https://code.example/ada/reviews"];
  const authority = await createTestAuthority();
  const read = await readTrustRoot(authority.trustRoot);
  if (!read.ok) throw new Error(read.message);
  const site = new Publisher();
  for (const name of ["sum", "other"]) await site.skill({ name });
  const today = calendarDateOf(Date.now());
  const claim = {
    ...{ origin: site.origin, skill: "sum", signedOn: today, validUntil: addDays(today, 30) },
    toolSha256: (await sha256Of(adder("sum"))) as Sha256Hex,
  };
  const bundle = await authority.sign(statementOf(claim), { issuer, identity });
  const signed = {
    ...claim,
    attester: `sigstore:${identity}`,
    note: null,
    proof: { kind: "sigstore", bundle },
  } as const;
  site.put("/.well-known/agent-skills/attestations.json", JSON.stringify([attestationEntry(signed)]));
  const served = async (who: string) => {
    const attestations = { reviewers: [readReviewer(who)], trustRoot: read.trustRoot };
    const origins = [{ origin: site.origin, fetch: site.fetch }];
    const runtime = await Runtime.create({ origins, sandbox: createNodeSandboxLater(), attestations });
    await runtime.start();
    return runtime.catalogs.flatMap(({ skills }) => skills.map(({ skill }) => skill.name));
  };
  expect(await served(`${issuer}|${identity}`)).toEqual(["sum"]);
  expect(await served(`${issuer}|https://code.example/eve/reviews`)).toEqual([]);
});
