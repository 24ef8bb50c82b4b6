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

it("gives short slices where something else kept the thread busy, and pauses three times as long as a slice took", async () => {
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
    [15, false],
    [6, true],
  ] as const) {
    now += ms;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(settled[0], `${ms}`).toBe(isDue);
  }
  expect(await next).toBe(SLICE_GAS);
});

it("gives a call its next turn no sooner than another one that began meanwhile may have had its own", async () => {
  let now = 1_000_000;
  const turns = new Turns(() => now);
  turns.begin();
  expect(await turns.next(ONE)).toBe(SLICE_GAS);
  expect(await turns.next(ONE)).toBe(2 * SLICE_GAS);
  // Somebody begins while the timer runs.
  setTimeout(() => turns.begin(), 0);
  let isDue = false;
  const next = turns.next(ONE).then((gas) => {
    isDue = true;
    return gas;
  });
  for (const due of [false, true]) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(isDue).toBe(due);
    now += 5;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  expect(await next).toBe(SLICE_GAS);
});

it("leaves no call without a turn because another one computes, and forgets one that no longer waits", async () => {
  let now = 1_000_000;
  const turns = new Turns(() => now);
  const order: string[] = [];
  await turns.next(ONE);
  const other = turns.next(OTHER).then(() => order.push("other"));
  const own = turns.next(ONE).then((gas) => order.push(`own ${gas / SLICE_GAS}`));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(order).toEqual([]);
  now += 5;
  await Promise.all([other, own]);
  expect(order).toEqual(["other", "own 1"]);
  now += 1_000;
  expect(await turns.next(ONE)).toBe(2 * SLICE_GAS);
});

it("learns how long a slice took from its timer where the clock stands still meanwhile", async () => {
  let now = 1_000_000;
  const turns = new Turns(() => now);
  await turns.next(ONE);
  // The timer fires 10 ms late, for the slice before it took so long.
  setTimeout(() => {
    now += 10;
  }, 0);
  let isDue = false;
  const next = turns.next(ONE).then(() => {
    isDue = true;
  });
  for (const [ms, due] of [
    [0, false],
    [24, false],
    [6, true],
  ] as const) {
    now += ms;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(isDue, `${ms}`).toBe(due);
  }
  await next;
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
