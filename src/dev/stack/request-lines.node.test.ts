import { expect, it } from "vitest";
import { readableLine } from "./request-lines.ts";

const line = (text: string) => readableLine({ at: 0, level: "log", text }).replace(/^\d\d:\d\d:\d\d /, "");

it("shows a request on one line", () => {
  const fields = { event: "request", requestId: "r", httpMethod: "POST", route: "/mcp", status: 200 };
  const call = {
    method: "tools/call",
    tool: "sum_numbers",
    outcome: "ok",
    origin: "http://127.0.0.1:1",
    ms: { total: 4 },
  };
  expect(line(JSON.stringify({ ...fields, ...call }))).toBe("200 tools/call sum_numbers ok http://127.0.0.1:1 4 ms");
  expect(line(JSON.stringify({ ...fields, status: 401, code: "unauthorized" }))).toBe("401 POST /mcp unauthorized");
});

it("shows anything else as it is", () => {
  expect(line("plain text\n")).toBe("plain text");
  expect(line("{ not JSON")).toBe("{ not JSON");
  expect(line('{"event":"cron","woken":2}')).toBe('{"event":"cron","woken":2}');
});
