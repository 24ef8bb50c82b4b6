import { expect, it } from "vitest";
import { startLoopbackPublisher } from "../fixture/loopback-publisher.ts";
import { showsColors } from "../terminal.ts";
import { startSession } from "./fixture/session.ts";
import { Narration } from "./narration.ts";

it.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: "" }, true],
  [{ isTTY: true }, { NO_COLOR: "0" }, false],
  [{ isTTY: true }, { TERM: "dumb" }, false],
  [{ isTTY: false }, {}, false],
  [{}, { TERM: "xterm" }, false],
])("of a stream that is %j with %j in its environment, colours are shown: %s", (stream, env, shows) => {
  expect(showsColors(stream, env)).toBe(shows);
});

it.each([true, false])("tells by level where colours are seen (%s), and lets nobody else make any", (isColored) => {
  const lines: string[] = [];
  const narration = new Narration({
    ...{ report: (line: string) => lines.push(line), isJson: false, isColored, isVerbose: false, now: () => 0 },
  });
  narration.tell("info", "x", "a\u001b[31mb\nc");
  narration.tell("warning", "x", "odd");
  narration.tell("error", "x", "bad");
  const colored = (code: string, text: string) => (isColored ? `\u001b[${code}m${text}\u001b[0m` : text);
  expect(lines).toEqual([
    colored("2", "skillgate: a\\u{1b}[31mb\\u{a}c"),
    colored("33", "skillgate: warning: odd"),
    colored("31", "skillgate: error: bad"),
  ]);
});

it("writes JSON of one shape for each kind of event, with --json-logs", async () => {
  await using site = await startLoopbackPublisher();
  const { publisher } = site;
  await publisher.skill({ name: "sum", recipe: "# Sum" });
  await publisher.skill({ name: "spoilt", scope: "kb", metadata: { tool_sha256: "0".repeat(64) } });
  const client = startSession([publisher.origin, "--json-logs"]);
  await client.ask("tools/list");
  publisher.put("/llms.txt", new Response("down", { status: 503 }));
  client.hangUp();
  await client.until((line) => line.includes("discovery_failed"));
  client.terminate();
  await client.code;
  const common = { time: "2026-03-01T12:00:00.000Z", message: expect.any(String), origin: publisher.origin };
  expect(client.stderr.map((line) => JSON.parse(line) as unknown)).toEqual([
    { ...common, level: "info", event: "discovering" },
    {
      ...{ ...common, level: "warning", event: "rejected" },
      ...{ subject: "skill", scope: "kb", name: "spoilt", code: "hash_mismatch" },
    },
    {
      ...{ ...common, level: "info", event: "discovered" },
      ...{ tools: 1, recipes: 1, memories: 0, ms: expect.any(Number) },
    },
    {
      ...{ ...common, level: "error", event: "discovery_failed" },
      ...{ code: "discovery_failed", reason: "http_status" },
    },
  ]);
});
