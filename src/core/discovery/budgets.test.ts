import { expect, it } from "vitest";
import { entryOf } from "../attestation/fixture/entries.ts";
import type { Sha256Hex } from "../integrity.ts";
import { LARGE_DEFINITIONS, SMALL_DEFINITION } from "./definitions.ts";
import { edges, outcome, run } from "./fixture/discovering.ts";
import { adder, Publisher, script } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";
import { INDEX_SCHEMA } from "./skills-index.ts";

const KIB = 1024;
const padded = (text: string, length: number, filler = " ") => text + filler.repeat(length - text.length);

it("[budget:llms.txt] takes 256 KiB and no byte more", async () => {
  for (const [past, expected] of edges("discovery_failed too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    publisher.put("/llms.txt", padded(publisher.llmsTxt(), 256 * KIB + past, "\n"));
    expect(await outcome(run(publisher))).toBe(expected);
  }
});

it("[budget:tool.js] takes 1 MiB and no byte more", async () => {
  for (const [past, expected] of edges("skill too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one", source: padded(adder("one"), 1024 * KIB + past) });
    await publisher.skill({ name: "two" });
    const release = run(publisher);
    expect(await outcome(release)).toBe(expected);
    expect((await release).skills.at(-1)?.name).toBe("two");
  }
});

it("[budget:SKILL.md] takes 256 KiB and no byte more", async () => {
  for (const [past, expected] of edges("recipe too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one", recipe: padded("#", 256 * KIB + past) });
    const release = run(publisher);
    expect(await outcome(release)).toBe(expected);
    expect((await release).skills).toHaveLength(1);
    const undeclared = new Publisher();
    await undeclared.skill({
      name: "one",
      recipe: padded("#", 256 * KIB + past),
      metadata: { sha256: undefined },
    });
    expect(await outcome(run(undeclared, {}, { unverifiedRecipes: "offer" }))).toBe(expected);
  }
});

it("[budget:index.json] takes 256 KiB and no byte more", async () => {
  for (const [past, expected] of edges("index too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    publisher.put(
      "/.well-known/agent-skills/index.json",
      padded(`{"$schema":"${INDEX_SCHEMA}","skills":[]}`, 256 * KIB + past),
    );
    const release = run(publisher);
    expect(await outcome(release)).toBe(expected);
    expect((await release).skills).toHaveLength(1);
  }
});

it("[budget:attestations.json] takes 256 KiB and no byte more", async () => {
  for (const [past, expected] of edges("attestations too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    publisher.put("/.well-known/agent-skills/attestations.json", padded(JSON.stringify([entryOf()]), 256 * KIB + past));
    const release = run(publisher);
    expect(await outcome(release)).toBe(expected);
    expect((await release).attestations).toHaveLength(past > 0 ? 0 : 1);
  }
});

it("[budget:snapshot] takes 4 MiB and no byte more", async () => {
  for (const [past, expected] of edges("memory too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    await publisher.memory(null, new Uint8Array(4096 * KIB + past));
    expect(await outcome(run(publisher))).toBe(expected);
  }
});

it("[budget:skills] takes 256 executable lines; the rest is rejected in document order, unfetched", async () => {
  for (const [past, expected] of edges("skill too_many_skills")) {
    const publisher = new Publisher();
    for (let index = 0; index < 256 + past; index += 1) await publisher.skill({ name: `s${index}` });
    const release = await run(publisher, {}, { sandbox: createTestSandbox() });
    expect(await outcome(Promise.resolve(release))).toBe(expected);
    expect(release.skills).toHaveLength(Math.min(256, 256 + past));
    expect(publisher.requests).not.toContain("/skills/root/s256/tool.js");
  }
}, 60_000);

it("[budget:memories] takes 8 snapshots of different scopes", async () => {
  for (const [past, expected] of edges("memory too_many_memories")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    for (let index = 0; index < 8 + past; index += 1) await publisher.memory(`m${index}`, `bytes ${index}`);
    expect(await outcome(run(publisher))).toBe(expected);
  }
});

it("[budget:memory-bytes] counts in the sum what stays while a newer snapshot cannot be had, after those that came", async () => {
  for (const [past, scopes] of [
    [0, ["a", "b", "c"]],
    [1, ["b", "c"]],
  ] as const) {
    const before = new Publisher();
    await before.skill({ name: "one" });
    await before.memory("a", new Uint8Array(KIB + past));
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    await publisher.memory("a", "newer");
    publisher.put("/memory/a.bin", new Response("", { status: 503 }));
    await publisher.memory("b", new Uint8Array(4096 * KIB));
    await publisher.memory("c", new Uint8Array(4095 * KIB));
    const last = await run(before);
    const { memories } = await run(publisher, {}, { last: async () => last });
    expect(memories.map(({ scope }) => scope)).toEqual(scopes);
  }
});

it("[budget:memory-bytes] takes 8 MiB of snapshots in sum", async () => {
  for (const [past, expected] of edges("memory too_large")) {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    await publisher.memory("a", new Uint8Array(4096 * KIB));
    await publisher.memory("b", new Uint8Array(4095 * KIB));
    await publisher.memory("c", new Uint8Array(KIB + past));
    await publisher.memory("d", new Uint8Array(0));
    const release = await run(publisher);
    expect(await outcome(Promise.resolve(release))).toBe(expected);
    expect(release.memories.at(-1)?.scope).toBe("d");
  }
});

it("[budget:release] keeps 16 MiB in sum; from the first file that does not fit, the rest is rejected", async () => {
  for (const [past, expected] of edges("skill release_too_large")) {
    const publisher = new Publisher();
    const mebibyte = 1024 * KIB;
    for (let index = 0; index < 15; index += 1) {
      await publisher.skill({ name: `s${index}`, source: padded(adder(`s${index}`), mebibyte) });
    }
    const last = adder("last").length;
    await publisher.skill({
      name: "cut",
      source: padded(adder("cut"), mebibyte - 4 * KIB - last),
      recipe: padded("#", 4 * KIB + past),
    });
    await publisher.skill({ name: "last" });
    const release = await run(publisher, { deadlineMs: 60_000 });
    expect(await outcome(Promise.resolve(release))).toBe(expected);
    expect(release.skills).toHaveLength(past > 0 ? 16 : 17);
  }
}, 60_000);

it("[budget:release] stops fetching once it is full", async () => {
  const publisher = new Publisher();
  for (let index = 0; index < 100; index += 1) {
    await publisher.skill({ name: `s${index}`, source: padded(adder(`s${index}`), 1000) });
  }
  const release = await run(publisher, { releaseBytes: 3_000 });
  expect(release.skills).toHaveLength(3);
  expect(publisher.requests.filter((path) => path.endsWith("tool.js")).length).toBeLessThanOrEqual(3 + 6);
});

it("[10.2-discovery-deadline] [budget:discovery-deadline] what answers before it is kept, what does not is a timeout", async () => {
  for (const [delay, expected] of [
    [0, "ok"],
    [100, "ok"],
    [60_000, "skill timeout"],
  ] as const) {
    const publisher = new Publisher();
    await publisher.skill({ name: "slow" });
    await publisher.skill({ name: "fast" });
    publisher.put("/skills/root/slow/tool.js", async () => {
      await new Promise((resolve) => setTimeout(resolve, delay));
      return new Response(adder("slow"));
    });
    const release = await run(publisher, { deadlineMs: 2_000 });
    expect(await outcome(Promise.resolve(release))).toBe(expected);
    expect(release.skills.at(-1)?.name).toBe("fast");
  }
});

it("[budget:discovery-deadline] definitions that the deadline leaves no time for are deferred", async () => {
  const publisher = new Publisher();
  await publisher.skill({ name: "one" });
  const busy = createTestSandbox({ poolSize: 1 });
  const hold = busy.call(
    {
      sha256: "0".repeat(64) as Sha256Hex,
      name: "t",
      source: 'registerTool({ name: "t", handler: () => host.fetchOrigin("/") })',
    },
    {},
    { fetchOrigin: () => new Promise(() => {}) },
    { signal: AbortSignal.timeout(500) },
  );
  expect(await outcome(run(publisher, { deadlineMs: 100 }, { sandbox: busy }))).toBe("skill deferred");
  await hold;
});

it("[budget:discovery-deadline] holds while definitions are read, and other work has its turns", async () => {
  const publisher = new Publisher();
  for (let index = 0; index < 60; index += 1) {
    // Most of a load's gas: all of them take many times the deadline on any machine, and the quick rounds alone many turns.
    const source = `for (let i = 0; i < 6_000_000; i += 1);${adder(`s${index}`)}`;
    await publisher.skill({ name: `s${index}`, source });
  }
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 1);
  const release = await run(publisher, { gas: 1e10, deadlineMs: 1_500 }, { sandbox: createTestSandbox() });
  clearInterval(others);
  expect(turns).toBeGreaterThan(3);
  expect(new Set(release.rejected.map(({ code }) => code))).toEqual(new Set(["deferred"]));
  expect(release.skills.length).toBeLessThan(60);
}, 20_000);

it("[budget:discovery-deadline] a deadline that passes before llms.txt came is discovery_failed", async () => {
  const publisher = new Publisher().put("/llms.txt", () => new Promise<Response>(() => {}));
  expect(await outcome(run(publisher, { deadlineMs: 20 }))).toBe("discovery_failed timeout");
});

it("[budget:discovery-fetch-timeout] covers the body of one file, and the others load", async () => {
  const publisher = new Publisher();
  await publisher.skill({ name: "stalled" });
  await publisher.skill({ name: "good" });
  publisher.put("/skills/root/stalled/tool.js", () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("regis")) });
    return new Response(body);
  });
  const release = await run(publisher, { fetchTimeoutMs: 50 });
  expect(release.skills.map(({ name }) => name)).toEqual(["good"]);
  expect(await outcome(Promise.resolve(release))).toBe("skill timeout");
});

it("[budget:concurrency] keeps to the given number of fetches in flight", async () => {
  for (const concurrency of [1, 2, 6]) {
    const publisher = new Publisher();
    for (let index = 0; index < 8; index += 1) await publisher.skill({ name: `s${index}` });
    await publisher.memory(null, "bytes");
    await run(publisher, { concurrency });
    expect(publisher.mostOpen).toBe(concurrency);
  }
});

it("[budget:definitions] definitions above 8,192 characters have 2 MiB together; smaller ones are always kept", async () => {
  const empty = JSON.stringify({ name: "large0", description: "", inputSchema: { type: "object" } }).length;
  const sized = (name: string, size: number) => {
    const description = `"x".repeat(${size - empty - name.length + "large0".length})`;
    return { name, source: script(name, `inputSchema: { type: "object" }, description: ${description}`) };
  };
  for (const [past, expected] of edges("skill release_too_large")) {
    const publisher = new Publisher();
    for (let index = 0; index < 8; index += 1) await publisher.skill(sized(`large${index}`, 240_000));
    await publisher.skill(sized("large8", LARGE_DEFINITIONS - 8 * 240_000 - (SMALL_DEFINITION + 1) + past));
    await publisher.skill(sized("below", SMALL_DEFINITION - 1));
    await publisher.skill(sized("at", SMALL_DEFINITION));
    await publisher.skill(sized("above", SMALL_DEFINITION + 1));
    const release = await run(publisher);
    expect(await outcome(Promise.resolve(release))).toBe(expected);
    expect(release.skills.slice(-3).map(({ name }) => name)).toEqual(["below", "at", "above"]);
  }
});

it("[budget:reported] a document of mistakes and links keeps 1,000 of each, and says how many more there were", async () => {
  for (const [count, kept] of [
    [999, 999],
    [1_000, 1_000],
    [1_001, 1_000],
    [8_000, 1_000],
  ] as const) {
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    for (let index = 0; index < count; index += 1) publisher.line("- [a](): <!-- skill: {a} -->");
    const release = await run(publisher);
    expect([release.prose.length, release.rejected.length]).toEqual([kept, kept]);
    expect(release.rejected.at(-1)?.code).toBe(count > 1_000 ? "too_many_rejections" : "bad_metadata");
    expect(release.skills).toHaveLength(1);
  }
  const publisher = new Publisher();
  for (let index = 0; index < 3_000; index += 1)
    publisher.line('- [a](): <!-- skill: {"tool":"","tool_sha256":""} -->');
  const release = await run(publisher);
  expect(release.rejected).toHaveLength(1_000);
  expect(release.rejected.at(-1)?.message).toBe(
    "There are 2001 more rejections than the 999 before this one, which are all that is kept.",
  );
});
