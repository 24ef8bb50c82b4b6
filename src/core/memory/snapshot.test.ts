import { describe, expect, it } from "vitest";
import { indexOf, snapshotOf } from "./fixture/snapshots.ts";
import { MAX_INDEX_BYTES } from "./index-builder.ts";
import { MAX_CHUNKS, MAX_DEPTH, MAX_VALUES, readSnapshot } from "./snapshot.ts";
import { SnapshotError } from "./snapshot-error.ts";

const MIB = 1024 * 1024;
const bytesOf = (text: string) => new TextEncoder().encode(text);
const chunksOf = (snapshot: Uint8Array) => [...readSnapshot(snapshot)].flatMap(({ chunks }) => chunks);
const numbered = (count: number, content: string) =>
  snapshotOf(Array.from({ length: count }, (_, n) => ({ id: `${n}`, metadata: { content } })));
const nested = (depth: number) => `[{"id":"a","x":${"[".repeat(depth)}${"]".repeat(depth)}}]`;

function failure(act: () => unknown): SnapshotError {
  try {
    act();
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a snapshot is refused with a code and a sentence when it", () => {
  it.each<[string, string, Uint8Array, RegExp]>([
    ["begins with a byte order mark", "byte_order_mark", bytesOf("\ufeff[]"), /byte order mark/],
    ["is empty", "not_an_array", bytesOf(""), /JSON array/],
    ["is an object", "not_an_array", bytesOf('{"a":[]}'), /JSON array/],
    ["is a page of HTML", "not_an_array", bytesOf("<!doctype html>"), /JSON array/],
    ["ends too early", "bad_json", bytesOf('[{"id":"a"}'), /not valid JSON/],
    ["ends within a string", "bad_json", bytesOf('[{"id":"a'), /not valid JSON/],
    ["goes on behind its end", "bad_json", bytesOf('[{"id":"a"}] []'), /not valid JSON/],
    ["mixes brackets", "bad_json", bytesOf('[{"id":"a"]}'), /not valid JSON/],
    ["closes with a brace", "bad_json", bytesOf('[{"id":"a"}}'), /not valid JSON/],
    ["has a comma too many", "bad_json", bytesOf('[{"id":"a"},]'), /not valid JSON/],
    ["has nothing but a comma", "bad_json", bytesOf("[,]"), /not valid JSON/],
    ["has single quotes", "bad_json", bytesOf("[{'id':'a'}]"), /not valid JSON/],
    ["is not UTF-8", "bad_encoding", Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d), /UTF-8/],
    ["holds numbers", "bad_chunk", bytesOf("[1,2]"), /entry 1 .*must be an object/],
    ["has a chunk without an id", "bad_chunk", bytesOf('[{"id":"a"},{"metadata":{}}]'), /`id` of entry 2 .*string/],
    ["has text for metadata", "bad_chunk", bytesOf('[{"id":"a","metadata":"b"}]'), /`metadata` of entry 1 .*object/],
    ["has an id twice", "duplicate_id", bytesOf('[{"id":"a"},{"id":"b"},{"id":"a"}]'), /two chunks .*"a"/i],
    ["has vectors", "vectors", bytesOf('[{"id":"a","vector":[0.5]}]'), /`vector` of entry 1/],
    ["is nested deeply", "too_deep", bytesOf(nested(MAX_DEPTH - 1)), /32 levels/],
    ["is nested as deeply as 4 MiB can be", "too_deep", bytesOf(nested(2 * MIB - 10)), /32 levels/],
    ["hides a million objects", "too_many_values", bytesOf(`[{"id":"a","x":[{}${",{}".repeat(MIB)}]}]`), /10000 JSON/],
    ["has 100,000 chunks of one letter", "too_many_chunks", numbered(100_000, "a"), /65536 chunks/],
  ])("%s", (_what, code, snapshot, message) => {
    const error = failure(() => indexOf(snapshot));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it("holds more different words than an index may", () => {
    const words = Array.from({ length: 800_000 }, (_, n) => n.toString(36).padStart(4, "0"));
    const chunks = Array.from({ length: 100 }, (_, n) => ({
      id: `${n}`,
      metadata: { content: words.slice(8_000 * n, 8_000 * (n + 1)).join(" ") },
    }));
    const error = failure(() => indexOf(snapshotOf(chunks)));
    expect(error.code).toBe("index_too_large");
    expect(error.message).toContain(`${MAX_INDEX_BYTES} bytes`);
  });
});

describe("a snapshot is read when it", () => {
  it("is empty, spread over lines, or holds what is not known here", () => {
    expect(chunksOf(bytesOf(" [ \n ] \r\n"))).toEqual([]);
    const odd = `[
      {"id":"a","vector":null,"metadata":null,"extra":{"deep":[1,{"x":"]}"}]}} ,
      {"id":"b \\\\","vector":[],"metadata":{"content":"x \\" y","title":5,"tags":["t"],"okf_concept":"c"}}, {"id":""}
    ]`;
    expect(chunksOf(bytesOf(odd))).toEqual([
      { id: "a", concept: "", title: null, content: "", texts: [] },
      { id: "b \\", concept: "c", title: null, content: 'x " y', texts: ['x " y'] },
      { id: "", concept: "", title: null, content: "", texts: [] },
    ]);
  });

  it("is as deep, as full of values and of chunks as it may be", () => {
    expect(chunksOf(bytesOf(nested(MAX_DEPTH - 2)))).toHaveLength(1);
    const values = Array.from({ length: MAX_VALUES - 4 }, () => "0").join(",");
    expect(chunksOf(bytesOf(`[{"id":"a","x":[${values}]}]`))).toHaveLength(1);
    expect(indexOf(numbered(MAX_CHUNKS, "ab")).size).toBe(MAX_CHUNKS);
  });

  it("is 4 MiB of one word, or of one word again and again", () => {
    const one = indexOf(snapshotOf([{ id: "a", metadata: { content: "x".repeat(4 * MIB - 100) } }]));
    expect(one.bytes).toBeLessThan(MIB);
    const again = indexOf(snapshotOf([{ id: "a", metadata: { content: "ab ".repeat((4 * MIB - 100) / 3) } }]));
    expect(again.bytes).toBeLessThan(MIB);
    expect(again.search("ab", 1)).toHaveLength(1);
  });

  it("is read in batches of about 64 KiB, wherever they are cut", () => {
    const snapshot = snapshotOf(
      Array.from({ length: 5_000 }, (_, n) => ({ id: `[${n}],"`, metadata: { content: `${n}, {"é😀": [${n}]}\\` } })),
    );
    const batches = [...readSnapshot(snapshot)];
    expect(batches.length).toBeGreaterThan(3);
    expect(Math.max(...batches.map(({ bytes }) => bytes))).toBeLessThan(66 * 1024);
    expect(batches.flatMap(({ chunks }) => chunks.map(({ id }) => id))).toEqual(
      Array.from({ length: 5_000 }, (_, n) => `[${n}],"`),
    );
  });
});
