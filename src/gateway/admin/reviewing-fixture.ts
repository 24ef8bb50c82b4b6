import { expect } from "vitest";
import { attestationEntry } from "../../core/attestation/attestation.ts";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { addDays, calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { signAttestation } from "../../core/attestation/sign.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { call } from "./fixture.ts";

// Reviewers and what they sign, for the tests of the admin API.

export const ORIGIN = "https://publisher.example" as CanonicalOrigin;
export const HASH = "a".repeat(64) as Sha256Hex;
export const ADA = "human:ada";

export async function newKey() {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const raw = (await crypto.subtle.exportKey("raw", pair.publicKey)) as ArrayBuffer;
  return { privateKey: pair.privateKey, publicKey: encodeBase64(new Uint8Array(raw)) };
}
export type Key = Awaited<ReturnType<typeof newKey>>;

export async function signed({ privateKey }: Key, skill = "sum", attester = ADA): Promise<JsonObject> {
  const signedOn = calendarDateOf(Date.now());
  const claim = { origin: ORIGIN, skill, toolSha256: HASH, signedOn, validUntil: addDays(signedOn, 90) };
  return attestationEntry(await signAttestation(claim, { attester, privateKey }, "Read it."));
}

export async function reviewer({ publicKey }: Key, attester = ADA): Promise<string> {
  const { status, body } = await call("POST", "/reviewers", { attester, key: { kind: "ed25519", publicKey } });
  expect(status).toBe(201);
  return body.id;
}

export const store = async (entries: unknown) => (await call("POST", "/attestations", entries)).body.results;
export const lastAudit = async () => (await call("GET", "/audit?limit=1")).body.items[0];
