import { beforeEach, describe, expect, it } from "vitest";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import type { Verdict } from "../../core/attestation/verdict.ts";
import { noteVerdicts } from "../trust/verdict-history.ts";
import { call, found, freshDatabase, publishers, register, registry } from "./fixture.ts";
import { ADA, HASH, type Key, newKey, ORIGIN, reviewer, signed, store } from "./reviewing-fixture.ts";

let key: Key;

beforeEach(async () => {
  await freshDatabase();
  key = await newKey();
});

describe("a probe", () => {
  it("tells each skill's verdict, by the publisher's attestations and the gateway's own, and why", async () => {
    const origin = await register(ORIGIN);
    const reviewerId = await reviewer(key);
    const { attestations } = await readAttestations([await signed(key), entryOf({ skill: "other" })]);
    const probed = found(["sum", "a"], ["other", "a"], ["third", "b"]);
    publishers.set(ORIGIN, probed.ok ? { ...probed, attestations } : probed);
    const probe = async () => (await call("POST", `/origins/${origin}/probe`)).body.skills;
    const [sum, other, third] = await probe();
    expect(sum).toMatchObject({ verdict: "attested", because: [{ reviewerId, standing: "attested", failure: null }] });
    const { attester, signedOn, validUntil } = attestations[0] ?? {};
    expect(sum.because[0]).toMatchObject({ attester, signedOn, validUntil, storedAt: null });
    expect(other).toMatchObject({ verdict: "invalid", because: [{ failure: { code: "wrong_signature" } }] });
    expect(third).toMatchObject({ verdict: "unattested", because: [] });
    await call("POST", "/revocations", {
      kind: "attestation",
      subject: other.because[0].attestationId,
      reason: "Forged.",
    });
    await store(await signed(key, "other"));
    expect((await probe())[1]).toMatchObject({ verdict: "attested", because: [{}, { standing: "attested" }] });
  });

  it("lists the attestations that speak of no version found, the publisher's and the gateway's own", async () => {
    const origin = await register(ORIGIN);
    const entries = [
      entryOf({ skill: "sum" }),
      entryOf({ skill: "gone" }),
      entryOf({ origin: "https://elsewhere.example" }),
      entryOf({ tool_sha256: "e".repeat(64) }),
    ];
    const { attestations } = await readAttestations(entries);
    const probed = found(["sum", "a"]);
    publishers.set(ORIGIN, probed.ok ? { ...probed, attestations } : probed);
    const [{ id }] = await store(await signed(key, "typo"));
    const { strayAttestations, skills, attestations: count } = (await call("POST", `/origins/${origin}/probe`)).body;
    expect([count, skills[0].because.length]).toEqual([4, 1]);
    expect(
      strayAttestations.map(({ origin, skill, toolSha256 }: (typeof attestations)[number]) =>
        [origin, skill, toolSha256[0]].join(" "),
      ),
    ).toEqual([`${ORIGIN} gone a`, "https://elsewhere.example sum a", `${ORIGIN} sum e`, `${ORIGIN} typo a`]);
    expect(strayAttestations[3]).toMatchObject({ attestationId: id, storedAt: expect.any(Number), attester: ADA });
  });
});

it("the history of verdicts is listed, newest first, in pages", async () => {
  const id = await register(ORIGIN);
  const judged = (verdict: Verdict) => [
    { scope: null, name: "sum", toolSha256: HASH, verdict },
    { scope: "x", name: "sum", toolSha256: HASH, verdict: "unattested" as const },
  ];
  await noteVerdicts(registry, id, judged("attested"), 1_000);
  await noteVerdicts(registry, id, judged("expired"), 2_000);
  const first = (await call("GET", `/origins/${id}/verdicts?limit=2`)).body;
  expect(first.items).toEqual([
    { scope: null, name: "sum", toolSha256: HASH, verdict: "expired", at: 2_000 },
    { scope: "x", name: "sum", toolSha256: HASH, verdict: "unattested", at: 1_000 },
  ]);
  const rest = (await call("GET", `/origins/${id}/verdicts?cursor=${first.nextCursor}`)).body;
  expect(rest).toMatchObject({ items: [{ verdict: "attested", at: 1_000 }], nextCursor: null });
});
