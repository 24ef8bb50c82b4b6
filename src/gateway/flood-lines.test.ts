import { describe, expect, it } from "vitest";
import { FloodLines } from "./flood-lines.ts";

const T0 = 1_700_000_000_000;

describe("FloodLines", () => {
  it("gives an address one line a second, which tells how many had none", () => {
    const lines = new FloodLines();
    expect(lines.take("a", T0)).toBe(0);
    expect(lines.take("a", T0 + 1)).toBe(null);
    expect(lines.take("b", T0 + 2)).toBe(0);
    expect(lines.take("a", T0 + 999)).toBe(null);
    expect(lines.take("a", T0 + 1_000)).toBe(2);
    expect(lines.take("a", T0 + 3_000)).toBe(0);
  });

  it("goes on under a clock that is set back", () => {
    const lines = new FloodLines();
    lines.take("a", T0 + 60_000);
    expect(lines.take("a", T0)).toBe(0);
  });
});
