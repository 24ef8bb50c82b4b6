import { describe, expect, it } from "vitest";
import { AuthFailures, clientAddress } from "./failures.ts";

const T0 = 1_700_000_040_000 - (1_700_000_040_000 % 60_000);

describe("AuthFailures", () => {
  it("[budget:auth-failures] lets an address fail exactly as often as the limit says", () => {
    const failures = new AuthFailures();
    for (let i = 0; i < 3; i++) {
      expect(failures.retryAfter("a", 3, T0)).toBe(0);
      failures.record("a", T0);
    }
    expect(failures.retryAfter("a", 3, T0)).toBeGreaterThan(0);
    expect(failures.retryAfter("b", 3, T0)).toBe(0);
  });

  it("does not let twice the limit through across the edge of a minute", () => {
    const failures = new AuthFailures();
    for (let i = 0; i < 10; i++) failures.record("a", T0 + 59_000);
    expect(failures.retryAfter("a", 10, T0 + 60_000)).toBeGreaterThan(0);
    expect(failures.retryAfter("a", 10, T0 + 61_000)).toBe(0);
    expect(failures.retryAfter("a", 10, T0 + 180_000)).toBe(0);
  });

  it("[budget:auth-failures] counts attempts under way, each credential once, until they settle or are lost", () => {
    const failures = new AuthFailures();
    for (const credential of ["x", "y", "x"]) failures.begin("a", credential, T0);
    failures.record("a", T0);
    expect(failures.retryAfter("a", 4, T0, "z")).toBe(0);
    expect(failures.retryAfter("a", 3, T0, "z")).toBe(1);
    expect(failures.retryAfter("a", 3, T0, "x")).toBe(0);
    expect(failures.retryAfter("b", 1, T0, "z")).toBe(0);
    failures.settle("a", "x");
    expect(failures.retryAfter("a", 3, T0, "z")).toBe(0);
    expect(failures.retryAfter("a", 2, T0 + 5_000, "z")).toBe(1);
    expect(failures.retryAfter("a", 2, T0 + 5_001, "z")).toBe(0);
  });

  it("has an address's attempts judged four at a time, and one at a time once it failed ten times within a minute", () => {
    const failures = new AuthFailures();
    for (const credential of ["w", "x", "y"]) failures.begin("a", credential, T0);
    expect(failures.mustWait("a", T0, "z")).toBe(false);
    failures.begin("a", "v", T0);
    expect(failures.mustWait("a", T0, "z")).toBe(true);
    expect(failures.mustWait("a", T0, "v")).toBe(false);
    expect(failures.mustWait("b", T0, "z")).toBe(false);

    failures.begin("b", "v", T0);
    for (let i = 0; i < 9; i++) failures.record("b", T0);
    expect(failures.isGuessing("b", T0)).toBe(false);
    expect(failures.mustWait("b", T0, "z")).toBe(false);
    failures.record("b", T0);
    expect(failures.isGuessing("b", T0)).toBe(true);
    expect(failures.mustWait("b", T0, "z")).toBe(true);
    failures.settle("b", "v");
    expect(failures.mustWait("b", T0, "z")).toBe(false);
    expect(failures.isGuessing("b", T0 + 120_000)).toBe(false);
  });

  it("forgets the address seen longest ago instead of growing", () => {
    const failures = new AuthFailures();
    failures.record("first", T0);
    for (let i = 0; i < 10_000; i++) failures.record(`address ${i}`, T0);
    expect(failures.retryAfter("first", 1, T0)).toBe(0);
    expect(failures.retryAfter("address 9999", 1, T0)).toBeGreaterThan(0);
  });
});

describe("clientAddress", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:0DB8:0001:0002::6", "2001:db8:1:2"],
    ["2001:db8::6", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["::", "0:0:0:0"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["", "unknown"],
    ["x".repeat(99), "unknown"],
    ["203.0.113.7, 10.0.0.1", "unknown"],
  ])("counts %s under %s", (address, name) => {
    expect(clientAddress(new Headers({ "CF-Connecting-IP": address }))).toBe(name);
  });
});
