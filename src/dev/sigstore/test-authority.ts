import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { initializeCA, initializeCTLog, initializeTLog } from "@sigstore/mock";
import type { JsonObject } from "../../core/json.ts";

/** A Sigstore instance of our own, for tests: a certificate authority, a certificate log and a transparency log. */
export interface TestAuthority {
  /** `trusted_root.json` of this instance. */
  readonly trustRoot: JsonObject;
  /** A bundle of an in-toto statement, signed by whom the certificate names. */
  sign(statement: JsonObject, signer: TestSigner): Promise<JsonObject>;
}

export interface TestSigner {
  /** Of OpenID Connect. */
  readonly issuer: string;
  /** A URI: the subject alternative name of the certificate. */
  readonly identity: string;
  /** How long after the making of the authority the log sees the signature; a certificate lives for ten minutes. */
  readonly loggedAfterMs?: number;
}

/** As Rekor answers; the types of @sigstore/mock leave it open. */
interface LoggedEntry {
  readonly body: string;
  readonly integratedTime: number;
  readonly logIndex: number;
  readonly verification: {
    readonly signedEntryTimestamp: string;
    readonly inclusionProof: {
      readonly logIndex: number;
      readonly treeSize: number;
      readonly rootHash: string;
      readonly checkpoint: string;
    };
  };
}

const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const LOG_URL = "https://rekor.sigstore.test";
const FOR_EVER = { start: "2020-01-01T00:00:00Z" };
const ISSUER_V1 = "1.3.6.1.4.1.57264.1.1";
const ISSUER_V2 = "1.3.6.1.4.1.57264.1.8";

const keyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64");

/** Makes keys and certificates anew, valid from now: no two authorities trust each other. */
export async function createTestAuthority(): Promise<TestAuthority> {
  const clock = new Date(Date.now() + 1_000);
  const ctLog = await initializeCTLog(keyPair(), clock);
  const ca = await initializeCA(keyPair(), ctLog, clock);
  const logKeys = keyPair();
  const logKey = logKeys.publicKey.export({ format: "der", type: "spki" });
  const logId = createHash("sha256").update(logKey).digest();
  const publicKey = (rawBytes: Uint8Array) => ({
    rawBytes: base64(rawBytes),
    keyDetails: "PKIX_ECDSA_P256_SHA_256",
    validFor: FOR_EVER,
  });
  const log = (baseUrl: string, keyId: Uint8Array, rawBytes: Uint8Array) => ({
    baseUrl,
    hashAlgorithm: "SHA2_256",
    publicKey: publicKey(rawBytes),
    logId: { keyId: base64(keyId) },
  });
  const trustRoot = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [log(LOG_URL, logId, logKey)],
    certificateAuthorities: [
      {
        subject: { organization: "sigstore.test", commonName: "sigstore" },
        uri: "https://fulcio.sigstore.test",
        certChain: { certificates: [{ rawBytes: base64(bytesOf(ca.rootCertificate)) }] },
        validFor: FOR_EVER,
      },
    ],
    ctlogs: [log("https://ctfe.sigstore.test", bytesOf(ctLog.logID), ctLog.publicKey)],
    timestampAuthorities: [],
  };

  return {
    trustRoot,
    async sign(statement, { issuer, identity, loggedAfterMs = 0 }) {
      const signer = keyPair();
      const certificate = bytesOf(
        await ca.issueCertificate({
          publicKey: new Uint8Array(signer.publicKey.export({ format: "der", type: "spki" })),
          subjectAltName: identity,
          extensions: [
            { oid: ISSUER_V1, value: issuer, legacy: true },
            { oid: ISSUER_V2, value: issuer },
          ],
        }),
      );
      const payload = Buffer.from(JSON.stringify(statement));
      const signature = sign("sha256", preAuthEncoding(payload), signer.privateKey);
      const tlog = await initializeTLog(LOG_URL, logKeys, new Date(clock.getTime() + loggedAfterMs));
      const [entry] = Object.values(await tlog.log(logEntry(payload, signature, certificate))) as LoggedEntry[];
      if (entry === undefined) throw new Error("The log gave no entry.");
      const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
      return {
        mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
        verificationMaterial: {
          certificate: { rawBytes: base64(certificate) },
          tlogEntries: [
            {
              logIndex: `${entry.logIndex}`,
              logId: { keyId: base64(logId) },
              kindVersion: { kind: "dsse", version: "0.0.1" },
              integratedTime: `${entry.integratedTime}`,
              inclusionPromise: { signedEntryTimestamp },
              inclusionProof: {
                logIndex: `${proof.logIndex}`,
                rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
                treeSize: `${proof.treeSize}`,
                hashes: [],
                checkpoint: { envelope: proof.checkpoint },
              },
              canonicalizedBody: entry.body,
            },
          ],
        },
        dsseEnvelope: { payload: base64(payload), payloadType: PAYLOAD_TYPE, signatures: [{ sig: base64(signature) }] },
      };
    },
  };
}

/** DSSE v1 §"Signature definition". */
function preAuthEncoding(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `), payload]);
}

function logEntry(payload: Buffer, signature: Buffer, certificate: Uint8Array): object {
  const pem = `-----BEGIN CERTIFICATE-----\n${base64(certificate)}\n-----END CERTIFICATE-----\n`;
  return {
    apiVersion: "0.0.1",
    kind: "dsse",
    spec: {
      payloadHash: { algorithm: "sha256", value: createHash("sha256").update(payload).digest("hex") },
      signatures: [{ signature: base64(signature), verifier: base64(pem) }],
    },
  };
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
