import { describe, expect, it } from "vitest";
import type { OriginFetcher } from "../fetch/origin-fetch.ts";
import type { Sha256Hex } from "../integrity.ts";
import { COMPILE_GAS } from "../schema/validate.ts";
import { outcome, run } from "./fixture/discovering.ts";
import { adder, Publisher, script, sha256Of } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";

it("[budget:discovery-gas] reads definitions while gas lasts; what is left over is deferred", async () => {
  const build = async () => {
    const publisher = new Publisher();
    for (let index = 0; index < 3; index += 1) await publisher.skill({ name: `s${index}` });
    return publisher;
  };
  const fresh = () => ({ sandbox: createTestSandbox() });
  const [first, second, third] = [await gasOfLoad("s0"), await gasOfLoad("s1"), await gasOfLoad("s2")];
  const schemas = 2 * COMPILE_GAS * SCHEMA_LENGTH;
  const edge = first.used + second.used + schemas + third.least;
  expect(await outcome(run(await build(), { gas: edge + 1 }, fresh()))).toBe("ok");
  expect(await outcome(run(await build(), { gas: edge }, fresh()))).toBe("ok");
  expect(await outcome(run(await build(), { gas: edge - 1 }, fresh()))).toBe("skill deferred");
  expect(await outcome(run(await build(), { gas: first.least }, fresh()))).toBe("skill deferred, skill deferred");
});

/** Characters of the JSON of the input schema that `adder` declares. */
const SCHEMA_LENGTH = JSON.stringify({
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
}).length;

/** What one of these loads uses, and the least it must be given (some is held back for a graceful end): both are exact. */
async function gasOfLoad(name: string): Promise<{ used: number; least: number }> {
  const source = adder(name);
  const tool = { sha256: (await sha256Of(source)) as Sha256Hex, source, name };
  const { gasUsed: used } = await createTestSandbox().load(tool);
  let [fails, least] = [0, 1_000_000];
  while (least - fails > 1) {
    const gas = Math.floor((least + fails) / 2);
    const { ok } = await createTestSandbox().load(tool, { gas });
    if (ok) least = gas;
    else fails = gas;
  }
  return { used, least };
}

it("[budget:discovery-gas] a few endless scripts at the head do not use up what the others need", async () => {
  const publisher = new Publisher();
  for (let index = 0; index < 4; index += 1)
    await publisher.skill({ name: `l${index}`, source: `for (;;) {} //${index}` });
  for (let index = 0; index < 4; index += 1) await publisher.skill({ name: `s${index}` });
  await publisher.skill({ name: "late", source: script("late", "description: 'x'") });
  const release = await run(publisher);
  expect(release.skills.map(({ name }) => name)).toEqual(["s0", "s1", "s2", "s3", "late"]);
  expect(release.rejected.map(({ code }) => code)).toEqual(["gas_exhausted", "deferred", "deferred", "deferred"]);
}, 20_000);

it("[budget:discovery-gas] scripts and schemas that burn gas, however many, cost the honest ones at the end nothing", async () => {
  const publisher = new Publisher();
  for (let index = 0; index < 60; index += 1)
    await publisher.skill({ name: `l${index}`, source: `for (;;) {} //${index}` });
  const pattern = "'a|'.repeat(20000)";
  for (let index = 0; index < 12; index += 1) {
    const source = script(`p${index}`, `inputSchema: { properties: { a: { pattern: ${pattern} } } }`);
    await publisher.skill({ name: `p${index}`, source });
  }
  await publisher.skill({ name: "good" });
  await publisher.skill({
    name: "late",
    source: script("late", "inputSchema: { properties: { a: { pattern: '^a' } } }"),
  });
  const release = await run(publisher, { gas: 30_000_000 }, { sandbox: createTestSandbox() });
  expect(release.skills.map(({ name }) => name)).toEqual(["good", "late"]);
  expect(new Set(release.rejected.map(({ code }) => code))).toEqual(new Set(["deferred"]));
}, 30_000);

describe("[budget:discovery-lanes] files that stall leave time for the others", () => {
  const stall = ({ signal }: Request) =>
    new Promise<Response>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });

  it.each([6, 24])("%i tools at the head, and index.json", async (count) => {
    const publisher = new Publisher().put("/.well-known/agent-skills/index.json", stall);
    for (let index = 0; index < count; index += 1) {
      await publisher.skill({ name: `stalled${index}`, recipe: `recipe ${index}` });
      publisher.put(`/skills/root/stalled${index}/tool.js`, stall);
    }
    for (let index = 0; index < 12; index += 1)
      await publisher.skill({ name: `good${index}`, recipe: `good ${index}` });
    const release = await run(publisher, { deadlineMs: 2_000 });
    expect(release.skills.map(({ name }) => name)).toEqual(Array.from({ length: 12 }, (_, index) => `good${index}`));
    expect(release.skills.every(({ recipe }) => recipe !== null)).toBe(true);
    expect(release.rejected.map(({ subject, code }) => `${subject} ${code}`)).toEqual([
      "index timeout",
      ...Array.from({ length: count }, () => "skill timeout"),
    ]);
    expect(publisher.mostOpen).toBeLessThanOrEqual(6);
  });

  it("snapshots", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    for (let index = 0; index < 8; index += 1) await publisher.memory(`m${index}`, `bytes ${index}`);
    for (let index = 0; index < 7; index += 1) publisher.put(`/memory/m${index}.bin`, stall);
    const release = await run(publisher, { deadlineMs: 1_000 });
    expect(release.memories.map(({ scope }) => scope)).toEqual(["m7"]);
    expect(release.skills).toHaveLength(1);
  });

  it("a publisher that is slow with everything is not taken for one", async () => {
    const publisher = new Publisher();
    for (let index = 0; index < 12; index += 1) await publisher.skill({ name: `slow${index}` });
    const slowly: OriginFetcher = async (url, init) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return publisher.fetch(url, init);
    };
    const release = await run(publisher, { deadlineMs: 1_600 }, { fetch: slowly });
    expect(release.skills).toHaveLength(12);
    expect(publisher.requests).toHaveLength(1 + 2 + 12);
  });

  it("one that answers at the second attempt is kept", async () => {
    const publisher = new Publisher();
    for (let index = 0; index < 24; index += 1) await publisher.skill({ name: `s${index}` });
    let asked = 0;
    publisher.put("/skills/root/s0/tool.js", (request) => {
      asked += 1;
      return asked === 1 ? stall(request) : new Response(adder("s0"));
    });
    const release = await run(publisher, { deadlineMs: 3_000 });
    expect(release.rejected).toEqual([]);
    expect([asked, release.skills[0]?.name]).toEqual([2, "s0"]);
  });
});
