import { createHash } from "node:crypto";
import { isSha256Hex, type Sha256Hex } from "../../core/integrity.ts";
import { type PackedRelease, type ReleaseHead, unpackRelease } from "../releases/packed-release.ts";

/** Rows of a Durable Object hold at most 2 MB. */
export const CHUNK_BYTES = 1_048_576;
/** Of what the rows mean. Rows of another format count for nothing: the origin is discovered anew. */
const FORMAT = 5;
const HEAD = "head";
const MANIFEST = "manifest";

/**
 * The last release of one origin in the SQLite of its hub: a head, a manifest, and each artifact once by its hash, all in chunks of at
 * most 1 MiB. What comes out is what went in, by its hashes, or nothing.
 */
export class ReleaseStore {
  readonly #storage: DurableObjectStorage;
  /** The table is made with the first release: a write before the origin is asked would hold that question up until it is on the disk. */
  #isMade: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#isMade = hasTable(storage, "chunks");
  }

  /** Which release is stored, or `null`. */
  head(): ReleaseHead | null {
    const bytes = this.#read(HEAD);
    if (bytes === null) return null;
    try {
      const { format, version, fetchedAt, policyVersion } = JSON.parse(new TextDecoder().decode(bytes));
      const isHead =
        format === FORMAT && isSha256Hex(version) && [fetchedAt, policyVersion].every(Number.isSafeInteger);
      return isHead ? { version, fetchedAt, policyVersion } : null;
    } catch {
      return null;
    }
  }

  /** The release last saved, or `null`; also where a row is missing or altered, which makes the next caller discover anew. */
  load(): PackedRelease | null {
    const head = this.head();
    const manifest = this.#read(MANIFEST);
    if (head === null || manifest === null || sha256(manifest) !== head.version) return null;
    const artifacts = new Map<Sha256Hex, Uint8Array>();
    for (const name of this.#names()) {
      if (!isSha256Hex(name)) continue;
      const bytes = this.#read(name);
      if (bytes === null || sha256(bytes) !== name) return null;
      artifacts.set(name, bytes);
    }
    const packed = { ...head, manifest, artifacts };
    return isComplete(packed) ? packed : null;
  }

  /** The bytes with this hash, or `undefined`; also where they were altered. */
  artifact(name: Sha256Hex): Uint8Array | undefined {
    const bytes = this.#read(name);
    return bytes !== null && sha256(bytes) === name ? bytes : undefined;
  }

  /** Replaces what is stored, in one transaction; what is already there is not written again. */
  save({ version, fetchedAt, policyVersion, manifest, artifacts }: PackedRelease): void {
    const head = new TextEncoder().encode(JSON.stringify({ format: FORMAT, version, fetchedAt, policyVersion }));
    this.#make();
    this.#storage.transactionSync(() => {
      const unchanged = this.head()?.version === version;
      this.#replace(HEAD, head);
      if (unchanged) return;
      this.#replace(MANIFEST, manifest);
      const present = new Set(this.#names());
      for (const name of present) if (isSha256Hex(name) && !artifacts.has(name)) this.#delete(name);
      for (const [name, bytes] of artifacts) if (!present.has(name)) this.#replace(name, bytes);
    });
  }

  clear(): void {
    if (this.#isMade) this.#storage.sql.exec("DELETE FROM chunks");
  }

  #make(): void {
    if (this.#isMade) return;
    this.#storage.sql.exec(
      "CREATE TABLE chunks (name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID",
    );
    this.#isMade = true;
  }

  #names(): string[] {
    const rows = this.#storage.sql.exec<{ name: string }>("SELECT name FROM chunks WHERE part = 0").toArray();
    return rows.map(({ name }) => name);
  }

  #delete(name: string): void {
    this.#storage.sql.exec("DELETE FROM chunks WHERE name = ?", name);
  }

  #replace(name: string, bytes: Uint8Array): void {
    this.#delete(name);
    // One chunk at least, so that an empty artifact is there too.
    for (let part = 0; part === 0 || part * CHUNK_BYTES < bytes.length; part += 1) {
      const chunk = bytes.slice(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES);
      this.#storage.sql.exec("INSERT INTO chunks (name, part, bytes) VALUES (?, ?, ?)", name, part, chunk.buffer);
    }
  }

  #read(name: string): Uint8Array | null {
    if (!this.#isMade) return null;
    const chunks = this.#storage.sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM chunks WHERE name = ? ORDER BY part", name)
      .toArray()
      .map((row) => new Uint8Array(row.bytes));
    if (chunks.length === 0) return null;
    const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let offset = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
    return bytes;
  }
}

/** True where the object's database has a table of this name. */
export function hasTable({ sql }: DurableObjectStorage, name: string): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).toArray().length > 0;
}

/** Synchronous, as the storage is, so that nothing can happen between reading and checking. */
function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function isComplete(packed: PackedRelease): boolean {
  try {
    unpackRelease(packed);
    return true;
  } catch {
    return false;
  }
}
