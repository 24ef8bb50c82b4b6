import { isUnread } from "../../core/discovery/attestations.ts";
import { isOutage } from "../../core/discovery/checked.ts";
import type { Rejection, Release } from "../../core/discovery/release.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { describeFailure } from "../log.ts";
import { writeArtifacts } from "../registry/artifacts.ts";
import type { Registry } from "../registry/database.ts";
import {
  type KeptMemory,
  keepListed,
  keepMemories,
  keptMemories,
  type ListedRow,
  listedRow,
  readListed,
  removePublication,
} from "../registry/publications.ts";
import { restorableSkills } from "./held-versions.ts";

/** A publisher may change 8 MiB of memories with every discovery; they are written at most this often, milliseconds. */
const MEMORIES_PAUSE_MS = 10 * 60_000;

/**
 * Keeps in D1 what one origin last published, where that is another than what is kept: one write after the other, the latest last. What the
 * origin could not be asked for stays as it is kept.
 */
export class LastPublication {
  readonly #registry: Registry;
  readonly #memoryBytes: number;
  /** What is kept, as far as this object knows: SHA-256 of the row's text, and the memories. */
  #listed: string | null = null;
  #memories: readonly KeptMemory[] | null = null;
  #memoriesAt = Number.NEGATIVE_INFINITY;
  /** Nothing is kept: it need not be removed again. */
  #isForgotten = false;
  #writing: Promise<void> = Promise.resolve();

  /** @param memoryBytes that all memories of an origin may take. */
  constructor(registry: Registry, memoryBytes: number) {
    this.#registry = registry;
    this.#memoryBytes = memoryBytes;
  }

  /** Never rejects: what could not be written is written after the next discovery. @param release `null`: it withdrew all. */
  keep(originId: string, release: Release | null): Promise<void> {
    const now = Date.now();
    this.#writing = this.#writing.then(() => this.#keep(originId, release, now));
    return this.#writing;
  }

  /** Removes all that is kept. Never rejects: what could not be removed is removed the next time. */
  forget(originId: string): Promise<void> {
    this.#writing = this.#writing.then(() => this.#forget(originId));
    return this.#writing;
  }

  async #forget(originId: string): Promise<void> {
    if (this.#isForgotten) return;
    try {
      await removePublication(this.#registry, originId);
      this.#isForgotten = true;
      this.#listed = null;
      this.#memories = null;
      this.#memoriesAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      console.warn(JSON.stringify({ event: "publication_not_removed", error: describeFailure(error) }));
    }
  }

  async #keep(originId: string, release: Release | null, now: number): Promise<void> {
    if (release !== null) this.#isForgotten = false;
    try {
      await this.#keepListed(originId, release);
      await this.#keepMemories(originId, release, now);
    } catch (error) {
      console.warn(JSON.stringify({ event: "publication_not_kept", error: describeFailure(error) }));
    }
  }

  async #keepListed(originId: string, release: Release | null): Promise<void> {
    const listed = release === null ? [] : restorableSkills(release);
    const wanted = listedRow({ listed, attestations: release?.attestations ?? [] });
    const hasAll = release === null || unread(release, "attestations", isUnread).length === 0;
    const hash = await hashOf(wanted);
    if (hash === this.#listed) return;
    const kept = await readListed(this.#registry, originId);
    const row = hasAll || kept === null ? wanted : { ...wanted, attestations: kept.attestations };
    const isNew = kept === null ? release !== null : (await hashOf(kept)) !== (await hashOf(row));
    if (isNew) await keepListed(this.#registry, originId, row);
    this.#listed = hasAll ? hash : null;
  }

  async #keepMemories(originId: string, release: Release | null, now: number): Promise<void> {
    const memories = release?.memories ?? [];
    const bytes = new Map(memories.map((memory) => [memory.sha256, memory.bytes]));
    const before = this.#memories ?? (await keptMemories(this.#registry, originId));
    const mayWrite = Math.abs(now - this.#memoriesAt) >= MEMORIES_PAUSE_MS;
    const scopes = new Set(memories.map(({ scope }) => scope));
    const missing = release === null ? [] : unread(release, "memory", isOutage).map(({ scope }) => scope);
    const next = memories.flatMap(({ scope, format, sha256, bytes: { length: size } }): KeptMemory[] => {
      const known = before.find((one) => one.scope === scope);
      if (known?.sha256 === sha256 || mayWrite) return [{ scope, format, sha256, size }];
      return known === undefined ? [] : [known];
    });
    // Only what the publisher withdrew goes, and what has no room beside what it has now.
    let bytesLeft = this.#memoryBytes - next.reduce((sum, { size }) => sum + size, 0);
    for (const one of before) {
      if (!missing.includes(one.scope) || scopes.has(one.scope) || one.size > bytesLeft) continue;
      bytesLeft -= one.size;
      next.push(one);
    }
    if (textOf(next) !== textOf(before)) {
      await keepMemories(this.#registry, originId, { before, next, bytes });
      if (next.some(({ sha256 }) => before.every((one) => one.sha256 !== sha256))) this.#memoriesAt = now;
    } else if (this.#memories === null) {
      // Rows of an earlier life of the hub: their bytes may be gone.
      await writeArtifacts(this.#registry, bytes);
    }
    this.#memories = next;
  }
}

function unread(
  { rejected }: Release,
  wanted: Rejection["subject"],
  isOfThese: (one: Rejection) => boolean,
): readonly Rejection[] {
  return rejected.filter((one) => one.subject === wanted && isOfThese(one));
}

function textOf(memories: readonly KeptMemory[]): string {
  return JSON.stringify(memories.map(({ scope, format, sha256 }) => [scope, format, sha256]).sort());
}

/** The row itself has up to 256 KiB. */
function hashOf({ listed, attestations }: ListedRow): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify([listed, attestations])));
}
