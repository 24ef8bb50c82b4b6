import { expect, it } from "vitest";
import { SLICE_GAS, Turns } from "./turns.ts";

const [ONE, OTHER] = [{}, {}];

it("gives a call that meets nobody longer and longer slices, up to four times the first", async () => {
  const turns = new Turns(Date.now);
  turns.begin();
  const slices: number[] = [];
  for (let turn = 0; turn < 5; turn++) slices.push((await turns.next(ONE)) / SLICE_GAS);
  expect(slices).toEqual([1, 2, 4, 4, 4]);
  turns.begin();
  expect(await turns.next(ONE)).toBe(SLICE_GAS);
});

it("lets calls that compute at once take turns", async () => {
  const turns = new Turns(Date.now);
  const order: string[] = [];
  const compute = async (name: string, call: object) => {
    turns.begin();
    for (let turn = 0; turn < 4; turn++) {
      await turns.next(call);
      order.push(name);
    }
  };
  await Promise.all([compute("a", ONE), compute("b", OTHER)]);
  expect(new Set(order.slice(0, 5)).size).toBe(2);
});

it("ends also where the clock stands still or goes back", async () => {
  let now = 1_000_000;
  const turns = new Turns(() => now);
  for (const call of [ONE, OTHER, ONE]) expect(await turns.next(call)).toBe(SLICE_GAS);
  now = 0;
  expect(await turns.next(OTHER)).toBe(SLICE_GAS);
});
