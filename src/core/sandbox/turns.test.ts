import { expect, it } from "vitest";
import { SLICE_GAS, Turns } from "./turns.ts";

const [ONE, OTHER] = [{}, {}];

it("gives a call that meets nobody longer and longer slices, up to four times the first", async () => {
  // By this clock every timer is in time.
  const turns = new Turns(() => 1_000_000);
  turns.begin();
  const slices: number[] = [];
  for (let turn = 0; turn < 5; turn++) slices.push((await turns.next(ONE)) / SLICE_GAS);
  expect(slices).toEqual([1, 2, 4, 4, 4]);
  turns.begin();
  expect(await turns.next(ONE)).toBe(SLICE_GAS);
});

it("gives short slices where something else kept the thread busy, and pauses twice as long as a slice took", async () => {
  let now = 1_000_000;
  const turns = new Turns(() => now);
  await turns.next(ONE);
  setTimeout(() => {
    now += 10;
  }, 0);
  expect(await turns.next(ONE)).toBe(SLICE_GAS);
  now += 7;
  const settled: boolean[] = [false];
  const next = turns.next(ONE).then((gas) => {
    settled[0] = true;
    return gas;
  });
  for (const [ms, isDue] of [
    [13, false],
    [1, true],
  ] as const) {
    now += ms;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(settled[0], `${ms}`).toBe(isDue);
  }
  expect(await next).toBe(SLICE_GAS);
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
