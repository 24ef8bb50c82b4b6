import { beforeEach, describe, expect, it } from "vitest";
import { attestationEntry } from "../../core/attestation/attestation.ts";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { addDays, calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { readAttestations } from "../../core/attestation/read.ts";
import { signAttestation } from "../../core/attestation/sign.ts";
import { embeddedTrustRoot } from "../../core/attestation/trust-root.ts";
import type { Verdict } from "../../core/attestation/verdict.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { attestationsOf, MAX_STORED_PER_ORIGIN } from "../registry/attestations.ts";
import { getOrigin } from "../registry/origins.ts";
import { readTrust } from "../registry/trust.ts";
import { trustVersion } from "../registry/trust-version.ts";
import { noteVerdicts } from "../trust/verdict-history.ts";
import { call, found, freshDatabase, publishers, register, registry, testEnv } from "./fixture.ts";

const ORIGIN = "https://publisher.example" as CanonicalOrigin;
const HASH = "a".repeat(64) as Sha256Hex;
const TODAY = calendarDateOf(Date.now());
const ADA = "human:ada";

async function newKey() {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const raw = (await crypto.subtle.exportKey("raw", pair.publicKey)) as ArrayBuffer;
  return { privateKey: pair.privateKey, publicKey: encodeBase64(new Uint8Array(raw)) };
}
type Key = Awaited<ReturnType<typeof newKey>>;

async function signed({ privateKey }: Key, skill = "sum", attester = ADA): Promise<JsonObject> {
  const claim = { origin: ORIGIN, skill, toolSha256: HASH, signedOn: TODAY, validUntil: addDays(TODAY, 90) };
  return attestationEntry(await signAttestation(claim, { attester, privateKey }, "Read it."));
}

async function reviewer({ publicKey }: Key, attester = ADA): Promise<string> {
  const { status, body } = await call("POST", "/reviewers", { attester, key: { kind: "ed25519", publicKey } });
  expect(status).toBe(201);
  return body.id;
}

const store = async (entries: unknown) => (await call("POST", "/attestations", entries)).body.results;
const standing = async (id: string) => (await call("GET", `/attestations/${id}`)).body.standing;
const lastAudit = async () => (await call("GET", "/audit?limit=1")).body.items[0];

let key: Key;

beforeEach(async () => {
  await freshDatabase();
  key = await newKey();
});

describe("reviewers", () => {
  it("are registered, read and listed, with an audit row and a new version of trust", async () => {
    const id = await reviewer(key);
    const { body } = await call("GET", `/reviewers/${id}`);
    expect(body).toEqual({
      id,
      attester: ADA,
      key: { kind: "ed25519", publicKey: key.publicKey },
      status: "active",
      registeredAt: expect.any(Number),
      ...{ retiredAt: null, revokedAt: null, reason: null, note: null },
    });
    expect((await call("GET", "/reviewers")).body.items).toEqual([body]);
    expect(await trustVersion(registry)).toBe(1);
    expect((await readTrust(registry)).trust.reviewers).toMatchObject([{ id, attester: ADA }]);
    expect(await lastAudit()).toMatchObject({ action: "reviewer.create", subject: id, detail: { attester: ADA } });
  });

  it("of Sigstore have an issuer and an identity, and may be registered again after a revocation", async () => {
    const wanted = {
      attester: "sigstore:https://ci.example/review.yml",
      key: { kind: "sigstore", issuer: "https://token.example", identity: "https://ci.example/review.yml" },
    };
    const { body } = await call("POST", "/reviewers", wanted);
    expect(body.key).toEqual(wanted.key);
    await call("POST", `/reviewers/${body.id}/revoke`, { reason: "The repository was taken over." });
    expect((await call("POST", "/reviewers", wanted)).status).toBe(201);
  });

  it("[code:already_exists] have one active key each, and no key is active twice", async () => {
    const id = await reviewer(key);
    const again = { attester: ADA, key: { kind: "ed25519", publicKey: (await newKey()).publicKey } };
    expect((await call("POST", "/reviewers", again)).body).toMatchObject({ status: 409, code: "already_exists", id });
    const other = { attester: "human:bob", key: { kind: "ed25519", publicKey: key.publicKey } };
    expect((await call("POST", "/reviewers", other)).body).toMatchObject({ code: "already_exists", id });
    expect((await call("POST", `/reviewers/${id}/retire`, { reason: "A new key." })).body.status).toBe("retired");
    expect((await call("POST", "/reviewers", again)).status).toBe(201);
  });

  it("[code:bad_state] never get a revoked key back, under whatever name", async () => {
    const id = await reviewer(key);
    const revoked = await call("POST", `/reviewers/${id}/revoke`, { reason: "Stolen." });
    expect(revoked.body).toMatchObject({ status: "revoked", reason: "Stolen.", revokedAt: expect.any(Number) });
    for (const attester of [ADA, "human:bob"]) {
      const wanted = { attester, key: { kind: "ed25519", publicKey: key.publicKey } };
      expect((await call("POST", "/reviewers", wanted)).body).toMatchObject({ code: "bad_state", id });
    }
    for (const step of ["retire", "revoke"]) {
      expect((await call("POST", `/reviewers/${id}/${step}`, { reason: "x" })).body.code).toBe("bad_state");
    }
  });

  it.each([
    [{}, "attester must be a string."],
    [{ attester: "ada" }, "attester must be type:name"],
    [{ attester: "human:ad\u00e4" }, "attester must be type:name"],
    [{ key: { kind: "rsa" } }, "key.kind must be {kind: ed25519"],
    [{ key: { kind: "ed25519", publicKey: 5 } }, "key.publicKey must be a string"],
    [
      { key: { kind: "ed25519", publicKey: "AAAA" } },
      "key.publicKey must be 32 bytes of base64: The public key has 3 bytes",
    ],
    [{ key: { kind: "ed25519", publicKey: `${"A".repeat(42)}_=` } }, "is not standard base64"],
    [{ key: { kind: "ed25519", publicKey: encodeBase64(new Uint8Array(32)) } }, "has a small order"],
    [{ key: { kind: "sigstore", issuer: "", identity: "x" } }, "key.issuer must be 1 to 1024 visible ASCII"],
    [{ key: { kind: "sigstore", issuer: "https://i.example", identity: "x" } }, "key must be of kind sigstore for"],
    [
      { attester: "sigstore:bob", key: { kind: "sigstore", issuer: "https://i.example", identity: "ada" } },
      "attester must be `sigstore:` and the key's identity",
    ],
    [{ registeredAt: -1 }, "registeredAt must be epoch milliseconds"],
    [{ registeredAt: Date.now() + 3_600_000 }, "registeredAt must not be in the future"],
  ])("[code:bad_request] are not registered with %j", async (fields, sentence) => {
    const good = { attester: ADA, key: { kind: "ed25519", publicKey: key.publicKey } };
    const { body } = await call(
      "POST",
      "/reviewers",
      "attester" in fields || Object.keys(fields).length > 0 ? { ...good, ...fields } : {},
    );
    expect(body).toMatchObject({ status: 400, code: "bad_request" });
    expect(body.detail).toContain(sentence);
    expect(await trustVersion(registry)).toBe(0);
  });
});

describe("storing attestations", () => {
  it("accepts one entry, judged by the trust in force, and moves the origin's policy version", async () => {
    const origin = await register(ORIGIN);
    await reviewer(key);
    const entry = await signed(key);
    const [result] = await store(entry);
    expect(result).toMatchObject({
      index: 0,
      status: "accepted",
      isNew: true,
      verdict: "attested",
      standing: "attested",
    });
    expect((await getOrigin(registry, origin)).policyVersion).toBe(2);
    const { body } = await call("GET", `/attestations/${result.id}`);
    expect(body).toMatchObject({
      origin: ORIGIN,
      skill: "sum",
      toolSha256: HASH,
      kind: "ed25519",
      entry,
      standing: "attested",
    });
    expect((await attestationsOf(registry, ORIGIN))[0]?.attestation).toMatchObject({ id: result.id, note: "Read it." });
    expect(await lastAudit()).toMatchObject({ action: "attestation.create", subject: ORIGIN });
    expect(JSON.stringify((await lastAudit()).detail)).not.toContain(entry.signature);
  });

  it("a second time changes nothing, in another list or in the same", async () => {
    const entry = await signed(key);
    const [first, second] = await store([entry, { ...entry, note: "Another note." }]);
    expect([first.isNew, second.isNew]).toEqual([true, false]);
    const before = (await call("GET", "/audit")).body.items.length;
    expect(await store([entry])).toMatchObject([{ status: "accepted", id: first.id, isNew: false }]);
    expect((await call("GET", "/audit")).body.items.length).toBe(before);
  });

  it("keeps what an unknown attester signed: it counts once the attester is registered", async () => {
    const [{ id, verdict, standing: before }] = await store(await signed(key));
    expect([verdict, before]).toEqual(["unattested", "unknown_attester"]);
    await reviewer(key);
    expect(await standing(id)).toBe("attested");
  });

  it("refuses a bad entry by its index and code, and stores the others", async () => {
    await reviewer(key);
    const good = await signed(key);
    const results = await store([
      null,
      good,
      { ...good, skill: "caf\u00e9" },
      { ...good, signed_on: "2026-02-30" },
      { ...good, signature: "not base64!" },
      { ...good, skill: "other" },
      { ...good, origin: "ftp://x" },
      { ...good, attester: 5 },
      entryOf({ attester: "sigstore:x", sigstore_bundle: { x: "y".repeat(70_000) } }),
      JSON.parse(`{"a":${"[".repeat(500)}${"]".repeat(500)}}`),
    ]);
    expect(results.map((result: { code?: string; index: number }) => [result.index, result.code])).toEqual([
      [0, "not_an_object"],
      [1, undefined],
      [2, "bad_skill"],
      [3, "bad_date"],
      [4, "bad_base64"],
      [5, "wrong_signature"],
      [6, "bad_origin"],
      [7, "bad_type"],
      [8, "bundle_too_large"],
      [9, "too_deep"],
    ]);
    for (const { message, status } of results) if (status === "refused") expect(message).toMatch(/\.$/);
    expect((await attestationsOf(registry, ORIGIN)).length).toBe(1);
  });

  it("[budget:entries] takes 10,000 entries and refuses more", async () => {
    expect((await store(Array.from({ length: 10_000 }, () => 1))).length).toBe(10_000);
    const more = await call(
      "POST",
      "/attestations",
      Array.from({ length: 10_001 }, () => 1),
    );
    expect(more.body).toMatchObject({ status: 400, code: "bad_request" });
  });

  it("[budget:stored attestations] [code:too_many_attestations] keeps 1,000 of an origin", async () => {
    const rows = Array.from({ length: MAX_STORED_PER_ORIGIN - 1 }, (_, i) => `${i}`);
    await testEnv.DB.prepare(
      "INSERT INTO attestations SELECT value, ?1, '', '', '', '', '9999-12-31', '{}', 1, '' FROM json_each(?2)",
    )
      .bind(ORIGIN, JSON.stringify(rows))
      .run();
    const two = [await signed(key), await signed(key, "other")];
    expect((await call("POST", "/attestations", two)).body).toMatchObject({
      status: 409,
      code: "too_many_attestations",
    });
    expect(await store(two.slice(0, 1))).toMatchObject([{ status: "accepted", isNew: true }]);
    // What has expired or is revoked makes room, and only then goes.
    const left = async () =>
      (await testEnv.DB.prepare("SELECT id FROM attestations WHERE length(id) < 64").all<{ id: string }>()).results;
    await testEnv.DB.prepare("UPDATE attestations SET valid_until = '2020-01-01' WHERE id = '7'").run();
    await testEnv.DB.prepare(
      "INSERT INTO revocations (id, kind, subject, reason, revoked_at, revoked_by) VALUES ('rvk_1', 'attestation', '8', '-', 1, '-')",
    ).run();
    expect((await left()).length).toBe(MAX_STORED_PER_ORIGIN - 1);
    expect(await store(two)).toMatchObject([{ isNew: false }, { isNew: true }]);
    const ids = (await left()).map(({ id }) => id);
    expect([ids.length, ids.includes("7"), ids.includes("8")]).toEqual([MAX_STORED_PER_ORIGIN - 3, false, false]);
  });

  it.each([
    ["text", "null", 400],
    ["a number", "5", 400],
    ["half a list", '[{"origin":', 400],
    ["deep nesting", "[".repeat(100_000), 400],
    ["300 KiB", `["${"x".repeat(300 * 1024)}"]`, 413],
  ])("[code:bad_json] [code:too_large] answers %s with a problem", async (_, raw, status) => {
    const answer = await call("POST", "/attestations", undefined, {
      raw,
      headers: { "Content-Type": "application/json" },
    });
    expect(answer.body).toMatchObject({ status, detail: expect.stringMatching(/\.$/) });
  });

  it("judges nested lists as deep as the body allows, without a failure of the gateway", async () => {
    const raw = `[${"[".repeat(100_000)}${"]".repeat(100_000)}]`;
    const { body } = await call("POST", "/attestations", undefined, {
      raw,
      headers: { "Content-Type": "application/json" },
    });
    expect(body.results).toMatchObject([{ status: "refused", code: "not_an_object" }]);
  });
});

describe("what is stored", () => {
  it("is exported as the file to publish, without what is revoked", async () => {
    const entries = [await signed(key), await signed(key, "other")];
    const [, second] = await store(entries);
    const { body } = await call(
      "GET",
      `/attestations/export?origin=${encodeURIComponent("https://PUBLISHER.example/")}`,
    );
    expect(body).toEqual(entries.toReversed());
    await call("POST", `/attestations/${second.id}/revoke`, { reason: "A mistake." });
    expect((await call("GET", `/attestations/export?origin=${ORIGIN}`)).body).toEqual(entries.slice(0, 1));
    expect((await call("GET", "/attestations/export?origin=nonsense")).body).toMatchObject({
      status: 400,
      code: "bad_origin",
    });
    expect((await call("GET", "/attestations/export")).body).toMatchObject({ status: 400, code: "bad_request" });
  });

  it("is listed in pages, of one origin or of all", async () => {
    await store([await signed(key), await signed(key, "other"), entryOf({ origin: "https://other.example" })]);
    const first = (await call("GET", "/attestations?limit=2")).body;
    const rest = (await call("GET", `/attestations?limit=2&cursor=${first.nextCursor}`)).body;
    expect([first.items.length, rest.items.length, rest.nextCursor]).toEqual([2, 1, null]);
    expect((await call("GET", `/attestations?origin=${ORIGIN}`)).body.items.length).toBe(2);
  });

  it("counts for nothing once its reviewer is revoked, and still counts once the reviewer is retired", async () => {
    const id = await reviewer(key);
    const [{ id: attestation }] = await store(await signed(key));
    await new Promise((resolve) => setTimeout(resolve, 2));
    await call("POST", `/reviewers/${id}/retire`, { reason: "Left." });
    expect(await standing(attestation)).toBe("attested");
    expect(await store(await signed(key, "later"))).toMatchObject([
      { verdict: "unattested", standing: "retired_reviewer" },
    ]);
    await call("POST", `/reviewers/${id}/revoke`, { reason: "Stolen." });
    expect(await standing(attestation)).toBe("revoked_reviewer");
  });
});

describe("revocations", () => {
  it("of an attestation are in force until lifted, and keep it from being stored again", async () => {
    await reviewer(key);
    const entry = await signed(key);
    const [{ id }] = await store(entry);
    const { status, body } = await call("POST", `/attestations/${id}/revoke`, { reason: "Misread." });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "attestation", subject: id, reason: "Misread.", liftedAt: null });
    expect((await call("GET", `/attestations/${id}`)).body).toMatchObject({
      standing: "revoked_attestation",
      revocationId: body.id,
    });
    expect(await store(entry)).toMatchObject([{ status: "refused", code: "revoked_attestation" }]);
    const lifted = await call("POST", `/revocations/${body.id}/lift`, { reason: "Read again." });
    expect(lifted.body).toMatchObject({ id: body.id, liftReason: "Read again." });
    expect(await standing(id)).toBe("attested");
    expect((await call("POST", `/revocations/${body.id}/lift`, { reason: "x" })).body.code).toBe("bad_state");
  });

  it("of a hash are trust in force; a second one is [code:already_exists], and after lifting a new one", async () => {
    const wanted = { kind: "hash", subject: HASH, reason: "Exfiltrates." };
    const { body } = await call("POST", "/revocations", wanted);
    const before = await trustVersion(registry);
    expect([...(await readTrust(registry)).trust.revokedHashes]).toEqual([HASH]);
    expect((await call("POST", "/revocations", wanted)).body).toMatchObject({
      status: 409,
      code: "already_exists",
      id: body.id,
    });
    await call("POST", `/revocations/${body.id}/lift`, { reason: "A false alarm." });
    expect(await trustVersion(registry)).toBe(before + 1);
    expect((await readTrust(registry)).trust.revokedHashes.size).toBe(0);
    expect((await call("POST", "/revocations", wanted)).status).toBe(201);
    expect((await call("GET", "/revocations")).body.items.length).toBe(2);
    expect(await lastAudit()).toMatchObject({ action: "revocation.create", detail: wanted });
  });

  it.each([
    [{ kind: "skill" }, "kind must be attestation or hash."],
    [{ subject: "A".repeat(64) }, "subject must be 64 lower-case hexadecimal digits."],
    [{ reason: " " }, "reason must say why."],
    [{ reason: "x".repeat(1001) }, "reason must have at most 1000 characters."],
  ])("[code:bad_request] are not made with %j", async (fields, detail) => {
    const good = { kind: "hash", subject: HASH, reason: "x" };
    expect((await call("POST", "/revocations", { ...good, ...fields })).body).toMatchObject({ status: 400, detail });
  });
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

describe("the trust root", () => {
  it("is the embedded one, until an operator gives another, and again after a reset", async () => {
    const embedded = embeddedTrustRoot();
    expect((await call("GET", "/trust-root")).body).toMatchObject({ id: embedded.id, source: "embedded", setAt: null });
    const another = { ...embedded.json, tlogs: (embedded.json.tlogs as JsonObject[]).slice(0, 1) };
    const { status, body } = await call("PUT", "/trust-root", another);
    expect(status).toBe(200);
    expect(body).toMatchObject({ source: "operator", trustRoot: another, setAt: expect.any(Number) });
    expect((await readTrust(registry)).trust.trustRootId).toBe(body.id);
    expect((await readTrust(registry)).version).toBe(1);
    expect((await call("PUT", "/trust-root", another)).body).toEqual(body);
    expect((await call("DELETE", "/trust-root")).body).toMatchObject({ id: embedded.id, source: "embedded" });
    expect((await call("GET", "/audit")).body.items.map(({ action }: { action: string }) => action)).toEqual([
      "trust_root.reset",
      "trust_root.replace",
    ]);
  });

  it.each([
    [[], "bad_request"],
    [{}, "bad_trust_root"],
    [{ tlogs: 5 }, "bad_trust_root"],
    ["x", "bad_request"],
  ])("is not %j: 400 [code:bad_trust_root]", async (root, code) => {
    expect((await call("PUT", "/trust-root", root)).body).toMatchObject({ status: 400, code });
  });
});
