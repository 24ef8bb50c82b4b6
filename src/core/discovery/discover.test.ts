import { describe, expect, it } from "vitest";
import { entryOf } from "../attestation/fixture/entries.ts";
import type { Sha256Hex } from "../integrity.ts";
import { isUnread } from "./attestations.ts";
import { DiscoveryError } from "./discovery-error.ts";
import { codes, names, run } from "./fixture/discovering.ts";
import { adder, Publisher, script, sha256Of } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";
import type { DiscoveryProgress } from "./progress.ts";
import type { Release } from "./release.ts";

async function failure(promise: Promise<Release>): Promise<DiscoveryError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DiscoveryError)) throw new Error(`not a DiscoveryError: ${String(error)}`);
  return error;
}

describe("a release", () => {
  it("holds verified skills, recipes, memories, attestations and prose, in document order", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "zulu", recipe: "# How to zulu" });
    await publisher.skill({ name: "alpha", scope: "kb", metadata: { version: "1.2" } });
    publisher.line("- [reading](/about.md): Only for people.");
    await publisher.memory("kb", "snapshot bytes");
    publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify([entryOf({ skill: "zulu" })]));
    const release = await run(publisher);
    expect(release.rejected).toEqual([]);
    expect(names(release)).toEqual(["zulu", "kb__alpha"]);
    expect(release.fetchedAt).toBe(1_000);
    const [zulu, alpha] = release.skills;
    expect(zulu?.recipe?.text).toBe("# How to zulu");
    expect(zulu?.definition).toMatchObject({
      name: "zulu",
      description: "Adds.",
      inputSchema: { required: ["a", "b"] },
    });
    expect(new TextDecoder().decode(zulu?.source)).toBe(adder("zulu"));
    expect(alpha).toMatchObject({
      scope: "kb",
      name: "alpha",
      version: "1.2",
      recipe: null,
      description: "Does alpha.",
    });
    expect(release.memories.map(({ scope, bytes }) => [scope, bytes.length])).toEqual([["kb", 14]]);
    expect(release.prose).toMatchObject([{ name: "reading", description: "Only for people." }]);
    expect(release.attestations).toMatchObject([{ skill: "zulu", attester: "human:ada" }]);
    expect(structuredClone(release)).toEqual(release);
  });

  it.each([
    [503, "human:ada", "old"],
    [429, "human:ada", "old"],
    [404, undefined, undefined],
    [410, undefined, undefined],
    [403, "human:ada", undefined],
  ] as const)(
    "keeps what the origin served before where a file answers %i: %s, %s",
    async (status, attester, memory) => {
      const publisher = new Publisher();
      await publisher.skill({ name: "one" });
      await publisher.memory("kb", "old");
      publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify([entryOf({ skill: "one" })]));
      const before = await run(publisher);
      const after = new Publisher();
      await after.skill({ name: "one" });
      await after.memory("kb", "new");
      for (const path of ["/.well-known/agent-skills/attestations.json", "/memory/kb.bin"]) {
        after.put(path, () => new Response("", { status }));
      }
      const release = await run(after, {}, { last: async () => before });
      expect(release.attestations[0]?.attester).toBe(attester);
      const [kept] = release.memories;
      expect(kept === undefined ? undefined : new TextDecoder().decode(kept.bytes)).toBe(memory);
      expect(codes(release)).toContain("memory  http_status");
    },
  );

  it.each<[string, Response | string | Uint8Array, number]>([
    ["an object", "{}", 1],
    ["a page of HTML", "<!doctype html><title>One moment</title>", 1],
    ["no text", new Uint8Array([0xff]), 1],
    ["too large a list", `[${" ".repeat(300_000)}]`, 1],
    ["a redirect to a login", Response.redirect("https://login.example/"), 1],
    ["an empty list", "[]", 0],
    ["a list of odd entries", "[1]", 0],
  ])("lets only a list take attestations back: %s", async (_, answer, count) => {
    const publisher = await new Publisher().skill({ name: "one" });
    publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify([entryOf({ skill: "one" })]));
    const before = await run(publisher);
    publisher.put("/.well-known/agent-skills/attestations.json", answer);
    const release = await run(publisher, {}, { last: async () => before });
    expect(release.attestations).toEqual(before.attestations.slice(0, count));
    expect(release.rejected.filter(isUnread).length).toBe(count);
  });

  it("has no skill whose hash the operator revoked, and its script is not loaded", async () => {
    const publisher = new Publisher();
    const endless = "for (;;) {}";
    await publisher.skill({ name: "one", source: endless });
    await publisher.skill({ name: "two" });
    const loaded: string[] = [];
    const sandbox = createTestSandbox();
    const watched = {
      evaluate: sandbox.evaluate.bind(sandbox),
      load: (...args: Parameters<typeof sandbox.load>) => {
        loaded.push(`${args[0].name}`);
        return sandbox.load(...args);
      },
    };
    const revoked = Promise.resolve(new Set([(await sha256Of(endless)) as Sha256Hex]));
    const release = await run(publisher, {}, { sandbox: watched, revoked });
    expect([names(release), codes(release), loaded]).toEqual([["two"], ["skill one revoked_hash"], ["two"]]);
  });

  it("keeps to an origin's base path: a project site", async () => {
    const publisher = new Publisher("https://user.github.io/REPO");
    await publisher.skill({ name: "one" });
    await publisher.skill({ name: "two", metadata: { tool: "/REPO/skills/root/two/tool.js" } });
    expect(names(await run(publisher))).toEqual(["one", "two"]);
    expect(publisher.requests.every((path) => path.startsWith("/REPO/"))).toBe(true);
  });

  it("asks for llms.txt first and runs at most six fetches at once", async () => {
    const publisher = new Publisher();
    for (let count = 0; count < 12; count += 1) await publisher.skill({ name: `s${count}`, recipe: `recipe ${count}` });
    const release = await run(publisher);
    expect(release.skills).toHaveLength(12);
    expect(publisher.requests[0]).toBe("/llms.txt");
    expect(publisher.mostOpen).toBe(6);
  });

  it("fetches one artifact once for two scopes that share it, and reads its definition once", async () => {
    const publisher = new Publisher();
    const tool_sha256 = await sha256Of(adder("same"));
    publisher.put("/same.js", adder("same"));
    for (const scope of ["a", "b"])
      await publisher.skill({ name: "same", scope, metadata: { tool: "/same.js", tool_sha256 } });
    expect(names(await run(publisher))).toEqual(["a__same", "b__same"]);
    expect(publisher.requests.filter((path) => path === "/same.js")).toHaveLength(1);
  });

  it("is the same whatever order the answers come in", async () => {
    const build = async (delay: (index: number) => number) => {
      const publisher = new Publisher();
      for (let index = 0; index < 8; index += 1) {
        const name = index % 2 === 0 ? "twin" : `s${index}`;
        const source = `${adder(name)}//${index}`;
        await publisher.skill({ name, source, metadata: { tool: `/t${index}.js` } });
        publisher.put(`/t${index}.js`, async () => {
          await new Promise((resolve) => setTimeout(resolve, delay(index)));
          return new Response(source);
        });
      }
      return run(publisher, { releaseBytes: 1_500 });
    };
    const [first, second] = [await build((index) => index * 4), await build((index) => 40 - index * 4)];
    expect(first).toEqual(second);
    expect(codes(first)).toContain("skill twin name_collision");
    expect(codes(first)).toContain("skill s7 release_too_large");
  });
});

describe("whoever watches a discovery", () => {
  it("is told of every fetch and hash; a rejection names the fetch in which it failed", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "good", scope: "kb", recipe: "# Good" });
    await publisher.skill({ name: "gone" });
    await publisher.skill({ name: "other", metadata: { tool_sha256: "0".repeat(64) } });
    publisher.put("/skills/root/gone/tool.js", new Response("no", { status: 410 }));
    const progress: DiscoveryProgress[] = [];
    const { rejected } = await run(publisher, {}, { onProgress: (step) => void progress.push(step) });
    const fetches = progress.flatMap((step) => (step.kind === "fetch" ? [step] : []));
    const hashes = progress.flatMap((step) => (step.kind === "hash" ? [step] : []));
    expect(fetches.length).toBe(publisher.requests.length);
    expect(fetches[0]).toMatchObject({ url: `${publisher.origin}/llms.txt`, status: 200, code: null });
    expect(fetches).toContainEqual(expect.objectContaining({ status: 410, bytes: null, code: "http_status" }));
    expect(hashes).toContainEqual(expect.objectContaining({ scope: "kb", name: "good", file: "tool.js", ok: true }));
    expect(hashes).toContainEqual(expect.objectContaining({ scope: "kb", name: "good", file: "SKILL.md", ok: true }));
    const wrong = hashes.find(({ name }) => name === "other");
    expect(wrong).toMatchObject({
      ok: false,
      expected: "0".repeat(64),
      actual: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(rejected.map(({ name, fetch }) => [name, fetch?.status, fetch?.url.startsWith(publisher.origin)])).toEqual([
      ["gone", 410, true],
      ["other", 200, true],
    ]);
  });
});

describe("one broken skill harms only itself", () => {
  const H = "0".repeat(64);
  const broken: [fault: string, code: string, arrange: (publisher: Publisher) => Promise<unknown>][] = [
    ["an unparsable tool URL", "bad_url", (p) => p.skill({ name: "bad", metadata: { tool: "http://[" } })],
    ["an empty tool path", "bad_url", (p) => p.skill({ name: "bad", metadata: { tool: "" } })],
    [
      "a tool elsewhere",
      "outside_origin",
      (p) => p.skill({ name: "bad", metadata: { tool: "https://evil.example/t.js" } }),
    ],
    ["an upper-case hash", "bad_hash", (p) => p.skill({ name: "bad", metadata: { tool_sha256: "A".repeat(64) } })],
    ["another hash", "hash_mismatch", (p) => p.skill({ name: "bad", metadata: { tool_sha256: H } })],
    ["a 404", "http_status", (p) => p.skill({ name: "bad", metadata: { tool: "/missing.js" } })],
    ["a name that clients refuse", "bad_name", (p) => p.skill({ name: "bad name" })],
    ["a name of 129 characters", "bad_name", (p) => p.skill({ name: "n".repeat(129) })],
    ["a syntax error", "load_failed", (p) => p.skill({ name: "bad", source: "registerTool({" })],
    ["a throw at top level", "load_failed", (p) => p.skill({ name: "bad", source: "throw new Error('no')" })],
    ["an endless loop", "gas_exhausted", (p) => p.skill({ name: "bad", source: "for (;;) {}" })],
    ["no registration", "no_registration", (p) => p.skill({ name: "bad", source: "1" })],
    [
      "two registrations",
      "several_registrations",
      (p) => p.skill({ name: "bad", source: adder("bad") + adder("bad") }),
    ],
    ["invalid UTF-8", "bad_encoding", (p) => p.skill({ name: "bad", source: new Uint8Array([0x2f, 0x2f, 0xff]) })],
    [
      "a schema with a bad type",
      "bad_schema",
      (p) =>
        p.skill({
          name: "bad",
          source: script("bad", "inputSchema: { type: 'object', properties: { a: { type: 'text' } } }"),
        }),
    ],
    [
      "a schema for arrays",
      "bad_schema",
      (p) => p.skill({ name: "bad", source: script("bad", "inputSchema: { type: 'array' }") }),
    ],
    [
      "a bad pattern",
      "bad_schema",
      (p) => p.skill({ name: "bad", source: script("bad", "inputSchema: { properties: { a: { pattern: '(' } } }") }),
    ],
    [
      "a foreign $ref",
      "bad_schema",
      (p) => p.skill({ name: "bad", source: script("bad", "outputSchema: { $ref: 'https://evil.example/s' }") }),
    ],
    [
      "a bad x-mcp-header",
      "bad_schema",
      (p) =>
        p.skill({
          name: "bad",
          source: script("bad", "inputSchema: { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }"),
        }),
    ],
  ];

  it.each(broken)(
    "[10.1-G] %s is %s, and the others load",
    async (_fault, code, arrange) => {
      const publisher = new Publisher();
      await publisher.skill({ name: "before" });
      await arrange(publisher);
      await publisher.skill({ name: "after" });
      const release = await run(publisher);
      expect(names(release)).toEqual(["before", "after"]);
      expect(release.rejected).toMatchObject([{ subject: "skill", code }]);
      expect(release.rejected[0]?.message).toMatch(/^[A-Z].{10,}\.$/s);
    },
    20_000,
  );

  it("[10.1-F] a getter, toJSON or proxy that never ends is rejected under gas", async () => {
    const publisher = new Publisher();
    const loops = [
      script("l0", "get description() { for (;;) {} }"),
      script("l1", "inputSchema: { toJSON() { for (;;) {} } }"),
      script("l2", "annotations: new Proxy({}, { ownKeys() { for (;;) {} } })"),
    ];
    for (const [index, source] of loops.entries()) await publisher.skill({ name: `l${index}`, source });
    await publisher.skill({ name: "good" });
    const release = await run(publisher, { gas: 1_000_000_000, deadlineMs: 60_000 });
    expect(names(release)).toEqual(["good"]);
    for (const { name, code } of release.rejected)
      expect(`${name} ${code}`).toMatch(/^l\d (gas_exhausted|bad_definition)$/);
    expect(release.rejected).toHaveLength(3);
  }, 60_000);

  it("[10.1-I] a script that registers another skill's name is a name_mismatch and shadows nothing", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "evil", source: adder("good") });
    await publisher.skill({ name: "good" });
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(codes(release)).toEqual(["skill evil name_mismatch"]);
  });

  it("takes the first VALID line of a public name; later ones collide", async () => {
    const publisher = new Publisher();
    const first = { name: "twin", metadata: { tool_sha256: H } };
    await publisher.skill(first);
    await publisher.skill({ name: "twin", scope: "x", source: adder("twin") });
    await publisher.skill({ name: "x__twin" });
    await publisher.skill({ name: "twin", source: `${adder("twin")}//2` });
    const release = await run(publisher);
    expect(names(release)).toEqual(["x__twin", "twin"]);
    expect(codes(release)).toEqual(["skill twin hash_mismatch", "skill x__twin name_collision"]);
  });

  it("reports malformed metadata and scopes, which stay visible as prose", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    await publisher.skill({ name: "odd", scope: "Not A Scope" });
    publisher.line("- [broken](/x.md): Bad JSON. <!-- skill: {nope} -->");
    const release = await run(publisher);
    expect(codes(release)).toEqual(["skill odd bad_scope", "skill broken bad_metadata"]);
    expect(release.prose.map(({ name }) => name)).toEqual(["odd", "broken"]);
  });
});

describe("exact bytes", () => {
  it("[10.2-bom] a byte order mark is part of the hash and not of the script", async () => {
    const publisher = new Publisher();
    const source = new TextEncoder().encode(`\ufeff${adder("marked")}\r\n`);
    await publisher.skill({ name: "marked", source });
    await publisher.skill({ name: "stripped", metadata: { tool_sha256: await sha256Of(adder("stripped")) } });
    publisher.put("/skills/root/stripped/tool.js", `\ufeff${adder("stripped")}`);
    const release = await run(publisher);
    expect(names(release)).toEqual(["marked"]);
    expect(codes(release)).toEqual(["skill stripped hash_mismatch"]);
  });

  it("a recipe keeps its byte order mark, so that its text gives its hash", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "marked", recipe: "\ufeff# Marked\n" });
    const [skill] = (await run(publisher)).skills;
    expect(await sha256Of(skill?.recipe?.text ?? "")).toBe(skill?.recipe?.sha256);
  });

  it("reads an llms.txt with a byte order mark, CRLF and a stray byte", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    const text = new TextEncoder().encode(`\ufeff${publisher.llmsTxt().replaceAll("\n", "\r\n")}`);
    publisher.put("/llms.txt", new Uint8Array([...text, 0xff]));
    expect(names(await run(publisher))).toEqual(["one"]);
  });
});

describe("redirects", () => {
  const redirect = (to: string, status = 302) => new Response(null, { status, headers: { location: to } });

  it("[10.1-E] rejects a tool, a recipe and a snapshot whose redirect leaves the origin, and never asks there", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "away", recipe: "text" });
    await publisher.memory(null, "bytes");
    for (const path of ["/skills/root/away/tool.js", "/memory/root.bin"])
      publisher.put(path, redirect("https://evil.example/x"));
    await publisher.skill({ name: "good", recipe: "text" });
    publisher.put("/skills/root/good/SKILL.md", redirect("//evil.example/x"));
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(codes(release).sort()).toEqual([
      "memory  redirect_outside_origin",
      "recipe good redirect_outside_origin",
      "skill away redirect_outside_origin",
    ]);
    expect(publisher.requests).not.toContain("/x");
  });

  it("[10.1-E] fails when llms.txt redirects to another origin, scheme or out of the base path", async () => {
    for (const to of [
      "https://evil.example/llms.txt",
      "http://user.github.io/REPO/llms.txt",
      "/llms.txt",
      "/REPO/%2e%2e/llms.txt",
    ]) {
      const publisher = new Publisher("https://user.github.io/REPO").put("/llms.txt", redirect(to));
      expect(await failure(run(publisher))).toMatchObject({
        code: "discovery_failed",
        reason: "redirect_outside_origin",
      });
    }
  });

  it("[budget:redirects] follows 4 and 5 redirects inside the origin, not 6", async () => {
    for (const [hops, expected] of [
      [4, "ok"],
      [5, "ok"],
      [6, "too_many_redirects"],
    ] as const) {
      const publisher = new Publisher();
      await publisher.skill({ name: "far", metadata: { tool: "/hop0" } });
      for (let hop = 0; hop < hops; hop += 1) publisher.put(`/hop${hop}`, redirect(`hop${hop + 1}`, 301 + (hop % 2)));
      publisher.put(`/hop${hops}`, adder("far"));
      const release = await run(publisher);
      expect(release.skills.length === 1 ? "ok" : release.rejected[0]?.code).toBe(expected);
    }
  });
});

describe("no release at all", () => {
  it.each([
    ["a 404", () => new Response("", { status: 404 }), "http_status"],
    ["an error page", () => new Response("", { status: 503 }), "http_status"],
    ["a network failure", () => Promise.reject(new TypeError("ECONNREFUSED 10.0.0.1")), "fetch_failed"],
    [
      "an endless redirect",
      () => new Response("", { status: 302, headers: { location: "/llms.txt" } }),
      "too_many_redirects",
    ],
  ])("[code:discovery_failed] %s for llms.txt is discovery_failed", async (_case, answer, reason) => {
    const error = await failure(run(new Publisher().put("/llms.txt", answer)));
    expect(error).toMatchObject({ code: "discovery_failed", reason });
    expect(error.message).not.toContain("10.0.0.1");
  });

  it("[code:no_skills] without an executable line is no_skills, counts the links for people and keeps the mistakes", async () => {
    const publisher = new Publisher().line("- [a](/a.md): x").line("- [b](/b.md): x <!-- skill: {bad} -->");
    const error = await failure(run(publisher));
    expect(error).toMatchObject({ code: "no_skills", reason: "no_executable_lines" });
    expect(error.message).toContain("2 that are links for people");
    expect(error.rejected).toMatchObject([{ name: "b", code: "bad_metadata" }]);
    expect(publisher.requests).toEqual(["/llms.txt"]);
  });

  it("with every skill rejected is a release without skills", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "one", metadata: { tool_sha256: "0".repeat(64) } });
    const release = await run(publisher);
    expect(release.skills).toEqual([]);
    expect(codes(release)).toEqual(["skill one hash_mismatch"]);
  });

  it("ends at once when its caller gives up", async () => {
    const controller = new AbortController();
    const publisher = new Publisher().put("/llms.txt", () => {
      controller.abort();
      return new Promise<Response>(() => {});
    });
    expect(await failure(run(publisher, {}, { signal: controller.signal }))).toMatchObject({ reason: "cancelled" });
  });
});
