import { describe, expect, it } from "vitest";
import type { CanonicalOrigin } from "../origin.ts";
import { DiscoveryCache, FAILURE_BELIEVED_MS } from "./discovery-cache.ts";
import { codes, names, run } from "./fixture/discovering.ts";
import { adder, Publisher, script, sha256Of } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";
import type { Release } from "./release.ts";
import { INDEX_PATH, INDEX_SCHEMA } from "./skills-index.ts";

/** A sandbox that counts what it loads. */
function countingSandbox() {
  const sandbox = createTestSandbox();
  const loaded: string[] = [];
  const load: typeof sandbox.load = (tool, options) => {
    loaded.push(`${tool.name}`);
    return sandbox.load(tool, options);
  };
  return { loaded, sandbox: { load, evaluate: sandbox.evaluate.bind(sandbox) } };
}

/** As a hub keeps the bytes of its last release. */
function holding(release: Release) {
  const bytes = new Map(release.skills.map(({ toolSha256, source }) => [toolSha256, source]));
  return (sha256: string) => bytes.get(sha256 as never);
}

const newCache = () => new DiscoveryCache(() => 1_000);

describe("a discovery after another one", () => {
  it("sends the ETag of what it holds, and takes a 304 for the held bytes", async () => {
    const publisher = await new Publisher().skill({ name: "add" });
    const text = publisher.llmsTxt();
    const asked: (string | null)[] = [];
    publisher.put("/llms.txt", ({ headers }) => {
      asked.push(headers.get("if-none-match"));
      if (headers.get("if-none-match") === '"v1"') return new Response(null, { status: 304 });
      return new Response(text, { headers: { etag: '"v1"' } });
    });
    const cache = newCache();
    const first = await run(publisher, {}, { cache });
    const second = await run(publisher, {}, { cache, now: () => 2_000 });
    expect(asked).toEqual([null, '"v1"']);
    expect(second).toEqual({ ...first, fetchedAt: 2_000 });
  });

  it.each([
    ["without an ETag", {}],
    ["with an ETag that is none", { etag: "v1" }],
    ["with an ETag of 257 characters", { etag: `"${"x".repeat(255)}"` }],
  ])("asks unconditionally for a document %s, and takes no 304 for it", async (_, headers) => {
    const publisher = await new Publisher().skill({ name: "add" });
    const text = publisher.llmsTxt();
    const cache = newCache();
    publisher.put("/llms.txt", () => new Response(text, { headers }));
    await run(publisher, {}, { cache });
    publisher.put("/llms.txt", (request) => {
      expect(request.headers.has("if-none-match")).toBe(false);
      return new Response(null, { status: 304 });
    });
    await expect(run(publisher, {}, { cache })).rejects.toMatchObject({ reason: "http_status" });
  });

  it("does not fetch bytes that are held under a declared hash, nor read their definition again", async () => {
    const publisher = await new Publisher().skill({ name: "add" });
    await publisher.skill({ name: "broken", source: "throw 1" });
    const { sandbox, loaded } = countingSandbox();
    const cache = newCache();
    const first = await run(publisher, {}, { cache, sandbox });
    publisher.requests.length = 0;
    loaded.length = 0;
    await publisher.skill({ name: "newer" });
    const second = await run(publisher, {}, { cache, sandbox, held: holding(first) });
    expect(names(second)).toEqual(["add", "newer"]);
    expect(codes(second)).toEqual(codes(first));
    expect(publisher.requests.filter((path) => path.endsWith(".js"))).toEqual([
      "/skills/root/broken/tool.js",
      "/skills/root/newer/tool.js",
    ]);
    expect(loaded).toEqual(["newer"]);
  });

  it("fetches held bytes all the same where they are larger than the file may be", async () => {
    const publisher = await new Publisher().skill({ name: "add" });
    const first = await run(publisher);
    publisher.requests.length = 0;
    const second = await run(publisher, { toolBytes: 10 }, { held: holding(first) });
    expect(publisher.requests).toContain("/skills/root/add/tool.js");
    expect(codes(second)).toEqual(["skill add too_large"]);
  });

  it("[10.1-D] keeps skills of one name in two scopes apart", async () => {
    const publisher = await new Publisher().skill({ name: "s", scope: "alpha", source: adder("s") });
    await publisher.skill({ name: "s", scope: "beta", source: script("s", 'description: "Beta."') });
    const cache = newCache();
    const first = await run(publisher, {}, { cache });
    const second = await run(publisher, {}, { cache, held: holding(first) });
    expect(names(second)).toEqual(["alpha__s", "beta__s"]);
    expect(second).toEqual(first);
  });

  it("[budget:failure-believed] reads a script that failed again after 600,000 ms, and not at 599,999 ms", async () => {
    const publisher = await new Publisher().skill({ name: "broken", source: "throw 1" });
    const { sandbox, loaded } = countingSandbox();
    let now = 0;
    const cache = new DiscoveryCache(() => now);
    for (const [at, times] of [
      [0, 1],
      [FAILURE_BELIEVED_MS - 1, 1],
      [FAILURE_BELIEVED_MS, 2],
    ] as const) {
      now = at;
      expect(codes(await run(publisher, {}, { cache, sandbox }))).toEqual(["skill broken load_failed"]);
      expect(loaded.length).toBe(times);
    }
  });

  it("goes on where the gas of the one before ended, past scripts that never end", async () => {
    const publisher = new Publisher();
    for (const name of ["x", "y", "z"]) await publisher.skill({ name, source: "for (;;);" });
    // Each takes 904,900 units (measured): more than the quick tries give, and no two fit into one discovery with an endless one.
    for (const name of ["a", "b", "c"]) {
      await publisher.skill({ name, source: `for (let i = 0; i < 1e5; i++);\n${adder(name)}` });
    }
    const cache = newCache();
    const found: Release[] = [];
    for (let i = 0; i < 9; i++) found.push(await run(publisher, { gas: 4_000_000 }, { cache, loadGas: 3_000_000 }));
    const counts = found.map(({ skills }) => skills.length);
    expect(counts[0]).toBeLessThan(3);
    expect(counts).toEqual([...counts].sort());
    expect(names(found[8] as Release)).toEqual(["a", "b", "c"]);
    expect(codes(found[8] as Release)).toEqual(["x", "y", "z"].map((name) => `skill ${name} gas_exhausted`));
  });
});

describe("DiscoveryCache", () => {
  it("forgets what one discovery did not use", () => {
    const cache = newCache();
    const failed = { ok: false, code: "load_failed", message: "It failed." } as const;
    for (const key of ["used", "unused"]) {
      cache.keepDefinition(key, failed);
      cache.keepTooLittleGas(key, 1);
    }
    cache.turn(new Set(["file"]));
    expect([cache.definition("used"), cache.tooLittleGas("used"), cache.isConfirmed("file")]).toEqual([
      failed,
      1,
      true,
    ]);
    cache.turn(new Set());
    expect([cache.definition("used"), cache.tooLittleGas("used"), cache.isConfirmed("file")]).toEqual([
      failed,
      1,
      false,
    ]);
    expect([cache.definition("unused"), cache.tooLittleGas("unused")]).toEqual([undefined, 0]);
  });
});

describe("a deploy during a discovery", () => {
  /** Serves an old `llms.txt` once, then the one that fits the files. */
  async function deploying(): Promise<Publisher> {
    const old = await new Publisher().skill({ name: "add", metadata: { tool_sha256: await sha256Of("old") } });
    const publisher = await new Publisher().skill({ name: "add" });
    const answers = [old.llmsTxt()];
    return publisher.put("/llms.txt", () => new Response(answers.shift() ?? publisher.llmsTxt()));
  }

  it("[10.2-deploy-race] reads llms.txt once more, past caches, before it rejects anything", async () => {
    const publisher = await deploying();
    const cacheModes: unknown[] = [];
    const release = await run(
      publisher,
      {},
      {
        fetch: (url, init) => {
          if (url.endsWith("/llms.txt")) cacheModes.push(init.cache);
          return publisher.fetch(url, init);
        },
      },
    );
    expect(names(release)).toEqual(["add"]);
    expect(release.rejected).toEqual([]);
    expect(cacheModes).toEqual([undefined, "no-store"]);
  });

  it("fetches only what had another hash again", async () => {
    const publisher = await new Publisher().skill({ name: "good" });
    await publisher.skill({ name: "wrong", metadata: { tool_sha256: "0".repeat(64) } });
    expect(codes(await run(publisher))).toEqual(["skill wrong hash_mismatch"]);
    const times = (path: string) => publisher.requests.filter((each) => each === path).length;
    expect(times("/llms.txt")).toBe(2);
    expect(times("/skills/root/good/tool.js")).toBe(1);
    expect(times("/skills/root/wrong/tool.js")).toBe(2);
  });

  it("looks only once for each wrong file, however often the origin is discovered", async () => {
    const publisher = await new Publisher().skill({ name: "wrong", metadata: { tool_sha256: "0".repeat(64) } });
    const cache = newCache();
    for (let i = 0; i < 3; i++)
      expect(codes(await run(publisher, {}, { cache }))).toEqual(["skill wrong hash_mismatch"]);
    expect(publisher.requests.filter((path) => path === "/llms.txt").length).toBe(4);
  });

  /** A publisher of version 2 whose `index.json` still says what version 1 was, to whoever asks as a cache may answer. */
  async function laggingIndex(file: "tool" | "recipe", isPastCaches: (mode?: string) => boolean): Promise<Publisher> {
    const publisher = await new Publisher().skill({ name: "add", recipe: "# Two" });
    const old = { name: "add", ...(file === "tool" ? { tool_sha256: V1 } : { digest: `sha256:${V1}` }) };
    const answer = (entry: object) => JSON.stringify({ $schema: INDEX_SCHEMA, skills: [entry] });
    return publisher.put(
      INDEX_PATH,
      ({ cache }) => new Response(answer(isPastCaches(cache) ? { name: "add" } : old), { headers: { etag: '"v1"' } }),
    );
  }
  const V1 = "1".repeat(64);

  it.each(["tool", "recipe"] as const)(
    "[10.2-deploy-race] reads both files once more, past caches, where index.json is behind with a %s",
    async (file) => {
      const publisher = await laggingIndex(file, (mode) => mode === "no-store");
      const release = await run(publisher, {}, { cache: newCache() });
      expect(release.rejected).toEqual([]);
      expect(release.skills[0]?.recipe?.text).toBe("# Two");
      expect(publisher.requests.filter((path) => path === "/llms.txt").length).toBe(2);
    },
  );

  it.each(["tool", "recipe"] as const)(
    "looks only once for a contradiction about a %s, and marks it as lasting from the second discovery on",
    async (file) => {
      const publisher = await laggingIndex(file, () => false);
      const cache = newCache();
      const found: Release[] = [];
      for (let i = 0; i < 3; i++)
        found.push(await run(publisher, {}, { cache, last: async () => found.at(-1) ?? null }));
      const subject = file === "tool" ? "skill" : "recipe";
      expect(found.map(codes)).toEqual(Array(3).fill([`${subject} add index_mismatch`]));
      expect(found.map(({ rejected }) => rejected[0]?.contradiction?.isLasting)).toEqual([false, true, true]);
      expect(found[0]?.rejected[0]?.contradiction).toMatchObject({ tool: [], recipe: [], [file]: [V1] });
      expect(publisher.requests.filter((path) => path === INDEX_PATH).length).toBe(4);
      // Another version under the same old index is another deploy.
      const next = await new Publisher().skill({ name: "add", source: `${adder("add")}//3`, recipe: "# Three" });
      next.put(INDEX_PATH, (request) => publisher.fetch(`${publisher.origin}${INDEX_PATH}`, request));
      const after = await run(next, {}, { cache, last: async () => found[2] ?? null });
      expect(after.rejected[0]?.contradiction?.isLasting).toBe(false);
    },
  );

  it("keeps what the first look gave where llms.txt cannot be had twice", async () => {
    const publisher = await new Publisher().skill({ name: "good" });
    await publisher.skill({ name: "wrong", metadata: { tool_sha256: "0".repeat(64) } });
    const answers = [new Response(publisher.llmsTxt())];
    publisher.put("/llms.txt", () => answers.shift() ?? new Response("down", { status: 503 }));
    const release = await run(publisher);
    expect([names(release), codes(release)]).toEqual([["good"], ["skill wrong hash_mismatch"]]);
  });

  it("takes an origin at its word that withdraws everything meanwhile", async () => {
    const publisher = await new Publisher().skill({ name: "wrong", metadata: { tool_sha256: "0".repeat(64) } });
    const answers = [publisher.llmsTxt()];
    publisher.put("/llms.txt", () => new Response(answers.shift() ?? "# Nothing\n"));
    await expect(run(publisher)).rejects.toMatchObject({ code: "no_skills" });
  });

  it.each(["<!DOCTYPE html><title>Back soon</title>", "\n<html lang=en>\n## Skills\n", "\ufeff<!doctype html >"])(
    "takes a page of HTML for no llms.txt: %j",
    async (page) => {
      const publisher = new Publisher().put("/llms.txt", page);
      await expect(run(publisher)).rejects.toMatchObject({ code: "discovery_failed", reason: "bad_shape" });
    },
  );

  it("keeps the documents of different origins apart by their addresses", () => {
    const cache = newCache();
    const origin = "https://a.example" as CanonicalOrigin;
    cache.keepDocument(`${origin}/llms.txt`, '"v1"', new Uint8Array(1));
    expect(cache.document("https://a.example/b/llms.txt")).toBeUndefined();
    cache.keepDocument(`${origin}/llms.txt`, null, new Uint8Array(1));
    expect(cache.document(`${origin}/llms.txt`)).toBeUndefined();
  });
});
