import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexOf } from "./fixture/snapshots.ts";

/** Figures of the format's first implementation over a corpus that is not ours to publish; they lie beside some checkouts only. */
const folder = ["../shared", "../../shared"]
  .map((path) => join(import.meta.dirname, "../../..", path, "data/memory"))
  .find((path) => existsSync(path));

interface Golden {
  readonly queries: readonly {
    readonly query: string;
    readonly k: number;
    readonly hits: readonly { chunk_id: string; concept_id: string; title: string; score: number; text: string }[];
  }[];
}

describe.skipIf(folder === undefined)("the golden queries (skipped where the corpus is absent)", () => {
  it("have the same hits and the same scores, bit for bit", () => {
    const index = indexOf(readFileSync(join(folder ?? "", "spec.snapshot")));
    const { queries } = JSON.parse(readFileSync(join(folder ?? "", "golden.json"), "utf8")) as Golden;
    expect(queries.length).toBeGreaterThan(0);
    for (const { query, k, hits } of queries) {
      const got = index.search(query, k).map(({ chunkId, conceptId, title, score, text }) => ({
        chunk_id: chunkId,
        concept_id: conceptId,
        title: title ?? conceptId,
        score,
        text,
      }));
      expect(got, query).toEqual(hits);
    }
  });
});
