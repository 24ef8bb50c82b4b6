import type { ExpectStatic, TestAPI } from "vitest";
import { canonicalJson } from "../../canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import type { Attestation, AttestationClaim } from "../attestation.ts";
import { attestationEntry } from "../attestation.ts";
import { verifySignature } from "../facts.ts";
import { readAttestations } from "../read.ts";
import type { ReviewerKey } from "../reviewer.ts";
import { embeddedTrustRoot, readTrustRoot, type TrustRoot } from "../trust-root.ts";
import fixture from "./fixture/bundles.json" with { type: "json" };

const claim = fixture.claim as AttestationClaim;
const { good } = fixture.bundles;
const ADA: ReviewerKey = { kind: "sigstore", ...fixture.signer };

interface ConformanceCases {
  readonly identity: string;
  readonly issuer: string;
  readonly cases: readonly {
    readonly name: string;
    readonly bundle: JsonObject;
    readonly root: JsonObject;
    readonly accept: boolean;
  }[];
}

/** Cases of the Sigstore conformance tests; they are not part of this repository. */
const conformance = Object.values(
  import.meta.glob<ConformanceCases>("../../../../../shared/data/sigstore/dsse-cases.json", {
    import: "default",
    eager: true,
  }),
);

/** Runs in workerd and in Node: one module serves both. */
export function sigstoreSuite({ it, expect }: { it: TestAPI; expect: ExpectStatic }): void {
  interface Case {
    readonly bundle?: Json;
    readonly claim?: Partial<AttestationClaim>;
    readonly key?: Partial<Extract<ReviewerKey, { kind: "sigstore" }>>;
    readonly trustRoot?: TrustRoot;
  }

  async function outcome({ bundle = good, claim: fields = {}, key = {}, trustRoot }: Case): Promise<string> {
    const attestation = await attestationWith(bundle as JsonObject, fields);
    const root = trustRoot ?? (await rootOf(fixture.trustRoot));
    const fact = await verifySignature(attestation, { ...ADA, ...key } as ReviewerKey, root);
    if (!fact.holds) expect(fact.message).toMatch(/^[A-Z].*\.$/);
    return fact.holds ? "holds" : fact.code;
  }

  it("a bundle holds for the identity and the claim that it is of", async () => {
    expect(await outcome({})).toBe("holds");
  });

  it.each<[string, Case, string]>([
    ["of another identity", { key: { identity: "https://code.example/eve" } }, "other_identity"],
    ["of an identity that the registered one only matches as a pattern", { key: { identity: ".*" } }, "other_identity"],
    [
      "of an identity that begins like it",
      { key: { identity: fixture.signer.identity.slice(0, -1) } },
      "other_identity",
    ],
    ["of another issuer", { key: { issuer: "https://accounts.example" } }, "other_issuer"],
    ["of the issuer with a slash", { key: { issuer: `${fixture.signer.issuer}/` } }, "other_issuer"],
    ["put under another name", { claim: { skill: "product" } }, "other_claim"],
    ["put under another origin", { claim: { origin: "https://publisher.example" as never } }, "other_claim"],
    ["put under a later first day", { claim: { signedOn: "2026-07-02" as never } }, "other_claim"],
    ["put under a later last day", { claim: { validUntil: "2099-12-31" as never } }, "other_claim"],
    ["put under another hash", { claim: { toolSha256: "b".repeat(64) as never } }, "other_subject"],
    ["of a statement about two tools", { bundle: fixture.bundles.twoSubjects }, "other_subject"],
    ["of a statement of another type", { bundle: fixture.bundles.otherStatement }, "bad_statement"],
    ["of a statement without all five values", { bundle: fixture.bundles.halfSigned }, "other_claim"],
    ["signed when the certificate was over", { bundle: fixture.bundles.late }, "expired_certificate"],
    ["whose payload was changed", { bundle: changed("payload", (text) => btoa(`${atob(text)} `)) }, "other_log_entry"],
    ["whose signature was changed", { bundle: changed("sig", flipped) }, "other_log_entry"],
    ["whose certificate was changed", { bundle: changed("certificate", () => ({ rawBytes: "MAA=" })) }, "bad_bundle"],
    ["whose log entry is another's", { bundle: changed("canonicalizedBody", flipped) }, "untrusted_log"],
    ["whose log promise is forged", { bundle: changed("signedEntryTimestamp", flipped) }, "untrusted_log"],
    [
      "whose log time was changed",
      { bundle: changed("integratedTime", (text) => `${Number(text) + 1}`) },
      "untrusted_log",
    ],
    ["of an unknown log", { bundle: changed("keyId", flipped) }, "untrusted_log"],
    ["without a log entry", { bundle: changed("tlogEntries", () => []) }, "untrusted_timestamp"],
    [
      "with more log entries than anyone needs",
      { bundle: changed("tlogEntries", (entries) => new Array(5).fill(entries[0])) },
      "bad_bundle",
    ],
    [
      "with the same log entry twice",
      { bundle: changed("tlogEntries", (entries) => new Array(2).fill(entries[0])) },
      "untrusted_timestamp",
    ],
    ["without an envelope", { bundle: { ...good, dsseEnvelope: null } }, "bad_bundle"],
    ["without a signature", { bundle: changed("signatures", () => []) }, "bad_bundle"],
    ["whose payload is of another type", { bundle: changed("payloadType", () => "text/plain") }, "bad_bundle"],
    ["that is empty", { bundle: {} }, "bad_bundle"],
    ["of numbers", { bundle: { mediaType: 7, verificationMaterial: 7, dsseEnvelope: 7 } }, "bad_bundle"],
  ])("a bundle %s is refused with its own code", async (_what, given, code) => {
    expect(await outcome(given)).toBe(code);
  });

  it("a bundle tells when the log saw it", async () => {
    const fact = await verifySignature(await attestationWith(good, {}), ADA, await rootOf(fixture.trustRoot));
    const [entry] = good.verificationMaterial.tlogEntries;
    expect(fact).toEqual({ holds: true, witnessedAt: Number(entry?.integratedTime) * 1000 });
  });

  it.each<[string, Json]>([
    ["with a member that nobody knows", { ...good, padding: "x" }],
    ["in base64 of the other alphabet", changed("payload", otherAlphabet)],
    ["in base64 without its padding", changed("payload", (text) => text.replace(/=+$/, ""))],
    ["with a key's name beside the signature", changed("sig", (sig) => sig, { keyid: "x" })],
    ["with its members in another order", Object.fromEntries(Object.entries(good).reverse())],
    ["with another log entry", fixture.bundles.late],
  ])("an attestation that was revoked stays revoked in a bundle %s", async (_what, bundle) => {
    const [signed, again] = [await attestationWith(good, {}), await attestationWith(bundle as JsonObject, {})];
    expect(again.id).toBe(signed.id);
    // What one bundle proves is no fact about another.
    const isRewritten = canonicalJson(bundle) !== canonicalJson(good);
    expect(again.proofId !== signed.proofId).toBe(isRewritten);
  });

  it("a bundle cut off at any member is refused", async () => {
    // These only repeat what the signed checkpoint says, or are the defaults of a log with one entry.
    const redundant = /inclusionProof\.(?:logIndex|rootHash|treeSize|hashes)$/;
    for (const path of memberPaths(good).filter((path) => !redundant.test(path.join(".")))) {
      expect([path.join("."), await outcome({ bundle: without(good, path) })]).not.toContain("holds");
    }
  });

  it("no authority but those of the trust root counts", async () => {
    expect(await outcome({ trustRoot: await rootOf(fixture.strangersTrustRoot) })).toBe("untrusted_certificate");
    expect(await outcome({ trustRoot: embeddedTrustRoot() })).toBe("untrusted_certificate");
    expect(await outcome({ trustRoot: { id: "0" as never, json: { tlogs: [] } } })).toBe("bad_trust_root");
  });

  it("an operator's trust root is read whole or refused with a code", async () => {
    const codeOf = async (json: Json) => {
      const read = await readTrustRoot(json);
      return read.ok ? "ok" : read.code;
    };
    const { certificateAuthorities, tlogs } = fixture.trustRoot;
    expect(await codeOf(embeddedTrustRoot().json)).toBe("ok");
    expect(await codeOf([])).toBe("bad_type");
    expect(await codeOf({})).toBe("bad_trust_root");
    expect(await codeOf({ ...fixture.trustRoot, ctlogs: [] })).toBe("bad_trust_root");
    expect(await codeOf({ certificateAuthorities, tlogs })).toBe("bad_trust_root");
    expect(await codeOf({ ...fixture.trustRoot, tlogs: [{ publicKey: { rawBytes: "AA==" } }] })).toBe("bad_trust_root");
    expect(await codeOf({ x: "x".repeat(262_144) })).toBe("too_large");
    expect(await codeOf({ x: JSON.parse(`${"[".repeat(50)}${"]".repeat(50)}`) as Json })).toBe("too_deep");
  });

  it("a trust root is named by what it holds, however it is written", async () => {
    const { json, id } = embeddedTrustRoot();
    const reversed = Object.fromEntries(Object.entries(json).reverse());
    expect(await readTrustRoot(reversed)).toMatchObject({ ok: true, trustRoot: { id } });
    expect(canonicalJson(reversed)).toBe(canonicalJson(json));
  });

  it.skipIf(conformance.length === 0)(
    "judges the cases of the Sigstore conformance tests right (skipped where ../shared has none)",
    async () => {
      for (const { identity, issuer, cases } of conformance) {
        for (const { name, bundle, root, accept } of cases) {
          const fact = await outcome({ bundle, key: { identity, issuer }, trustRoot: await rootOf(root) });
          // They are about other statements than ours: what is accepted comes as far as its statement.
          if (accept) expect([name, fact]).toEqual([name, "bad_statement"]);
          else expect([name, fact]).not.toContain("bad_statement");
        }
      }
    },
  );
}

async function attestationWith(bundle: JsonObject, fields: Partial<AttestationClaim>): Promise<Attestation> {
  const attester = `sigstore:${fixture.signer.identity}`;
  const entry = attestationEntry({ ...claim, ...fields, attester, note: null, proof: { kind: "sigstore", bundle } });
  const [attestation] = (await readAttestations([entry])).attestations;
  if (attestation === undefined) throw new Error("The entry is malformed.");
  return attestation;
}

async function rootOf(json: Json): Promise<TrustRoot> {
  const read = await readTrustRoot(json);
  if (!read.ok) throw new Error(read.message);
  return read.trustRoot;
}

/** The good bundle with every member of one name changed. @param beside put into the objects that have the member. */
function changed(member: string, change: (value: string) => unknown, beside: JsonObject = {}): JsonObject {
  const text = JSON.stringify(good, (key, value) =>
    key === member ? change(value) : isJsonObject(value) && member in value ? { ...value, ...beside } : value,
  );
  return JSON.parse(text) as JsonObject;
}

function otherAlphabet(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Base64 with one bit of its fortieth byte flipped. */
function flipped(text: string): string {
  const at = Math.min(40, text.length - 5);
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}

function memberPaths(value: Json, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    [...path, key],
    ...memberPaths(child as Json, [...path, key]),
  ]);
}

function without(value: JsonObject, path: readonly string[]): JsonObject {
  const copy = structuredClone(value) as Record<string, unknown>;
  const [last] = path.slice(-1);
  let parent: unknown = copy;
  for (const key of path.slice(0, -1)) parent = (parent as Record<string, unknown>)[key];
  if (last !== undefined && (isJsonObject(parent) || Array.isArray(parent))) {
    delete (parent as Record<string, unknown>)[last];
  }
  return JSON.parse(JSON.stringify(copy)) as JsonObject;
}
