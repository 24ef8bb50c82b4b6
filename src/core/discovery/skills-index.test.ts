import { describe, expect, it } from "vitest";
import { codes, names, run } from "./fixture/discovering.ts";
import { type Answer, adder, Publisher, sha256Of } from "./fixture/publisher.ts";
import type { Release } from "./release.ts";
import { INDEX_PATH, INDEX_SCHEMA } from "./skills-index.ts";

const WRONG = "0".repeat(64);

/** An origin with one skill in two scopes, each with a recipe of its own, and the index given. */
async function runWith(answer: Answer | string | Uint8Array): Promise<Release> {
  const publisher = new Publisher();
  await publisher.skill({ name: "same", scope: "a", recipe: "# Recipe of a" });
  await publisher.skill({ name: "same", scope: "b", source: `${adder("same")}//b`, recipe: "# Recipe of b" });
  publisher.put(INDEX_PATH, answer);
  return run(publisher);
}

const index = (...skills: object[]) => JSON.stringify({ $schema: INDEX_SCHEMA, skills });
const entry = (more: object) => index({ name: "same", scope: "a", type: "skill-md", ...more });
const recipes = (release: Release) => release.skills.map(({ recipe }) => recipe?.text ?? null);

describe("what index.json says of a tool", () => {
  it("[10.2-index-scope] rejects the skill of that scope and name alone when a hash differs", async () => {
    const hashOfB = await sha256Of(`${adder("same")}//b`);
    const release = await runWith(
      index({ name: "same", scope: "a", tool_sha256: WRONG }, { name: "same", scope: "b", tool_sha256: hashOfB }),
    );
    expect(names(release)).toEqual(["b__same"]);
    expect(release.rejected).toMatchObject([{ subject: "skill", scope: "a", name: "same", code: "index_mismatch" }]);
    expect(release.index).toEqual({ code: "read", message: expect.any(String), entries: 2 });
  });

  it.each([
    ["of the unscoped skill, which this origin does not have", { name: "same" }],
    ["under the public name", { name: "a__same" }],
    ["of another scope", { name: "same", scope: "c" }],
  ])("is not about a scoped skill where it is %s", async (_case, id) => {
    expect(names(await runWith(index({ ...id, tool_sha256: WRONG })))).toEqual(["a__same", "b__same"]);
  });

  it("rejects a skill whose path differs; any spelling of the same place agrees", async () => {
    for (const tool of [
      "/skills/a/same/tool.js",
      "skills/a/same/tool.js",
      "https://publisher.example/skills/a/same/tool.js",
      "../../skills/a/same/tool.js",
    ]) {
      expect(names(await runWith(entry({ tool })))).toEqual(["a__same", "b__same"]);
    }
    for (const tool of ["/skills/a/same/other.js", "https://evil.example/skills/a/same/tool.js", "http://[", ""]) {
      const release = await runWith(entry({ tool }));
      expect(names(release)).toEqual(["b__same"]);
      expect(codes(release)).toEqual(["skill same index_mismatch"]);
    }
  });

  it("holds whatever the type of the entry, and in an index that names no schema", async () => {
    expect(codes(await runWith(entry({ type: "tool", tool_sha256: WRONG })))).toEqual([
      "index  unknown_type",
      "skill same index_mismatch",
    ]);
    const release = await runWith(JSON.stringify({ skills: [{ name: "same", scope: "a", tool_sha256: WRONG }] }));
    expect(codes(release)).toEqual(["index  missing_schema", "skill same index_mismatch"]);
    expect(release.index).toMatchObject({ code: "missing_schema", entries: 1 });
  });

  it("rejects on any of several entries, and ignores fields of other types", async () => {
    const release = await runWith(
      index({ name: "same", scope: "a", tool_sha256: 5, tool: null }, { name: "same", scope: "a", tool_sha256: WRONG }),
    );
    expect(names(release)).toEqual(["b__same"]);
    expect(release.rejected[0]?.message).toBe(
      "The fields `tool_sha256` of llms.txt and index.json differ. Of this skill index.json has the entries 1, 2, counted from 1.",
    );
    const odd = await runWith(entry({ tool_sha256: 5, digest: 5, sha256: [] }));
    expect(names(odd)).toEqual(["a__same", "b__same"]);
    expect(odd.rejected).toEqual([]);
  });
});

describe("what index.json says of a recipe", () => {
  it("that agrees, as digest and as sha256, leaves it", async () => {
    const sha256 = await sha256Of("# Recipe of a");
    const release = await runWith(entry({ digest: `sha256:${sha256}`, sha256 }));
    expect(release.rejected).toEqual([]);
    expect(recipes(release)).toEqual(["# Recipe of a", "# Recipe of b"]);
  });

  it.each([
    ["another digest", { digest: `sha256:${WRONG}` }],
    ["another sha256", { sha256: WRONG }],
    ["a digest without its prefix", { digest: WRONG }],
    ["a digest of another algorithm", { digest: "sha512:00" }],
    ["an empty one", { digest: "" }],
  ])("refuses the recipe of that scope alone, and no tool: %s", async (_case, more) => {
    const release = await runWith(entry(more));
    expect(names(release)).toEqual(["a__same", "b__same"]);
    expect(recipes(release)).toEqual([null, "# Recipe of b"]);
    expect(release.rejected).toMatchObject([{ subject: "recipe", scope: "a", code: "index_mismatch" }]);
  });

  it("is case-sensitive: upper-case digits are another hash", async () => {
    const upper = (await sha256Of("# Recipe of a")).toUpperCase();
    expect(recipes(await runWith(entry({ digest: `sha256:${upper}` })))).toEqual([null, "# Recipe of b"]);
  });

  it("is another file's where the entry is an archive, or of a type nobody knows", async () => {
    for (const type of ["archive", "tool"]) {
      const release = await runWith(entry({ type, digest: `sha256:${WRONG}` }));
      expect(recipes(release)).toEqual(["# Recipe of a", "# Recipe of b"]);
    }
  });

  it("never takes the hash of a tool for that of a recipe", async () => {
    const sha256 = await sha256Of("# Recipe of a");
    const release = await runWith(entry({ tool_sha256: sha256, sha256: await sha256Of(adder("same")) }));
    expect(codes(release)).toEqual(["skill same index_mismatch"]);
  });

  it("verifies one whose line declares no hash", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "right", recipe: "# Right", metadata: { sha256: undefined } });
    await publisher.skill({ name: "wrong", recipe: "# Wrong", metadata: { sha256: undefined } });
    await publisher.skill({ name: "odd", recipe: "# Odd", metadata: { sha256: undefined } });
    await publisher.skill({ name: "two", recipe: "# Two", metadata: { sha256: undefined } });
    const digest = `sha256:${await sha256Of("# Right")}`;
    const both = { digest: `sha256:${await sha256Of("# Two")}`, sha256: WRONG };
    publisher.put(
      INDEX_PATH,
      index(
        { name: "right", digest },
        { name: "wrong", digest },
        { name: "odd", digest: "sha256:ABC" },
        { name: "two", ...both },
      ),
    );
    const release = await run(publisher);
    expect(recipes(release)).toEqual(["# Right", null, null, null]);
    expect(release.skills[0]?.recipe?.verified).toBe(true);
    expect(codes(release)).toEqual(["recipe wrong hash_mismatch", "recipe odd bad_hash", "recipe two index_mismatch"]);
  });
});

const V010 = { skills: [{ name: "same", scope: "a", files: ["SKILL.md"], tool_sha256: WRONG }] };
const INTERIM = {
  version: "0.2.0",
  skills: [{ name: "same", scope: "a", digest: `sha256:${WRONG}`, files: [{ path: "SKILL.md", digest: WRONG }] }],
};
const contradicting = { name: "same", scope: "a", tool_sha256: WRONG, digest: WRONG };

describe("an index.json that", () => {
  it.each<[string, Answer | string | Uint8Array, string]>([
    ["is an error", new Response("", { status: 500 }), "http_status"],
    ["is gone", new Response("", { status: 410 }), "http_status"],
    ["is a page of HTML", "<!doctype html>", "bad_json"],
    ["is empty", "", "bad_json"],
    ["is cut short", index(contradicting).slice(0, -1), "bad_json"],
    ["is null", "null", "bad_shape"],
    ["is an array", JSON.stringify([contradicting]), "bad_shape"],
    ["has no list of skills", JSON.stringify({ $schema: INDEX_SCHEMA, entries: [contradicting] }), "bad_shape"],
    ["has an object of skills", '{"skills":{}}', "bad_shape"],
    [
      "has odd entries",
      `{"$schema":"${INDEX_SCHEMA}","skills":[1,null,[],{"name":2},{"name":"same","scope":7}]}`,
      "bad_shape",
    ],
    ["is not UTF-8", new Uint8Array([0xff]), "bad_encoding"],
    ["redirects elsewhere", Response.redirect("https://evil.example/"), "redirect_outside_origin"],
    ["is deeply nested", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, "bad_shape"],
    [
      "names an unknown schema",
      JSON.stringify({ $schema: "https://x.example/s", skills: [contradicting] }),
      "unknown_schema",
    ],
    [
      "names the schema in capitals",
      JSON.stringify({ $schema: INDEX_SCHEMA.toUpperCase(), skills: [contradicting] }),
      "unknown_schema",
    ],
    [
      "names the schema with a slash",
      JSON.stringify({ $schema: `${INDEX_SCHEMA}/`, skills: [contradicting] }),
      "unknown_schema",
    ],
    ["names a schema that is no text", JSON.stringify({ $schema: null, skills: [contradicting] }), "unknown_schema"],
    ["is of v0.1.0", JSON.stringify(V010), "legacy_index"],
    ["is of the interim 0.2.0", JSON.stringify(INTERIM), "interim_index"],
    ["is of the interim 0.2.0 without its version", JSON.stringify({ skills: INTERIM.skills }), "interim_index"],
  ])("%s is reported and changes nothing", async (_case, answer, code) => {
    const release = await runWith(answer);
    expect(names(release)).toEqual(["a__same", "b__same"]);
    expect(recipes(release)).toEqual(["# Recipe of a", "# Recipe of b"]);
    expect(release.rejected).toMatchObject([{ subject: "index", scope: null, name: "", code }]);
    expect(release.rejected[0]?.message).toMatch(/^[A-Z].{10,200}\.$/s);
    expect(release.index).toMatchObject({ code, entries: 0 });
  });

  it("does not exist is told apart from one that was read, and is no fault", async () => {
    const release = await runWith(new Response("", { status: 404 }));
    expect(release.rejected).toEqual([]);
    expect(release.index).toMatchObject({ code: "absent", entries: 0 });
  });

  it("names one skill thousands of times costs no more than its size", async () => {
    const publisher = new Publisher();
    for (let count = 0; count < 40; count += 1) await publisher.skill({ name: "same", metadata: { tool: "/gone.js" } });
    const claims = Array.from({ length: 4_000 }, (_, i) => ({ name: "same", tool: `x/${i}/../../gone.js` }));
    publisher.put(INDEX_PATH, index(...claims));
    const release = await run(publisher);
    expect(release.skills).toEqual([]);
    expect(release.index.entries).toBe(4_000);
  });

  it("names what every object has is an index of ordinary names", async () => {
    const hostile = `{"$schema":"${INDEX_SCHEMA}","skills":[{"name":"__proto__","tool_sha256":"x"},{"name":"constructor","__proto__":{"scope":"a"}}]}`;
    const release = await runWith(hostile);
    expect(names(release)).toEqual(["a__same", "b__same"]);
    expect(release.rejected).toEqual([]);
  });
});
