import { expect, it } from "vitest";
import { ByteLru } from "./image-cache.ts";

const newCache = (bytes: number) => new ByteLru<string>(bytes, (value) => value.length);

it("drops the entries least recently used when the bytes exceed the bound", () => {
  const cache = newCache(10);
  cache.set("a", "aaaa");
  cache.set("b", "bbbb");
  expect(cache.get("a")).toBe("aaaa");
  cache.set("c", "ccc"); // 11 bytes: one too many
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual(["aaaa", undefined, "ccc"]);
  expect([cache.bytes, cache.size]).toEqual([7, 2]);
  cache.set("d", "ddd"); // exactly 10
  expect([cache.bytes, cache.size]).toEqual([10, 3]);
});

it("replaces an entry and does not keep one that is larger than the bound", () => {
  const cache = newCache(5);
  cache.set("a", "aaa");
  cache.set("a", "aaaaa");
  expect(cache.bytes).toBe(5);
  cache.set("a", "aaaaaa");
  expect([cache.get("a"), cache.bytes]).toEqual([undefined, 0]);
});
