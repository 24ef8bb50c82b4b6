import { type AttestationClaim, attestationEntry } from "../src/core/attestation/attestation.ts";
import { encodeBase64 } from "../src/core/attestation/base64.ts";
import { signAttestation } from "../src/core/attestation/sign.ts";
import type { JsonObject } from "../src/core/json.ts";

/** A reviewer's key of this browser. Its private half cannot leave it: neither a script nor its owner can read it. */
export interface SigningKey {
  /** `type:name` */
  readonly attester: string;
  /** The 32 raw bytes in standard base64, as reviewers are registered by. */
  readonly publicKey: string;
  readonly createdAt: number;
  readonly privateKey: CryptoKey;
}

const DATABASE = "skillgate-signing";
const STORE = "keys";

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "publicKey" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function transact<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** The keys of this browser, oldest first. */
export async function listKeys(): Promise<readonly SigningKey[]> {
  const keys = (await transact("readonly", (store) => store.getAll())) as SigningKey[];
  return keys.sort((a, b) => a.createdAt - b.createdAt);
}

/** Makes a key pair whose private half is not extractable, and keeps it. */
export async function createKey(attester: string): Promise<SigningKey> {
  const pair = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
  const raw = await crypto.subtle.exportKey("raw", pair.publicKey);
  const key: SigningKey = {
    attester,
    publicKey: encodeBase64(new Uint8Array(raw as ArrayBuffer)),
    createdAt: Date.now(),
    privateKey: pair.privateKey,
  };
  await transact("readwrite", (store) => store.add(key));
  return key;
}

/** What was signed with it stays valid; nothing more can be signed. */
export async function forgetKey(publicKey: string): Promise<void> {
  await transact("readwrite", (store) => store.delete(publicKey));
}

/** An entry of an `attestations.json`, as the gateway takes it. */
export async function signEntry(claim: AttestationClaim, key: SigningKey, note: string | null): Promise<JsonObject> {
  return attestationEntry(await signAttestation(claim, key, note));
}

/** The UTC day so many days from now, as attestations write it. */
export function utcDay(days: number, now = Date.now()): string {
  return new Date(now + days * 86_400_000).toISOString().slice(0, 10);
}
