import type { Recipe, Release, ReleaseMemory, ReleaseSkill } from "../../core/discovery/release.ts";
import type { Sha256Hex } from "../../core/integrity.ts";

/** Rows of a Durable Object hold at most 2 MB. */
export const CHUNK_BYTES = 1_048_576;
const MANIFEST = "manifest";

type StoredSkill = Omit<ReleaseSkill, "source" | "recipe"> & { readonly recipeSha256: Sha256Hex | null };
type StoredRelease = Omit<Release, "skills" | "memories"> & {
  readonly skills: readonly StoredSkill[];
  readonly memories: readonly Omit<ReleaseMemory, "bytes">[];
};

/** A release with a name for its contents: two releases that differ in nothing but `fetchedAt` share a version. */
export interface HeldRelease {
  readonly version: string;
  readonly release: Release;
}

/**
 * The last release of one origin in the SQLite of its hub: a manifest, and each artifact once by its hash, all in chunks of at most
 * 1 MiB.
 */
export class ReleaseStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS chunks (name TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID",
    );
  }

  /** The release last saved, or `null`; also where a row is missing, which makes the next caller discover anew. */
  load(): HeldRelease | null {
    const manifest = this.#read(MANIFEST);
    if (manifest === null) return null;
    const { version, release: stored } = JSON.parse(new TextDecoder().decode(manifest)) as {
      version: string;
      release: StoredRelease;
    };
    const skills: ReleaseSkill[] = [];
    for (const { recipeSha256, ...skill } of stored.skills) {
      const source = this.#read(`tool:${skill.toolSha256}`);
      const recipe = this.#recipe(recipeSha256);
      if (source === null || recipe === undefined) return null;
      skills.push({ ...skill, source, recipe });
    }
    const memories: ReleaseMemory[] = [];
    for (const memory of stored.memories) {
      const bytes = this.#read(`memory:${memory.sha256}`);
      if (bytes === null) return null;
      memories.push({ ...memory, bytes });
    }
    return { version, release: { ...stored, skills, memories } };
  }

  /** Replaces what is stored, in one transaction; artifacts that are already there are not written again. */
  save({ version, release }: HeldRelease): void {
    const blobs = new Map<string, Uint8Array>();
    for (const { toolSha256, source, recipe } of release.skills) {
      blobs.set(`tool:${toolSha256}`, source);
      if (recipe !== null) blobs.set(`recipe:${recipe.sha256}`, new TextEncoder().encode(recipe.text));
    }
    for (const { sha256, bytes } of release.memories) blobs.set(`memory:${sha256}`, bytes);
    const manifest = new TextEncoder().encode(JSON.stringify({ version, release: toStored(release) }));
    this.#storage.transactionSync(() => {
      const { sql } = this.#storage;
      const present = new Set<string>();
      for (const { name } of sql.exec<{ name: string }>("SELECT DISTINCT name FROM chunks").toArray()) {
        if (blobs.has(name)) present.add(name);
        else sql.exec("DELETE FROM chunks WHERE name = ?", name);
      }
      for (const [name, bytes] of blobs) if (!present.has(name)) this.#write(name, bytes);
      this.#write(MANIFEST, manifest);
    });
  }

  clear(): void {
    this.#storage.sql.exec("DELETE FROM chunks");
  }

  #recipe(sha256: Sha256Hex | null): Recipe | null | undefined {
    if (sha256 === null) return null;
    const bytes = this.#read(`recipe:${sha256}`);
    return bytes === null
      ? undefined
      : { sha256, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  }

  #write(name: string, bytes: Uint8Array): void {
    // One chunk at least, so that an empty artifact is there too.
    for (let part = 0; part === 0 || part * CHUNK_BYTES < bytes.length; part += 1) {
      const chunk = bytes.slice(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES);
      this.#storage.sql.exec("INSERT INTO chunks (name, part, bytes) VALUES (?, ?, ?)", name, part, chunk.buffer);
    }
  }

  #read(name: string): Uint8Array | null {
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

/**
 * Names the contents of a release: the SHA-256 of its manifest without the time. The manifest names every artifact by its hash, so the
 * artifacts need not be hashed again.
 */
export async function releaseVersion(release: Release): Promise<string> {
  const { fetchedAt: _, ...contents } = toStored(release);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(contents)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes that a copy of a release occupies, about: its artifacts and its manifest. */
export function releaseBytes(release: Release): number {
  let bytes = JSON.stringify(toStored(release)).length;
  for (const { source, recipe } of release.skills) bytes += source.length + (recipe?.text.length ?? 0);
  for (const memory of release.memories) bytes += memory.bytes.length;
  return bytes;
}

function toStored(release: Release): StoredRelease {
  return {
    ...release,
    skills: release.skills.map(({ source: _, recipe, ...skill }) => ({
      ...skill,
      recipeSha256: recipe?.sha256 ?? null,
    })),
    memories: release.memories.map(({ bytes: _, ...memory }) => memory),
  };
}
