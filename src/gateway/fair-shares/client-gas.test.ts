import { expect, it } from "vitest";
import { ClientGas } from "./client-gas.ts";

it("[budget:client-gas] refuses from exactly the budget on, not one unit below", () => {
  for (const [used, refused] of [
    [999, false],
    [1_000, true],
    [1_001, true],
  ] as const) {
    const gas = new ClientGas();
    gas.charge("a", used - 1, 100_000);
    gas.charge("a", 1, 103_000);
    expect(gas.retryAfterMs("a", 1_000, 104_000) > 0, String(used)).toBe(refused);
    expect(gas.retryAfterMs("b", 1_000, 104_000)).toBe(0);
  }
});

it("[budget:client-gas] counts gas for a minute after the five seconds in which it was used, to the millisecond", () => {
  const gas = new ClientGas();
  gas.charge("a", 1_000, 102_000);
  expect(gas.retryAfterMs("a", 1_000, 102_000)).toBe(63_000);
  expect(gas.retryAfterMs("a", 1_000, 164_999)).toBe(1);
  expect(gas.retryAfterMs("a", 1_000, 165_000)).toBe(0);
});

it("says when enough has aged, not when all has", () => {
  const gas = new ClientGas();
  gas.charge("a", 600, 100_000);
  gas.charge("a", 600, 110_000);
  gas.charge("a", 600, 120_000);
  expect(gas.retryAfterMs("a", 1_000, 120_000)).toBe(110_000 + 65_000 - 120_000);
  expect(gas.retryAfterMs("a", 1_300, 120_000)).toBe(100_000 + 65_000 - 120_000);
  expect(gas.retryAfterMs("a", 1_801, 120_000)).toBe(0);
});

it("blocks nobody after the clock was set back", () => {
  const gas = new ClientGas();
  gas.charge("a", 1_000, 10_000_000);
  expect(gas.retryAfterMs("a", 1_000, 1_000)).toBe(0);
});

it("remembers a bounded number of clients, and none that used nothing", () => {
  const gas = new ClientGas();
  gas.charge("idle", 0, 0);
  expect(gas.size).toBe(0);
  for (let index = 0; index < 10_001; index++) gas.charge(`c${index}`, 1, 0);
  expect(gas.size).toBe(10_000);
  expect(gas.retryAfterMs("c0", 1, 0)).toBe(0);
  expect(gas.retryAfterMs("c10000", 1, 0)).toBeGreaterThan(0);
});
