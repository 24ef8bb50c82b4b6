import { expect, it } from "vitest";
import { GasBreaker } from "./gas-breaker.ts";

it("[budget:gas-exhaustions] suspends at the fifth exhaustion within a minute, not at the fourth, for exactly a minute", () => {
  const breaker = new GasBreaker(5);
  for (const at of [0, 1, 2, 59_998]) breaker.record("a", at);
  expect(breaker.remainingMs("a", 59_998)).toBe(0);
  breaker.record("a", 59_999);
  expect(breaker.remainingMs("a", 59_999)).toBe(60_000);
  expect(breaker.remainingMs("b", 59_999)).toBe(0);
  expect(breaker.remainingMs("a", 119_998)).toBe(1);
  expect(breaker.remainingMs("a", 119_999)).toBe(0);
});

it("[budget:gas-exhaustions] does not count an exhaustion that is a minute old", () => {
  for (const [fifth, suspended] of [
    [59_999, true],
    [60_000, false],
    [60_001, false],
  ] as const) {
    const breaker = new GasBreaker(5);
    for (const at of [0, 10_000, 20_000, 30_000, fifth]) breaker.record("a", at);
    expect(breaker.remainingMs("a", fifth) > 0, String(fifth)).toBe(suspended);
  }
});

it("counts anew after a suspension", () => {
  const breaker = new GasBreaker(2);
  breaker.record("a", 0);
  breaker.record("a", 0);
  breaker.record("a", 60_000);
  expect(breaker.remainingMs("a", 60_000)).toBe(0);
  breaker.record("a", 60_001);
  expect(breaker.remainingMs("a", 60_001)).toBe(60_000);
});

it("stays suspended when calls that were under way end without gas", () => {
  const breaker = new GasBreaker(2);
  for (const at of [0, 1, 2, 3]) breaker.record("a", at);
  expect(breaker.remainingMs("a", 3)).toBe(59_998);
});

it("suspends nobody for longer than a minute when the clock is set back", () => {
  const breaker = new GasBreaker(1);
  breaker.record("a", 1_000_000);
  expect(breaker.remainingMs("a", 0)).toBe(0);
  expect(breaker.remainingMs("a", 1_000_000)).toBe(60_000);
});

it("remembers a bounded number of keys, the latest ones", () => {
  const breaker = new GasBreaker(1);
  for (let index = 0; index < 5_000; index++) breaker.record(`k${index}`, 0);
  expect(breaker.size).toBe(4_096);
  expect(breaker.remainingMs("k0", 0)).toBe(0);
  expect(breaker.remainingMs("k4999", 0)).toBe(60_000);
});
