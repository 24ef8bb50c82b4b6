import { beforeEach, describe, expect, it } from "vitest";
import { entryOf } from "../../core/attestation/fixture/entries.ts";
import { attestationsOf, MAX_STORED_PER_ORIGIN } from "../registry/attestations.ts";
import { getOrigin } from "../registry/origins.ts";
import { readTrust } from "../registry/trust.ts";
import { trustVersion } from "../registry/trust-version.ts";
import { call, freshDatabase, register, registry, testEnv } from "./fixture.ts";
import { HASH, type Key, lastAudit, newKey, ORIGIN, reviewer, signed, store } from "./reviewing-fixture.ts";

const standing = async (id: string) => (await call("GET", `/attestations/${id}`)).body.standing;

let key: Key;

beforeEach(async () => {
  await freshDatabase();
  key = await newKey();
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
    expect(await lastAudit()).toMatchObject({ action: "attestation.create", detail: { madeRoom: 2 } });
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
