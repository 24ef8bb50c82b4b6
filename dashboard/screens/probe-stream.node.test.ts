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
