import type { Release } from "../../core/discovery/release.ts";
import { describeFailure } from "../log.ts";
import type { Registry } from "../registry/database.ts";
import { keepPublication, type Publication, publicationText } from "../registry/publications.ts";
import { listedSkills } from "./held-versions.ts";

/** An origin that answers and offers nothing. */
const NOTHING: Publication = { listed: [], attestations: [], memories: [] };

/** Keeps in D1 what one origin last published, where that changed: one write after the other, the latest last. */
export class LastPublication {
  readonly #registry: Registry;
  /** What was written last, as far as this object knows. */
  #kept = "";
  #writing: Promise<void> = Promise.resolve();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Never rejects: what could not be written is written after the next discovery. @param release `null`: it withdrew all. */
  keep(originId: string, release: Release | null): Promise<void> {
    this.#writing = this.#writing.then(() => this.#keep(originId, release === null ? NOTHING : publicationOf(release)));
    return this.#writing;
  }

  async #keep(originId: string, publication: Publication): Promise<void> {
    const text = publicationText(publication);
    if (text === this.#kept) return;
    try {
      await keepPublication(this.#registry, originId, publication);
      this.#kept = text;
    } catch (error) {
      console.warn(JSON.stringify({ event: "publication_not_kept", error: describeFailure(error) }));
    }
  }
}

function publicationOf(release: Release): Publication {
  const { attestations, memories } = release;
  return { listed: listedSkills(release).map(({ scope, name }) => ({ scope, name })), attestations, memories };
}
