import { DurableObject } from "cloudflare:workers";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import type { Env } from "../env.ts";
import type { ChainHead } from "../registry/audit.ts";

/** The last row noted of the audit chain, signed with a key that never leaves the object that made it. */
export interface SignedHead extends ChainHead {
  /** When it was noted, epoch milliseconds. */
  readonly at: number;
  /** Base64 of the Ed25519 signature over {@link signedText}. */
  readonly signature: string;
  /** Base64 of the 32 bytes of the public key. */
  readonly publicKey: string;
}

/** What was noted of a stretch of the chain. */
export interface NotedRows {
  /** `null`: nothing was ever noted. */
  readonly head: SignedHead | null;
  /** Hash by row number. */
  readonly hashes: ReadonlyMap<number, string>;
}

interface ServerKey {
  readonly privateKey: CryptoKey;
  readonly publicKey: string;
}

interface NotedRow extends ChainHead {
  readonly at: number;
  readonly [column: string]: SqlStorageValue;
}

const KEY = "key";

/** The bytes under a head's signature. */
export function signedText({ seq, hash, at }: Pick<SignedHead, "seq" | "hash" | "at">): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(new TextEncoder().encode(`skillgate audit head\n${seq}\n${hash}\n${at}`));
}

/**
 * One object for the deployment: a witness of the audit chain outside of the database that holds it. It notes the hash of every row when
 * that is written, and signs and logs the last one; whoever changes the database behind the gateway's back cannot change what was noted.
 */
export class AuditHead extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  #key: ServerKey | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS noted (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, at INTEGER NOT NULL)",
    );
    ctx.blockConcurrencyWhile(async () => {
      this.#key = await serverKey(ctx.storage);
    });
  }

  /**
   * Notes a row that was just written, and logs the signed head. What was noted of a row first stays; another hash for the same row is
   * logged as a fork. Notes of mutations that ran at once may come in any order.
   *
   * @param before the row before it, noted too where nothing is yet: from then on no row up to it can be changed unseen, though it was
   * written before there was a witness.
   */
  async note({ seq, hash }: ChainHead, before: ChainHead | null): Promise<void> {
    if (before !== null && this.#sql.exec("SELECT 1 FROM noted LIMIT 1").toArray().length === 0) {
      this.#sql.exec("INSERT INTO noted (seq, hash, at) VALUES (?, ?, ?)", before.seq, before.hash, Date.now());
    }
    const known = this.#sql.exec<NotedRow>("SELECT seq, hash, at FROM noted WHERE seq = ?", seq).toArray()[0];
    if (known !== undefined) {
      if (known.hash !== hash) {
        console.error(JSON.stringify({ event: "audit_fork", seq, noted: known.hash, written: hash }));
      }
      return;
    }
    this.#sql.exec("INSERT INTO noted (seq, hash, at) VALUES (?, ?, ?)", seq, hash, Date.now());
    console.log(JSON.stringify({ event: "audit_head", ...(await this.#head()) }));
  }

  /** What was noted of the rows after `after`, up to `to`, and the head. */
  async noted(after: number, to: number): Promise<NotedRows> {
    const rows = this.#sql.exec<NotedRow>("SELECT seq, hash, at FROM noted WHERE seq > ? AND seq <= ?", after, to);
    const hashes = new Map(rows.toArray().map(({ seq, hash }) => [seq, hash]));
    return { head: await this.#head(), hashes };
  }

  async #head(): Promise<SignedHead | null> {
    const [row] = this.#sql.exec<NotedRow>("SELECT seq, hash, at FROM noted ORDER BY seq DESC LIMIT 1").toArray();
    if (row === undefined || this.#key === null) return null;
    const signature = await crypto.subtle.sign("Ed25519", this.#key.privateKey, signedText(row));
    const { seq, hash, at } = row;
    return { seq, hash, at, signature: encodeBase64(new Uint8Array(signature)), publicKey: this.#key.publicKey };
  }
}

async function serverKey(storage: DurableObjectStorage): Promise<ServerKey> {
  let jwk = await storage.get<JsonWebKey>(KEY);
  if (jwk === undefined) {
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    jwk = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as JsonWebKey;
    await storage.put(KEY, jwk);
  }
  const privateKey = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  const publicKey = (jwk.x ?? "").replaceAll("-", "+").replaceAll("_", "/");
  return { privateKey, publicKey: publicKey.padEnd(Math.ceil(publicKey.length / 4) * 4, "=") };
}
