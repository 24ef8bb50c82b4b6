import { expect, it } from "vitest";
import { ticksOf } from "./ticks.ts";

it.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [2.5, [0, 1, 2, 3]],
  [54, [0, 20, 40, 60]],
  [1_374, [0, 500, 1_000, 1_500]],
  [20_000, [0, 5_000, 10_000, 15_000, 20_000]],
])("marks an axis up to %d by round numbers", (largest, ticks) => {
  expect(ticksOf(largest)).toEqual(ticks);
});
