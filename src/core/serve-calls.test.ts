import { describe, expect, it } from "vitest";
import { discover } from "./discovery/discover.ts";
import { Publisher } from "./discovery/fixture/publisher.ts";
import { createTestSandbox } from "./discovery/fixture/workerd-sandbox.ts";
import { returning, type Served, serve, testSandbox, textOf } from "./fixture/serving.ts";
import type { JsonObject } from "./json.ts";
import { DEFAULT_DISCOVERY_LIMITS, type SandboxLimits } from "./limits.ts";
import { PoolExhausted } from "./sandbox/outcome.ts";

describe("calls", () => {
  it("reach the publisher through host.fetchOrigin, within the origin", async () => {
    const { call, publisher } = await serve([
      { name: "t", source: returning("t", "host.fetchOrigin(args.path).body") },
    ]);
    publisher.put("/stock", "12 left").put("/away", Response.redirect("https://evil.example/"));
    expect(await call("t", { path: "/stock" })).toMatchObject({ structuredContent: { result: "12 left" } });
    for (const path of ["https://evil.example/", "/away"]) {
      expect(textOf(await call("t", { path }))).toMatch(/outside the origin/);
    }
  });

  it("are reported for the log, with gas and code, without arguments or results", async () => {
    const { call, reports, provider } = await serve([{ name: "sum", scope: "kb" }]);
    await call("kb__sum", { a: 41, b: 1 });
    await call("kb__sum", { a: "secret" });
    expect(reports[0]).toMatchObject({ tool: provider.tools[0]?.name, code: "ok" });
    expect(reports[0]?.toolSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(reports[0]?.gasUsed).toBeGreaterThan(0);
    expect(Object.keys(reports[0] ?? {}).sort()).toEqual(["code", "durationMs", "gasUsed", "tool", "toolSha256"]);
    expect(JSON.stringify(reports)).not.toContain("secret");
  });

  it("[code:pool_exhausted] propagate the refusal of a full pool", async () => {
    const small = createTestSandbox({ poolSize: 1, poolWaitMs: 20 });
    const source = returning("t", "host.fetchOrigin('/slow').status");
    const { call, publisher, reports } = await serve([{ name: "t", source }], {}, small);
    let answer: (response: Response) => void = () => {};
    publisher.put("/slow", () => new Promise<Response>((resolve) => (answer = resolve)));
    const first = call("t");
    await expect(call("t")).rejects.toBeInstanceOf(PoolExhausted);
    answer(new Response("", { status: 201 }));
    expect(await first).toMatchObject({ structuredContent: { result: 201 } });
    expect(reports.map(({ code }) => code)).toEqual(["unavailable", "ok"]);
  });

  it("end with the client", async () => {
    const { call, publisher, reports } = await serve([
      { name: "t", source: returning("t", "host.fetchOrigin('/slow').status") },
    ]);
    const controller = new AbortController();
    publisher.put("/slow", () => {
      controller.abort();
      return new Promise<Response>(() => {});
    });
    expect(await call("t", {}, "modern", controller.signal)).toMatchObject({ isError: true });
    expect(reports.map(({ code }) => code)).toEqual(["cancelled"]);
  });
});

describe("origin memory", () => {
  const search = returning(
    "search",
    "typeof host.memorySearch === 'function' ? host.memorySearch(args.q, args.k) : null",
  );
  const notes = (...contents: string[]) =>
    JSON.stringify(contents.map((content, n) => ({ id: `n${n}`, metadata: { content, okf_concept: `c${n}` } })));
  const searchers = ["alpha", "beta", "gamma"].map((scope) => ({ name: "search", source: search, scope }));

  async function serveMemories(limits: Partial<SandboxLimits> = {}): Promise<Served> {
    const publisher = new Publisher();
    await publisher.memory(null, notes("the root"));
    await publisher.memory("alpha", notes("an apple", "an apple, an apple"));
    await publisher.memory("beta", notes("a banana"));
    return serve([{ name: "search", source: search }, ...searchers], limits, testSandbox(), publisher);
  }

  it("is searched by the skills of its own scope alone, and is missing where there is none", async () => {
    const { call } = await serveMemories();
    const hit = (text: string, concept: string) => ({
      text,
      title: concept,
      concept_id: concept,
      score: expect.any(Number),
    });
    const apples = { hits: [hit("an apple, an apple", "c1"), hit("an apple", "c0")] };
    expect((await call("alpha__search", { q: "apple banana root" })).structuredContent).toEqual(apples);
    expect((await call("beta__search", { q: "apple banana root" })).structuredContent).toEqual({
      hits: [hit("a banana", "c0")],
    });
    expect((await call("search", { q: "apple banana root" })).structuredContent).toEqual({
      hits: [hit("the root", "c0")],
    });
    expect((await call("gamma__search", { q: "apple" })).structuredContent).toEqual({ result: null });
  });

  it("[10.4-T26] answers as many hits as it is asked for, and none where nothing fits", async () => {
    const { call } = await serveMemories();
    const count = async (args: JsonObject) =>
      ((await call("alpha__search", args)).structuredContent as { hits: unknown[] }).hits.length;
    expect(await count({ q: "apple", k: 1 })).toBe(1);
    expect(await count({ q: "apple", k: 8 })).toBe(2);
    expect(await count({ q: "paella" })).toBe(0);
  });

  it("is missing where its bytes are not those that llms.txt declares, and the release says so", async () => {
    const publisher = await new Publisher().memory(null, notes("x"), { snapshot_sha256: "0".repeat(64) });
    await publisher.skill({ name: "search", source: search });
    const { origin, fetch } = publisher;
    const release = await discover({
      origin,
      fetch,
      sandbox: testSandbox(),
      limits: DEFAULT_DISCOVERY_LIMITS,
      now: () => 0,
    });
    expect(release.rejected).toMatchObject([{ subject: "memory", code: "hash_mismatch" }]);
    expect(release.memories).toEqual([]);
  });

  it("costs gas to index, once, and to search", async () => {
    const { call, reports } = await serveMemories();
    await call("alpha__search", { q: "apple" });
    await call("alpha__search", { q: "apple" });
    const [first, second] = reports.map(({ gasUsed }) => gasUsed);
    expect((first ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(notes("an apple", "an apple, an apple").length - 2);
  });
});
