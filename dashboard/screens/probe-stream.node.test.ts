import { afterEach, expect, it, vi } from "vitest";
import { type ProbeStep, probeLive } from "./probe-stream.ts";

afterEach(() => vi.unstubAllGlobals());

it("lists 2,000 steps of a probe and counts the others in one last line", async () => {
  const hash = `event: hash\ndata: {"scope":null,"name":"n","ok":true}\n\n`;
  const stream = `${hash.repeat(2_003)}event: result\ndata: {"id":"p"}\n\n`;
  vi.stubGlobal("location", { origin: "https://gate.example" });
  vi.stubGlobal("fetch", async () => new Response(stream, { headers: { "Content-Type": "text/event-stream" } }));
  const steps: ProbeStep[] = [];
  const result = await probeLive("org_1", (step) => {
    steps[step.key] = step;
  });
  expect(result).toEqual({ id: "p" });
  expect(steps).toHaveLength(2_001);
  expect(steps.at(-1)?.text).toBe("and 3 more");
});

it("tells the files of a skill apart, and a file that may be missing from one that is missed", async () => {
  const events = [
    ["hash", { scope: null, name: "n", file: "tool.js", ok: true }],
    ["hash", { scope: "s", name: "n", file: "SKILL.md", ok: false, expected: "a", actual: "b" }],
    ["fetch", { url: "https://shop.example/.well-known/agent-skills/index.json", status: 404, bytes: 9, ms: 1 }],
    ["fetch", { url: "https://shop.example/tools/n.js", status: 404, bytes: 9, ms: 1 }],
    ["fetch", { url: "https://shop.example/.well-known/agent-skills/index.json", status: 503, bytes: 9, ms: 1 }],
  ] as const;
  const stream = [...events, ["result", { id: "p" }] as const]
    .map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");
  vi.stubGlobal("location", { origin: "https://gate.example" });
  vi.stubGlobal("fetch", async () => new Response(stream, { headers: { "Content-Type": "text/event-stream" } }));
  const steps: ProbeStep[] = [];
  await probeLive("org_1", (step) => steps.push(step));
  expect(steps.map(({ state }) => state)).toEqual(["ok", "bad", "none", "bad", "bad"]);
  expect(steps[0]?.text).toBe("n, tool.js: the bytes have the declared hash");
  expect(steps[1]?.text).toBe("s__n, SKILL.md: declared a, received b");
  expect(steps[2]?.text).toContain("it may be left out");
});
