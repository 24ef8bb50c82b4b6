import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHUNKS, GOLDEN } from "./fixture/golden.ts";
import { type NaiveChunk, naiveSearch } from "./fixture/naive-search.ts";
import { indexOf, snapshotOf } from "./fixture/snapshots.ts";

const found = (chunks: readonly NaiveChunk[], query: string, k: number) =>
  indexOf(snapshotOf(chunks))
    .search(query, k)
    .map(({ chunkId, score }) => ({ id: chunkId, score }));

const chunk = (id: string, content: string, more: object = {}): NaiveChunk => ({ id, metadata: { content, ...more } });

describe("the ranking", () => {
  it("[10.4-T20] has the figures that were computed without an index", () => {
    const index = indexOf(snapshotOf(CHUNKS));
    for (const { query, hits } of GOLDEN) {
      const got = index.search(query, 10).map(({ chunkId, score }) => [chunkId, score]);
      expect(got, query).toEqual(hits);
    }
  });

  it("is that of the naive implementation, score for score, on any corpus", () => {
    // Few words, so that they meet; letters of many scripts, marks, digits, emoji, lone surrogates and what lower case makes longer.
    const word = fc.constantFrom(
      ...[
        "the",
        "The",
        "skill",
        "skills",
        "x",
        "é",
        "É",
        "²",
        "½",
        "Ⅷ",
        "日本",
        "日",
        "ΟΔΟΣ",
        "οδός",
        "İstanbul",
        "ß",
        "ẞ",
      ],
      ...[
        "𝔘nicode",
        "𐐀𐐨",
        "e\u0301",
        "\u0301",
        "नमस्ते",
        "ـعربيـ",
        "😀",
        "\ud800",
        "a_b",
        "don't",
        "__proto__",
        "constructor",
      ],
    );
    const gap = fc.constantFrom(" ", "\n", "-", ", ", "", "\u00a0", "\u200b", "’");
    const text = fc
      .array(
        fc.tuple(
          fc.oneof({ weight: 5, arbitrary: word }, { weight: 1, arbitrary: fc.string({ unit: "binary" }) }),
          gap,
        ),
      )
      .map((pairs) => pairs.flat().join(""));
    const metadata = fc.record(
      {
        content: text,
        title: text,
        description: fc.oneof(text, fc.constant(7)),
        tags_text: text,
        heading: text,
        tags: fc.array(text),
        okf_concept: text,
      },
      { requiredKeys: [] },
    );
    const ids = fc.uniqueArray(fc.oneof(fc.string(), fc.stringMatching(/^d[0-9]{1,2}$/)), { maxLength: 12 });
    const corpus = ids.chain((all) =>
      fc.tuple(...all.map((id) => metadata.map((fields): NaiveChunk => ({ id, metadata: fields })))),
    );
    fc.assert(
      fc.property(corpus, text, fc.integer({ min: 1, max: 10 }), (chunks, query, k) => {
        // A lone surrogate does not survive UTF-8, neither here nor on the wire.
        const sent = JSON.parse(new TextDecoder().decode(snapshotOf(chunks))) as NaiveChunk[];
        expect(found(chunks, query, k)).toEqual(naiveSearch(sent, query, k));
      }),
      { numRuns: 300 },
    );
  });

  it("breaks ties by id in the order of code units", () => {
    const ids = ["d2", "d10", "d1", "d0", "d11", "é", "Z", "\ufb01", "😀"];
    const chunks = ids.map((id) => chunk(id, "same words"));
    const order = ["Z", "d0", "d1", "d10", "d11", "d2", "é", "😀", "\ufb01"];
    expect(found(chunks, "words", 10).map(({ id }) => id)).toEqual(order);
    expect(found(chunks, "words", 3).map(({ id }) => id)).toEqual(order.slice(0, 3));
  });

  it("[10.4-T21] has no hit where no word of the query is known, and none in an empty snapshot", () => {
    expect(found([chunk("a", "one two")], "three 1 x", 5)).toEqual([]);
    expect(found([], "one", 5)).toEqual([]);
  });

  it("counts a word of a million letters without keeping it", () => {
    const index = indexOf(snapshotOf([chunk("a", `${"x".repeat(1_000_000)} short`), chunk("b", "short")]));
    expect(index.search("short", 5).map(({ chunkId }) => chunkId)).toEqual(["b", "a"]);
    expect(index.bytes).toBeLessThan(100_000);
  });
});

describe("a hit", () => {
  it("shows the first 200 code points of the content, and the concept where there is no title", () => {
    const content = `${"😀".repeat(199)} word`;
    const index = indexOf(snapshotOf([chunk("a", content, { okf_concept: "c" }), chunk("b", "word", { title: "T" })]));
    expect(index.search("word", 5)).toEqual([
      { chunkId: "a", conceptId: "c", title: null, text: `${"😀".repeat(199)} …`, score: expect.any(Number) },
      { chunkId: "b", conceptId: "", title: "T", text: "word", score: expect.any(Number) },
    ]);
  });
});

describe("the gas of a search", () => {
  it("grows with the chunks that hold its words, and is charged before the work", () => {
    const index = indexOf(
      snapshotOf(Array.from({ length: 1_000 }, (_, n) => chunk(`d${n}`, n === 0 ? "common rare" : "common"))),
    );
    const gasOf = (query: string) => {
      let gas = 0;
      index.search(query, 1, (units) => {
        gas += units;
      });
      return gas;
    };
    expect(gasOf("common") - gasOf("rare")).toBe(999);
    expect(gasOf("common ".repeat(100)) - gasOf("")).toBe(100_000);
    const refuse = () => {
      throw new Error("gas exhausted");
    };
    expect(() => index.search("common", 1, refuse)).toThrow("gas exhausted");
  });
});
