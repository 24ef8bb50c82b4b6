import { describe, expect, it } from "vitest";
import { archiveOf, skillMd, utf8 } from "../agent-skills/fixture/publications.ts";
import { zlibInflater } from "../archive/zlib-inflater.ts";
import { type ReadAgentSkills, readAgentSkills } from "./agent-skills.ts";
import type { DiscoverOptions } from "./discover.ts";
import { codes, outcome, run } from "./fixture/discovering.ts";
import { Publisher, sha256Of } from "./fixture/publisher.ts";
import { INDEX_PATH, INDEX_SCHEMA } from "./skills-index.ts";

const WANTED: Partial<DiscoverOptions> = {
  mayLackTools: async () => true,
  readAgentSkills: ((context) => readAgentSkills(context, zlibInflater)) satisfies ReadAgentSkills,
};
const OFFERED: Partial<DiscoverOptions> = { ...WANTED, unverifiedRecipes: "offer" };

const read = (publisher: Publisher, limits = {}, options = WANTED) => run(publisher, limits, options);
const index = (skills: unknown) => JSON.stringify({ $schema: INDEX_SCHEMA, skills });
const entry = async (name: string, bytes: Uint8Array, more: object = {}) => ({
  name,
  type: "skill-md",
  description: "A test.",
  url: `${name}/SKILL.md`,
  digest: `sha256:${await sha256Of(bytes)}`,
  ...more,
});

/** A publisher whose skills lie beside its index, without a line that has a tool. */
async function publisherOf(
  skills: readonly (object | null)[],
  files: Readonly<Record<string, Uint8Array>>,
): Promise<Publisher> {
  const publisher = new Publisher().put(INDEX_PATH, index(skills));
  for (const [path, bytes] of Object.entries(files)) publisher.put(`/.well-known/agent-skills/${path}`, bytes);
  return publisher;
}

describe("the Agent Skills of an index of v0.2.0", () => {
  it("are read with their digests, archives with all they hold", async () => {
    const archive = await archiveOf({ "SKILL.md": skillMd("pack"), "a/b.txt": utf8("b") });
    const skills = [
      await entry("one", skillMd("one")),
      await entry("pack", archive, { type: "archive", url: "/.well-known/agent-skills/pack.tar.gz" }),
    ];
    const release = await read(await publisherOf(skills, { "one/SKILL.md": skillMd("one"), "pack.tar.gz": archive }));
    expect(release.skills).toEqual([]);
    expect(
      release.agentSkills?.map(({ name, verified, files }) => [name, verified, files.map(({ path }) => path)]),
    ).toEqual([
      ["one", true, ["SKILL.md"]],
      ["pack", true, ["SKILL.md", "a/b.txt"]],
    ]);
    expect(release.agentSkills?.[1]?.files[1]).toMatchObject({ sha256: await sha256Of("b"), bytes: utf8("b") });
  });

  it("are refused one by one, each with its reason", async () => {
    const good = skillMd("good");
    const skills = [
      await entry("good", good),
      await entry("good", good),
      await entry("Bad Name", good),
      await entry("no-words", good, { description: " " }),
      await entry("no-hash", good, { digest: "sha256:xyz" }),
      await entry("other-hash", good, { digest: `sha256:${"0".repeat(64)}` }),
      await entry("away", good, { url: "https://elsewhere.example/a" }),
      await entry("no-url", good, { url: 5 }),
      await entry("odd", good, { type: "executable" }),
      await entry("no-archive", good, { type: "archive", url: "good/SKILL.md" }),
      await entry("with-tool", good, { tool: "/x.js" }),
      null,
    ];
    const release = await read(await publisherOf(skills, { "good/SKILL.md": good, "other-hash/SKILL.md": good }));
    expect(release.agentSkills?.map(({ name }) => name)).toEqual(["good"]);
    expect(codes(release).filter((code) => code.startsWith("recipe"))).toEqual([
      "recipe good name_collision",
      "recipe Bad Name bad_name",
      "recipe no-words bad_metadata",
      "recipe no-hash bad_hash",
      "recipe other-hash hash_mismatch",
      "recipe away outside_origin",
      "recipe no-url bad_url",
      "recipe odd unknown_type",
      "recipe no-archive bad_shape",
    ]);
  });

  it("are as many as an origin may have skills, within the bytes of one release", async () => {
    const [one, two] = [skillMd("one"), skillMd("two")];
    const skills = [await entry("one", one), await entry("two", two)];
    const files = { "one/SKILL.md": one, "two/SKILL.md": two };
    expect(codes(await read(await publisherOf(skills, files), { skills: 1 }))).toEqual(["recipe two too_many_skills"]);
    const few = await read(await publisherOf(skills, files), { releaseBytes: one.length });
    expect(codes(few)).toEqual(["recipe two release_too_large"]);
  });

  it("with the name of a tool are left to what is decided of the tool", async () => {
    const publisher = await publisherOf([await entry("sum", skillMd("sum"))], { "sum/SKILL.md": skillMd("sum") });
    await publisher.skill({ name: "sum" });
    expect((await read(publisher)).agentSkills).toBeUndefined();
  });

  it("are not read unasked, and an origin without a tool is refused as ever", async () => {
    const publisher = await publisherOf([await entry("one", skillMd("one"))], { "one/SKILL.md": skillMd("one") });
    expect(await outcome(run(publisher))).toMatch(/^no_skills/);
  });
});

describe("an origin that may lack tools", () => {
  it("and lost its llms.txt has withdrawn nothing, unless Agent Skills are all it has", async () => {
    const lost = (publisher: Publisher) => publisher.put("/llms.txt", new Response("", { status: 404 }));
    expect(await outcome(read(lost(new Publisher())))).toBe("discovery_failed http_status");
    const [one, skills] = [skillMd("one"), [await entry("one", skillMd("one"))]];
    const error = await read(lost(await publisherOf(skills, {}))).catch((error) => error);
    expect(error).toMatchObject({ reason: "http_status", rejected: [{ name: "one", code: "http_status" }] });
    const release = await read(lost(await publisherOf(skills, { "one/SKILL.md": one })));
    expect(release.agentSkills).toMatchObject([{ name: "one" }]);
  });

  it("and whose index is out of order has withdrawn nothing either", async () => {
    const publisher = new Publisher().put("/llms.txt", "# Prose\n").put(INDEX_PATH, new Response("", { status: 503 }));
    expect(await outcome(read(publisher))).toBe("discovery_failed http_status");
    const none = new Publisher().put("/llms.txt", "# Prose\n");
    expect(await outcome(read(none))).toBe("ok");
  });
});

describe("the Agent Skills of an index of v0.1.0, which has no digests", () => {
  const legacy = (files: unknown) =>
    new Publisher()
      .put("/.well-known/skills/index.json", JSON.stringify({ skills: [{ name: "old", description: "x", files }] }))
      .put("/.well-known/skills/old/SKILL.md", skillMd("old"))
      .put("/.well-known/skills/old/a/b%20c.md", "b");

  it("are withheld unless unverified recipes are offered, and then said to be unverified", async () => {
    const files = ["SKILL.md", "a/b c.md"];
    const withheld = await read(legacy(files));
    expect([withheld.agentSkills, codes(withheld)]).toEqual([undefined, ["recipe old no_declared_hash"]]);
    const offered = await read(legacy(files), {}, OFFERED);
    expect(offered.agentSkills).toMatchObject([
      {
        name: "old",
        verified: false,
        files: [{ path: "SKILL.md" }, { path: "a/b c.md", sha256: await sha256Of("b") }],
      },
    ]);
  });

  it.each([
    [["SKILL.md", "../../../secret"], "bad_url"],
    [["SKILL.md", "a//b"], "bad_url"],
    [["SKILL.md", 5], "bad_url"],
    [["readme.md"], "bad_shape"],
    [["SKILL.md", "missing.md"], "http_status"],
    [["SKILL.md", ...Array.from({ length: 512 }, (_, index) => `${index}`)], "too_large"],
  ])("are refused for what is no list of their files: %j is %s", async (files, code) => {
    expect(codes(await read(legacy(files), {}, OFFERED))).toEqual([`recipe old ${code}`]);
  });
});
