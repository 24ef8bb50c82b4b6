import type { Release } from "../../core/discovery/release.ts";
import { describeFailure } from "../log.ts";
import type { Registry } from "../registry/database.ts";
import { keepListed, keepMemories } from "../registry/publications.ts";
import { listedSkills } from "./held-versions.ts";

/** A publisher may change 8 MiB of memories with every discovery; they are written at most this often, milliseconds. */
const MEMORIES_PAUSE_MS = 10 * 60_000;

/** Keeps in D1 what one origin last published, where that changed: one write after the other, the latest last. */
export class LastPublication {
  readonly #registry: Registry;
  /** What was written last, as far as this object knows. */
  #listed = "";
  #memories = "";
  #memoriesAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Never rejects: what could not be written is written after the next discovery. @param release `null`: it withdrew all. */
  keep(originId: string, release: Release | null): Promise<void> {
    this.#writing = this.#writing.then(() => this.#keep(originId, release));
    return this.#writing;
  }

  async #keep(originId: string, release: Release | null): Promise<void> {
    try {
      await this.#keepListed(originId, release);
      await this.#keepMemories(originId, release?.memories ?? []);
    } catch (error) {
      console.warn(JSON.stringify({ event: "publication_not_kept", error: describeFailure(error) }));
    }
  }

  async #keepListed(originId: string, release: Release | null): Promise<void> {
    const listed = release === null ? [] : listedSkills(release).map(({ scope, name }) => ({ scope, name }));
    const attestations = release?.attestations ?? [];
    const text = JSON.stringify([listed, attestations.map(({ id }) => id)]);
    if (text === this.#listed) return;
    await keepListed(this.#registry, originId, { listed, attestations });
    this.#listed = text;
  }

  async #keepMemories(originId: string, memories: Release["memories"]): Promise<void> {
    const text = JSON.stringify(memories.map(({ scope, sha256 }) => [scope, sha256]));
    const now = Date.now();
    if (text === this.#memories || Math.abs(now - this.#memoriesAt) < MEMORIES_PAUSE_MS) return;
    await keepMemories(this.#registry, originId, memories);
    this.#memories = text;
    this.#memoriesAt = now;
  }
}
