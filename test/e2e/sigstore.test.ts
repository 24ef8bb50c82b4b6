import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AttestationClaim, attestationEntry } from "../../src/core/attestation/attestation.ts";
import { addDays, calendarDateOf } from "../../src/core/attestation/calendar-date.ts";
import { statementOf } from "../../src/core/attestation/sigstore/statement.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { createTestAuthority, type TestAuthority, type TestSigner } from "../../src/dev/sigstore/test-authority.ts";
import { skill, startTestPublisher, type TestPublisher } from "./test-publisher.ts";
import { startTwoGateways, type TwoGateways } from "./two-gateways.ts";

const ADA: TestSigner = { issuer: "https://token.actions.example", identity: "https://code.example/ada/reviews" };
const TODAY = calendarDateOf(Date.now());

/** How each skill's bundle differs from a good one. */
const FLAWS = {
  good: {},
  other_identity: { signer: { identity: "https://code.example/eve/reviews" } },
  other_issuer: { signer: { issuer: "https://accounts.example" } },
  expired_certificate: { signer: { loggedAfterMs: 3_600_000 } },
  other_claim: { signed: { validUntil: addDays(TODAY, 1) } },
  other_subject: { signed: { toolSha256: "b".repeat(64) as Sha256Hex } },
  bad_bundle: { change: ({ dsseEnvelope: _, ...cut }: JsonObject) => cut },
  other_log_entry: { change: (bundle: JsonObject) => ({ ...bundle, dsseEnvelope: tampered(bundle.dsseEnvelope) }) },
  bundle_too_large: { change: (bundle: JsonObject) => ({ ...bundle, padding: "x".repeat(65_536) }) },
} satisfies Record<string, Flaw>;

interface Flaw {
  readonly signer?: Partial<TestSigner>;
  readonly signed?: Partial<AttestationClaim>;
  readonly change?: (bundle: JsonObject) => JsonObject;
}

function tampered(envelope: unknown): JsonObject {
  const { payload, ...rest } = envelope as { payload: string };
  return { ...rest, payload: btoa(`${atob(payload)} `) };
}

let gateways: TwoGateways;
let publisher: TestPublisher;
let authority: TestAuthority;
let entries: readonly JsonObject[];

beforeAll(async () => {
  const skills = Object.keys(FLAWS).map((name) => skill(name, "return 42", { recipe: `How to use ${name}.` }));
  [authority, gateways, publisher] = await Promise.all([
    createTestAuthority(),
    startTwoGateways({ ATTESTATION_MODE: "enforcing" }),
    startTestPublisher({ skills }),
  ]);
  entries = await Promise.all(skills.map(({ name, tool }) => attest(name, tool, FLAWS[name as keyof typeof FLAWS])));
  publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify(entries));
  await gateways.administer("PUT", "/trust-root", authority.trustRoot);
  const { issuer, identity } = ADA;
  const key = { kind: "sigstore", issuer, identity };
  await gateways.administer("POST", "/reviewers", {
    ...{ attester: `sigstore:${identity}`, key },
    // The bundles are older than this request.
    registeredAt: Date.parse(`${TODAY}T00:00:00Z`),
  });
  const [admin] = gateways.admins;
  const id = await admin.ensureOrigin(publisher.origin);
  await admin.probe(id);
  await admin.activate(id);
}, 180_000);

afterAll(async () => {
  await gateways?.stop();
  await publisher?.stop();
});

/** An entry of attestations.json about a skill of ours, signed at a test authority that the gateway trusts. */
async function attest(name: string, tool: string, { signer, signed, change = (bundle) => bundle }: Flaw) {
  const claim: AttestationClaim = {
    origin: publisher.origin as CanonicalOrigin,
    skill: name,
    toolSha256: createHash("sha256").update(tool).digest("hex") as Sha256Hex,
    signedOn: TODAY,
    validUntil: addDays(TODAY, 30),
  };
  const bundle = change(await authority.sign(statementOf({ ...claim, ...signed }), { ...ADA, ...signer }));
  const attester = `sigstore:${ADA.identity}`;
  return attestationEntry({ ...claim, attester, note: null, proof: { kind: "sigstore", bundle } });
}

describe("in mode enforcing, of bundles that the publisher ships", () => {
  it("only the good one's skill is listed, called and explained", async () => {
    const [caller] = gateways.callers;
    const list = await caller.send(publisher.origin, "tools/list");
    expect(list.body?.result?.tools?.map(({ name }) => name)).toEqual(["good", "get_skill_guide"]);
    // A bundle that is too large is no attestation; one that can be read and fails is a forgery.
    const invalid = Object.keys(FLAWS).length - 2;
    expect(list.headers["x-gw-attestations"]).toBe(`attested=1,expired=0,invalid=${invalid},unattested=1`);
    expect(await caller.value(publisher.origin, "good")).toBe(42);
    const recipes = await caller.send(publisher.origin, "resources/list");
    expect(recipes.body?.result?.resources?.map(({ uri }) => uri)).toEqual(["skill://good"]);
    expect((await caller.call(publisher.origin, "get_skill_guide", { name: "good" })).isError).toBe(false);
    expect((await caller.call(publisher.origin, "get_skill_guide", { name: "other_claim" })).isError).toBe(true);
  });

  it("the others are not there, for a call neither", async () => {
    for (const name of Object.keys(FLAWS).filter((each) => each !== "good")) {
      const { body } = await gateways.callers[1].send(publisher.origin, "tools/call", { name, arguments: {} });
      expect([name, body?.error?.code]).toEqual([name, -32_602]);
    }
  });
});

it("of bundles that an operator stores, each flawed one is refused with its own code", async () => {
  const { results } = (await gateways.administer("POST", "/attestations", entries)) as {
    readonly results: readonly { readonly status: string; readonly code?: string; readonly verdict?: string }[];
  };
  expect(results.map(({ code, verdict }) => code ?? verdict)).toEqual([
    "attested",
    ...Object.keys(FLAWS).filter((name) => name !== "good"),
  ]);
});
