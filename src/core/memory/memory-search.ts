import type { Capabilities, MemoryHit } from "../sandbox/capabilities.ts";
import type { MemoryIndex } from "./memory-index.ts";
import type { MemoryIndexes, Snapshot } from "./memory-indexes.ts";

/**
 * `host.memorySearch` over one verified snapshot (Executable Skills v0.5, origin memory): the first search in an isolate builds
 * the index, later ones answer at once. Both are charged to the guest's gas.
 */
export function createMemorySearch(
  snapshot: Snapshot,
  indexes: MemoryIndexes,
): NonNullable<Capabilities["memorySearch"]> {
  return (query, k, meter) => {
    const search = (index: MemoryIndex): readonly MemoryHit[] =>
      index.search(query, k, meter.charge).map(({ text, score, title, conceptId }) => ({
        text,
        score,
        title: title ?? conceptId,
        concept_id: conceptId,
      }));
    const index = indexes.get(snapshot.sha256);
    return index === undefined ? indexes.build(snapshot, meter.charge, meter.signal).then(search) : search(index);
  };
}
