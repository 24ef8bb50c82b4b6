import { expect, it } from "vitest";
import { RequestLog } from "../log.ts";
import { Counters, writeMetrics } from "./counters.ts";

function answered(more: Partial<RequestLog>): RequestLog {
  return Object.assign(new RequestLog("r-1", "POST"), more);
}

it("sums up requests, refusals, discoveries, calls and gas, and hands each increment on once", () => {
  const counters = new Counters();
  const call = answered({ route: "/mcp", discovery: "hit", outcome: "ok", gasUsed: 1_000 });
  counters.count(call, 200);
  counters.count(call, 200);
  counters.count(answered({ route: "/mcp", code: "unauthorized" }), 401);
  counters.count(answered({}), 404);
  const text = writeMetrics(counters.take());
  for (const line of [
    'skillgate_requests_total{route="/mcp",status="200"} 2',
    'skillgate_requests_total{route="/mcp",status="401"} 1',
    'skillgate_requests_total{route="other",status="404"} 1',
    'skillgate_refusals_total{code="unauthorized"} 1',
    'skillgate_discovery_total{state="hit"} 2',
    'skillgate_tool_calls_total{outcome="ok"} 2',
    "skillgate_tool_gas_total 2000",
    "skillgate_request_duration_ms_count 4",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
  expect(counters.take()).toEqual([]);
});

it("writes the text format of Prometheus, with cumulative buckets", () => {
  const text = writeMetrics([
    ['skillgate_request_duration_ms_bucket{le="5"}', 2],
    ['skillgate_request_duration_ms_bucket{le="100"}', 3],
    ['skillgate_request_duration_ms_bucket{le="+Inf"}', 1],
    ["skillgate_request_duration_ms_sum", 40_200],
  ]);
  const bucket = (le: string) => new RegExp(`_bucket\\{le="${le.replace("+", "\\+")}"\\} (\\d+)`).exec(text)?.[1];
  expect(["5", "10", "50", "100", "30000", "+Inf"].map(bucket)).toEqual(["2", "2", "2", "5", "5", "6"]);
  expect(text).toContain("skillgate_request_duration_ms_sum 40200\nskillgate_request_duration_ms_count 6\n");
  for (const line of text.trimEnd().split("\n")) {
    expect(line).toMatch(
      /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})? [0-9.]+)$/,
    );
  }
});

it("takes back what could not be handed on", () => {
  const counters = new Counters();
  counters.count(answered({ route: "/" }), 200);
  const taken = counters.take();
  expect(counters.isEmpty).toBe(true);
  counters.count(answered({ route: "/" }), 200);
  counters.putBack(taken);
  expect(new Map(counters.take()).get('skillgate_requests_total{route="/",status="200"}')).toBe(2);
});
