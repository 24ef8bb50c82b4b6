import { describe, expect, it } from "vitest";
import { traceParent } from "./trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("traceparent in _meta", () => {
  it("is read in the standard's form", () => {
    const text = `00-${TRACE}-${SPAN}-01`;
    expect(traceParent({ _meta: { traceparent: text } })).toEqual({ traceId: TRACE, text });
  });

  it.each([
    ["nothing", undefined],
    ["a number", 1],
    ["another version", `01-${TRACE}-${SPAN}-01`],
    ["the forbidden version", `ff-${TRACE}-${SPAN}-01`],
    ["upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["a parent of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["a short trace", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["more behind it", `00-${TRACE}-${SPAN}-01-x`],
    ["a line break", `00-${TRACE}-${SPAN}-01\n`],
    ["no flags", `00-${TRACE}-${SPAN}`],
  ])("is ignored where it is %s", (_what, traceparent) => {
    expect(traceParent(traceparent === undefined ? {} : { _meta: { traceparent } })).toBeNull();
  });

  it("is ignored where _meta is no object", () => {
    for (const _meta of [null, "x", 1, []]) expect(traceParent({ _meta })).toBeNull();
  });
});
