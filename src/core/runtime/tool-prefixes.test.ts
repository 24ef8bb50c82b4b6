import { describe, expect, it } from "vitest";
import type { CanonicalOrigin } from "../origin.ts";
import { prefixedName, toolPrefixes } from "./tool-prefixes.ts";

const prefixesOf = async (...origins: string[]) => [...(await toolPrefixes(origins as CanonicalOrigin[])).values()];

describe("prefixes", () => {
  it("are made of host, port and base path", async () => {
    expect(
      await prefixesOf(
        "https://shop.example",
        "https://shop.example:8443/eu",
        "http://127.0.0.1:8788",
        "http://[::1]:9",
      ),
    ).toEqual(["shop_example", "shop_example_8443_eu", "127_0_0_1_8788", "1_9"]);
  });

  it("are cut to 24 characters, and told apart where they would be one", async () => {
    const prefixes = await prefixesOf(
      "https://a-b.example",
      "https://a.b.example",
      "https://a-very-long-name.example/first",
      "https://a-very-long-name.example/second",
    );
    expect(new Set(prefixes).size).toBe(4);
    for (const prefix of prefixes) expect(prefix).toMatch(/^[A-Za-z0-9_]{1,24}$/);
    for (const prefix of prefixes) expect(prefix).not.toContain("__");
  });

  it("are nobody else's, though somebody chooses an address that looks like it", async () => {
    const [, dotted] = await prefixesOf("https://a-b.example", "https://a.b.example");
    const imitation = `https://a.b.example/${dotted?.slice(-6)}`;
    const prefixes = await prefixesOf("https://a-b.example", "https://a.b.example", imitation);
    expect(new Set(prefixes).size).toBe(3);
    // Two paths whose first six digits were found to be the same, and the same first letters.
    const found = new Map<string, string>();
    let twins: string[] = [];
    for (let index = 0; twins.length === 0; index++) {
      const origin = `https://a-very-long-name.example/${index}`;
      const [prefix = ""] = await prefixesOf(origin);
      const before = found.get(prefix);
      if (before !== undefined) twins = [before, origin];
      found.set(prefix, origin);
    }
    expect(new Set(await prefixesOf(...twins)).size).toBe(2);
    for (const prefix of await prefixesOf(...twins)) expect(prefix).toMatch(/^[A-Za-z0-9_]{1,24}$/);
  });

  it("do not depend on the other origins", async () => {
    const [alone] = await prefixesOf("https://a-very-long-name.example/first");
    const [, beside] = await prefixesOf("https://other.example", "https://a-very-long-name.example/first");
    expect(beside).toBe(alone);
  });
});

describe("prefixed names", () => {
  it("are at most 64 characters, and two long ones stay two", async () => {
    const long = "x".repeat(128);
    const names = [await prefixedName("shop_example", `${long}a`), await prefixedName("shop_example", `${long}b`)];
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name).toMatch(/^shop_example__x+_[0-9a-f]{6}$/);
    for (const name of names) expect(name).toHaveLength(64);
    expect(await prefixedName("shop_example", "kb__search")).toBe("shop_example__kb__search");
  });
});
