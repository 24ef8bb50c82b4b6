import { beforeEach, describe, expect, it } from "vitest";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { embeddedTrustRoot } from "../../core/attestation/trust-root.ts";
import type { JsonObject } from "../../core/json.ts";
import { readTrust } from "../registry/trust.ts";
import { trustVersion } from "../registry/trust-version.ts";
import { call, freshDatabase, registry } from "./fixture.ts";
import { ADA, type Key, lastAudit, newKey, reviewer } from "./reviewing-fixture.ts";

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
    // The name is not signed: what was revoked of ada's would come back as bob's.
    expect((await call("POST", "/reviewers", other)).body).toMatchObject({ code: "already_exists", id });
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
