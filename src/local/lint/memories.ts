import type { ReleaseMemory } from "../../core/discovery/release.ts";
import { buildIndex } from "../../core/memory/index-builder.ts";
import { SnapshotError } from "../../core/memory/snapshot-error.ts";
import type { Finding } from "./finding.ts";

/** Snapshots whose hash agrees and that no tool could search all the same: a gateway learns it at the first search. */
export function checkMemories(memories: readonly ReleaseMemory[]): Finding[] {
  return memories.flatMap(({ scope, bytes }): Finding[] => {
    try {
      for (const _ of buildIndex(bytes));
      return [];
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      return [{ level: "failure", subject: "memory", scope, name: "", code: error.code, message: error.message }];
    }
  });
}
