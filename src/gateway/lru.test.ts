import { expect, it } from "vitest";
import { LruCache } from "./lru.ts";

it("drops the entry used longest ago when the weight exceeds the bound", () => {
  const cache = new LruCache<string, number>(10, (weight) => weight);
  cache.set("a", 4);
  cache.set("b", 4);
  cache.get("a");
  cache.set("c", 3);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([4, undefined, 3]);
  expect(cache.weight).toBe(7);
});

it("keeps an entry of exactly the bound and none above it", () => {
  const cache = new LruCache<string, number>(10, (weight) => weight);
  cache.set("exact", 10);
  expect(cache.get("exact")).toBe(10);
  cache.set("exact", 11);
  expect([cache.size, cache.weight]).toEqual([0, 0]);
});

it("counts a replaced entry once", () => {
  const cache = new LruCache<string, number>(10, (weight) => weight);
  for (let i = 0; i < 5; i++) cache.set("a", 6);
  expect([cache.size, cache.weight]).toEqual([1, 6]);
  cache.clear();
  expect([cache.size, cache.weight]).toEqual([0, 0]);
});
