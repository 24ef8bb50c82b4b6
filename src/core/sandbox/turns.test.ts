import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SLICE_GAS, Turns } from "./turns.ts";

const [ONE, OTHER] = [{}, {}];

/** What the clock shows beyond the time of the timers: a busy thread looks at it later than it should. */
let late = 0;
const now = () => Date.now() + late;

beforeEach(() => {
  late = 0;
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Begins to wait for a turn; `after(ms)` says what it is given within so many milliseconds, in first slices, or null. */
function waiting(turns: Turns, call: object) {
  let slices: number | null = null;
  void turns.next(call).then((gas) => {
    slices = gas / SLICE_GAS;
  });
  return async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return slices;
  };
}

it("gives a call that meets nobody longer and longer slices, up to four times the first", async () => {
  const turns = new Turns(now);
  turns.begin();
  for (const slices of [1, 2, 4, 4, 4]) expect(await waiting(turns, ONE)(0)).toBe(slices);
  turns.begin();
  expect(await waiting(turns, ONE)(5)).toBe(1);
});

it("gives short slices where something else kept the thread busy, and pauses three times as long as a slice took", async () => {
  const turns = new Turns(now);
  expect(await waiting(turns, ONE)(0)).toBe(1);
  setTimeout(() => {
    late += 10;
  }, 0);
  // All of the 10 ms may have been the slice.
  const next = waiting(turns, ONE);
  expect(await next(29)).toBe(null);
  expect(await next(1)).toBe(1);
  // Somebody began while it computed for 7 ms.
  turns.begin();
  late += 7;
  const after = waiting(turns, ONE);
  expect(await after(20)).toBe(null);
  expect(await after(1)).toBe(1);
});

it("gives a call its next turn no sooner than another one that began meanwhile may have had its own", async () => {
  const turns = new Turns(now);
  turns.begin();
  expect(await waiting(turns, ONE)(0)).toBe(1);
  expect(await waiting(turns, ONE)(0)).toBe(2);
  // Somebody begins while the timer runs.
  setTimeout(() => turns.begin(), 0);
  const next = waiting(turns, ONE);
  expect(await next(4)).toBe(null);
  expect(await next(1)).toBe(1);
});

it("lets calls that compute at once take turns, and forgets one that no longer waits", async () => {
  const turns = new Turns(now);
  await waiting(turns, ONE)(0);
  const other = waiting(turns, OTHER);
  const own = waiting(turns, ONE);
  expect([await other(4), await own(0)]).toEqual([null, null]);
  expect([await other(1), await own(0)]).toEqual([1, null]);
  expect([await own(4), await own(1)]).toEqual([null, 1]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await waiting(turns, ONE)(0)).toBe(2);
});

it("ends also where the clock stands still or goes back", async () => {
  const stopped = new Turns(() => 1_000_000);
  for (const call of [ONE, OTHER, ONE]) expect(await waiting(stopped, call)(16 * 5)).toBe(1);
  const turns = new Turns(now);
  await waiting(turns, ONE)(0);
  late = -1_000_000;
  expect(await waiting(turns, OTHER)(16 * 50)).toBe(1);
});
