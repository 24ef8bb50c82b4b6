import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delayRefusal } from "./refusal-delay.ts";

describe("delayRefusal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("makes 128 refusals late at a time, also where their callers are gone, and no more", async () => {
    let answered = 0;
    const refuse = async () => {
      await delayRefusal();
      answered += 1;
    };
    for (let i = 0; i < 130; i++) void refuse();
    await vi.advanceTimersByTimeAsync(99);
    expect(answered).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(answered).toBe(130);
    void refuse();
    await vi.advanceTimersByTimeAsync(99);
    expect(answered).toBe(130);
    // Neither those that never settle nor a clock that was set back take a place for good.
    vi.setSystemTime(Date.now() - 3_600_000);
    void refuse();
    await vi.advanceTimersByTimeAsync(99);
    expect(answered).toBe(131);
  });
});
