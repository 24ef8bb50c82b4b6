import { describe, expect, it } from "vitest";
import { LineReader } from "./line-reader.ts";

function read(chunks: readonly string[], maximum = 8): (string | null)[] {
  const lines: (string | null)[] = [];
  const reader = new LineReader(maximum, (line) => {
    lines.push(line.ok ? Buffer.from(line.bytes).toString() : null);
  });
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  reader.end();
  return lines;
}

describe("lines", () => {
  it("are the same however they arrive", () => {
    const text = "one\ntwo\n\nthree";
    const whole = read([text]);
    expect(whole).toEqual(["one", "two", "", "three"]);
    expect(read([...text])).toEqual(whole);
    expect(read(["one\ntw", "o\n\nth", "ree"])).toEqual(whole);
  });

  it("[budget:stdio-line] are at most as long as allowed, and a longer one takes no other with it", () => {
    expect(read(["12345678\n123456789\nnext"])).toEqual(["12345678", null, "next"]);
    expect(read(["1234", "5678", "9", "\n", "next"])).toEqual([null, "next"]);
  });
});
