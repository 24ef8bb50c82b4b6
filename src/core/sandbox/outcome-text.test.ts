import { expect, it } from "vitest";
import { capMessage, exceedsBytes, MESSAGE_BYTES, readAnswer } from "./outcome-text.ts";

it("counts bytes of UTF-8 at the edge", () => {
  for (const [text, bytes] of [
    ["abc", 3],
    ["é", 2],
    ["€", 3],
    ["😀", 4],
    ["\ud800", 3],
  ] as const) {
    expect(exceedsBytes(text, bytes - 1)).toBe(true);
    expect(exceedsBytes(text, bytes)).toBe(false);
    expect(exceedsBytes(text, bytes + 1)).toBe(false);
  }
});

it("cuts a message to 2,048 bytes on a code-point boundary", () => {
  const byteLength = (text: string) => new TextEncoder().encode(text).length;
  expect(capMessage("x".repeat(MESSAGE_BYTES))).toBe("x".repeat(MESSAGE_BYTES));
  expect(capMessage("x".repeat(MESSAGE_BYTES + 1))).toBe(`${"x".repeat(MESSAGE_BYTES - 3)}…`);
  const cut = capMessage("😀".repeat(1000));
  expect(byteLength(cut)).toBeLessThanOrEqual(MESSAGE_BYTES);
  expect(cut.replaceAll("😀", "")).toBe("…");
});

it("takes anything unexpected from a guest for a crash", () => {
  expect(readAnswer('v{"a":1}')).toEqual({ ok: true, json: '{"a":1}' });
  expect(readAnswer('t"no"')).toEqual({ ok: false, code: "tool_error", message: "no" });
  expect(readAnswer(null)).toMatchObject({ code: "out_of_memory" });
  for (const text of ["", "x", "t", "t{", "t1", "constructor", '?"no"']) {
    expect(readAnswer(text)).toMatchObject({ ok: false, code: "crashed" });
  }
});
