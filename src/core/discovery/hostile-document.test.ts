import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codes, names, run } from "./fixture/discovering.ts";
import { adder, Publisher, script } from "./fixture/publisher.ts";

describe("a hostile document", () => {
  const hash = "0".repeat(64);
  const line = (name: string, more = "") =>
    `- [${name}](): x <!-- skill: {"tool":"/t.js","tool_sha256":"${hash}"${more}} -->`;

  it.each<[what: string, name: string]>([
    ["a control character", "a\u0007b"],
    ["a null", "a\u0000b"],
    ["a right-to-left override", "safe\u202Etxt"],
    ["a zero-width joiner", "sum\u200D"],
    ["a Cyrillic letter", "s\u0443m"],
    ["a lone surrogate", "a\ud800"],
    ["white space around it", " sum "],
    ["markup", "<b>x</b>"],
    ["a slash", "a/b"],
    ["a megabyte's worth of letters", "n".repeat(200_000)],
  ])("is refused a name with %s, unfetched", async (_what, name) => {
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    publisher.line(line(name));
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(release.rejected).toMatchObject([{ subject: "skill", code: "bad_name" }]);
    expect(publisher.requests).not.toContain("/t.js");
  });

  it("gains nothing by keys of every object in its metadata", async () => {
    const publisher = new Publisher();
    const proto = `"__proto__":{"tool":"/evil.js","tool_sha256":"${hash}","scope":"x"}`;
    publisher.line(`- [a](): x <!-- skill: {${proto}} -->`);
    publisher.line(`- [b](): x <!-- skill: {"constructor":{"prototype":{"tool":1}},${proto},"tool":"/b.js"} -->`);
    await publisher.skill({ name: "good" });
    publisher.put(
      "/.well-known/agent-skills/index.json",
      `{"__proto__":{"skills":[]},"skills":[{"__proto__":{"name":"good","tool":"/x"}}]}`,
    );
    publisher.put("/.well-known/agent-skills/attestations.json", '[{"__proto__":{"a":1}}]');
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(release.prose.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(codes(release)).toEqual(["index  missing_schema", "index  bad_shape", "attestations  missing_field"]);
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it("of one line 1,200 times costs one fetch and one definition", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "same", metadata: { tool: "/t.js" } });
    publisher.put("/t.js", adder("same"));
    const [, again = ""] = /(- \[same\].*)/.exec(publisher.llmsTxt()) ?? [];
    for (let count = 0; count < 1_200; count += 1) publisher.line(again);
    const release = await run(publisher);
    expect(names(release)).toEqual(["same"]);
    expect(publisher.requests.filter((path) => path === "/t.js")).toHaveLength(1);
    const found = new Map<string, number>();
    for (const { code } of release.rejected) found.set(code, (found.get(code) ?? 0) + 1);
    expect(found).toEqual(
      new Map([
        ["name_collision", 255],
        ["too_many_skills", 744],
        ["too_many_rejections", 1],
      ]),
    );
  });

  it("of 100,000 short lines and well-known files of 100,000 entries is read, and the good skill loads", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    for (let count = 0; count < 100_000; count += 1) publisher.line("-");
    publisher.put("/.well-known/agent-skills/index.json", `{"skills":[${"0,".repeat(100_000)}{"name":"good"}]}`);
    publisher.put("/.well-known/agent-skills/attestations.json", `[${"0,".repeat(100_000)}0]`);
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(new Set(codes(release))).toEqual(
      new Set(["index  missing_schema", "index  bad_shape", "attestations  not_an_object", "attestations  bad_shape"]),
    );
    expect(release.rejected).toHaveLength(103);
  });

  it("of nested arrays without an end is bad JSON or a bad shape, and nothing overflows", async () => {
    const deep = "[".repeat(100_000);
    const publisher = new Publisher();
    await publisher.skill({ name: "good" });
    publisher.line(line("deep", `,"scope":${"[".repeat(40_000)}${"]".repeat(40_000)}`));
    publisher.put("/.well-known/agent-skills/index.json", deep + "]".repeat(100_000));
    publisher.put("/.well-known/agent-skills/attestations.json", deep);
    const release = await run(publisher);
    expect(names(release)).toEqual(["good"]);
    expect(codes(release)).toEqual(["skill deep bad_scope", "index  bad_shape", "attestations  bad_json"]);
  });

  it("names the place of a bad schema in a sentence of bounded length", async () => {
    const publisher = new Publisher();
    await publisher.skill({
      name: "long",
      source: script("long", "inputSchema: { properties: { ['k'.repeat(60000)]: { type: 'text' } } }"),
    });
    const release = await run(publisher);
    expect(codes(release)).toEqual(["skill long bad_schema"]);
    expect(release.rejected[0]?.message.length).toBeLessThan(500);
  });
});

describe("whatever a publisher writes", () => {
  const text = fc.oneof(
    fc.constantFrom("", "a", "__proto__", "/x.js", "//evil.example", "https://[", "\ud800", "0".repeat(64), "tool.js"),
    fc.string(),
  );
  const metadata = fc.record(
    { tool: text, tool_sha256: text, sha256: text, scope: text, version: text },
    { requiredKeys: [] },
  );
  const line = fc.oneof(
    fc.tuple(text, text, text, metadata).map(([name, link, words, fields]) => {
      return `- [${name}](${link}): ${words} <!-- skill: ${JSON.stringify(fields)} -->`;
    }),
    fc.string(),
  );
  const wellKnown = fc.oneof(fc.json(), fc.string(), fc.constant('{"skills":[{"name":"good"}]}'));

  it("gives a release or a DiscoveryError, and the good skill beside it loads", async () => {
    const property = fc.asyncProperty(
      fc.array(line, { maxLength: 6 }),
      wellKnown,
      wellKnown,
      async (lines, index, attestations) => {
        const publisher = new Publisher();
        await publisher.skill({ name: "good" });
        for (const each of lines) publisher.line(each.replaceAll(/[\r\n]|##/g, " "));
        publisher.put("/.well-known/agent-skills/index.json", index);
        publisher.put("/.well-known/agent-skills/attestations.json", attestations);
        const release = await run(publisher);
        expect(names(release)).toContain("good");
        for (const { message } of release.rejected) expect(message).toMatch(/[.!?]$/);
        expect(structuredClone(release)).toEqual(release);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  }, 60_000);
});
