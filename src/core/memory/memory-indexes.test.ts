import { expect, it } from "vitest";
import type { Sha256Hex } from "../integrity.ts";
import { indexOf, snapshotOf } from "./fixture/snapshots.ts";
import { MemoryIndexes, type Snapshot } from "./memory-indexes.ts";

const open = new AbortController().signal;

/** A snapshot of so many chunks, each with `word` in it; the hash is a key only. */
function snapshot(word: string, chunks = 1): Snapshot {
  const content = `${word} ${"filler ".repeat(20)}`;
  const bytes = snapshotOf(Array.from({ length: chunks }, (_, n) => ({ id: `${word}${n}`, metadata: { content } })));
  return { sha256: word as Sha256Hex, bytes };
}

function meter() {
  const charged: number[] = [];
  return { charge: (gas: number) => void charged.push(gas), total: () => charged.reduce((sum, gas) => sum + gas, 0) };
}

it("an index is built once, whoever asks for it meanwhile, and its gas is charged once", async () => {
  const indexes = new MemoryIndexes();
  const large = snapshot("large", 2_000);
  const meters = [meter(), meter(), meter()];
  const built = await Promise.all(meters.map(({ charge }) => indexes.build(large, charge, open)));
  expect(new Set(built).size).toBe(1);
  expect(indexes.get(large.sha256)).toBe(built[0]);
  const total = meters.reduce((sum, each) => sum + each.total(), 0);
  expect(total).toBeGreaterThan(large.bytes.length * 0.99);
  expect(total).toBeLessThanOrEqual(large.bytes.length);
});

it("other work has its turn between the slices of a build", async () => {
  let turns = 0;
  const indexes = new MemoryIndexes(undefined, async () => void turns++);
  const large = snapshot("large", 2_000);
  await indexes.build(large, () => {}, open);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(large.bytes.length / (66 * 1024)));
});

it("a build whose caller is cancelled is finished by the others, and one that nobody waits for is dropped", async () => {
  const indexes = new MemoryIndexes();
  const large = snapshot("large", 2_000);
  const caller = new AbortController();
  const cancelled = indexes.build(large, () => {}, caller.signal);
  const other = indexes.build(large, () => {}, open);
  caller.abort();
  await expect(cancelled).rejects.toThrow();
  expect((await other).size).toBe(2_000);

  const left = new AbortController();
  const alone = indexes.build(snapshot("alone", 2_000), () => {}, left.signal);
  left.abort();
  await expect(alone).rejects.toThrow();
  expect(indexes.get("alone" as Sha256Hex)).toBeUndefined();
});

it("a caller that is never heard of again keeps nobody waiting", async () => {
  let first = true;
  const pause = () => {
    const never = first;
    first = false;
    return never ? new Promise<void>(() => {}) : Promise.resolve();
  };
  const indexes = new MemoryIndexes(undefined, pause);
  void indexes.build(snapshot("lost", 2_000), () => {}, open);
  const own = meter();
  expect((await indexes.build(snapshot("other"), own.charge, open)).size).toBe(1);
  // The build of the lost caller was finished on the way, at nobody's cost.
  expect(indexes.get("lost" as Sha256Hex)?.size).toBe(2_000);
  expect(own.total()).toBeLessThan(1_000);
});

it("a build ends where its caller has no gas left", async () => {
  const indexes = new MemoryIndexes();
  const charge = () => {
    throw new Error("gas exhausted");
  };
  await expect(indexes.build(snapshot("dear", 2_000), charge, open)).rejects.toThrow("gas exhausted");
  expect(indexes.get("dear" as Sha256Hex)).toBeUndefined();
});

it("a snapshot that cannot be searched is remembered as such", async () => {
  const indexes = new MemoryIndexes();
  const broken = { sha256: "broken" as Sha256Hex, bytes: new TextEncoder().encode("{}") };
  await expect(indexes.build(broken, () => {}, open)).rejects.toMatchObject({ code: "not_an_array" });
  expect(() => indexes.get(broken.sha256)).toThrow("must be a JSON array");
});

it("what is not kept is handed to all who wait for it, be it an index or a failure", async () => {
  const indexes = new MemoryIndexes(0);
  const large = snapshot("large", 2_000);
  const meters = [meter(), meter()];
  const waiting = meters.map(({ charge }) => indexes.build(large, charge, open));
  const broken = { sha256: "broken" as Sha256Hex, bytes: new TextEncoder().encode("{}") };
  const failing = [1, 2].map(() => indexes.build(broken, () => {}, open));
  await Promise.all(failing.map((each) => expect(each).rejects.toMatchObject({ code: "not_an_array" })));
  expect((await Promise.all(waiting)).map(({ size }) => size)).toEqual([2_000, 2_000]);
  expect(meters.reduce((sum, each) => sum + each.total(), 0)).toBeLessThanOrEqual(large.bytes.length);
});

it("of three that do not fit together, two stay while all are in use", async () => {
  const words = ["one", "two", "three"];
  const indexes = new MemoryIndexes(2.5 * indexOf(snapshot("one", 500).bytes).bytes);
  const own = meter();
  for (let round = 0; round < 4; round++) {
    for (const word of words) await indexes.build(snapshot(word, 500), own.charge, open);
  }
  const { length } = snapshot("one", 500).bytes;
  // Once each, and the third one in every round.
  expect(own.total() / length).toBeLessThan(6.5);
});

it("all indexes together stay within their bytes: the one least recently used goes, once another is needed twice", async () => {
  const words = ["one", "two", "three", "three"];
  const size = indexOf(snapshot("one", 500).bytes).bytes;
  const indexes = new MemoryIndexes(2.5 * size);
  for (const word of words) await indexes.build(snapshot(word, 500), () => {}, open);
  expect(words.filter((word) => indexes.get(word as Sha256Hex) !== undefined)).toEqual(["two", "three", "three"]);
  expect(indexes.bytes).toBeLessThanOrEqual(2.5 * size);
  const tiny = new MemoryIndexes(size / 2);
  expect((await tiny.build(snapshot("one", 500), () => {}, open)).size).toBe(500);
  expect(tiny.bytes).toBe(0);
});
