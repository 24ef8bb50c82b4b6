import { describe, expect, it } from "vitest";
import { policyWith, trustWith } from "./attestation/fixture/policies.ts";
import { admit, type Policy } from "./catalog.ts";
import { run } from "./discovery/fixture/discovering.ts";
import { adder, Publisher, type SkillFiles, sha256Of } from "./discovery/fixture/publisher.ts";
import type { UnverifiedRecipes } from "./discovery/release.ts";
import type { Sha256Hex } from "./integrity.ts";
import type { JsonObject } from "./json.ts";
import { DEFAULT_SANDBOX_LIMITS } from "./limits.ts";
import { exchange } from "./mcp/fixture/exchange.ts";
import type { Era } from "./mcp/provider.ts";
import { MemoryIndexes } from "./memory/memory-indexes.ts";
import { type CallReport, createProvider } from "./serve.ts";

const unused = async () => {
  throw new Error("A recipe needs no sandbox.");
};

/** Publishes, discovers, admits and speaks MCP in the era given. */
async function serve(
  skills: readonly SkillFiles[],
  unverifiedRecipes: UnverifiedRecipes = "withhold",
  policy?: Policy,
) {
  const publisher = new Publisher();
  for (const skill of skills) await publisher.skill(skill);
  const release = await run(publisher, {}, { unverifiedRecipes: "offer" });
  const reports: CallReport[] = [];
  const provider = createProvider(admit(release, policy ?? policyWith(), 0), {
    sandbox: { call: unused, evaluate: unused },
    fetch: publisher.fetch,
    limits: DEFAULT_SANDBOX_LIMITS,
    memories: new MemoryIndexes(),
    serverInfo: { name: "skillgate", version: "0.0.0" },
    unverifiedRecipes,
    onCall: (report) => reports.push(report),
  });
  const ask = async (era: Era, method: string, params: JsonObject = {}, pageSize?: number) =>
    (await exchange({ era, method, params, provider, ...(pageSize === undefined ? {} : { pageSize }) })).json;
  const guide = async (era: Era, args: JsonObject) =>
    (await ask(era, "tools/call", { name: "get_skill_guide", arguments: args })).result;
  return { ask, guide, reports, release };
}

const ONE = { name: "one", recipe: "# Use one" };
const SCOPED = { name: "one", scope: "kb", recipe: "\ufeff# Use kb__one\r\n" };
const BARE = { name: "bare" };
const UNDECLARED = { name: "loose", recipe: "# Use loose", metadata: { sha256: undefined } };

describe.each(["legacy", "modern"] as const)("in the %s era", (era) => {
  it("the guide is the last tool, and hands out the exact text of a recipe by the public name", async () => {
    const { ask, guide, reports } = await serve([ONE, SCOPED, BARE]);
    const { tools } = (await ask(era, "tools/list")).result;
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(["one", "kb__one", "bare", "get_skill_guide"]);
    expect(tools.at(-1)).toMatchObject({
      description: expect.stringMatching(/ There are recipes of: one, kb__one\.$/),
      inputSchema: { type: "object", required: ["name"] },
      annotations: { readOnlyHint: true },
    });
    expect(await guide(era, { name: "kb__one" })).toMatchObject({
      content: [{ type: "text", text: SCOPED.recipe }],
      structuredContent: { name: "kb__one", guide: SCOPED.recipe },
      isError: false,
    });
    expect(reports).toEqual([{ tool: "get_skill_guide", toolSha256: null, code: "ok", gasUsed: 0, durationMs: 0 }]);
  });

  it("the guide names the recipes there are when it is asked for another one", async () => {
    const { guide, reports } = await serve([ONE, SCOPED, BARE]);
    for (const name of ["bare", "nothing", "", "skill://one", "__proto__", "get_skill_guide", "x".repeat(100_000)]) {
      const { isError, content, structuredContent } = await guide(era, { name });
      expect(isError).toBe(true);
      expect(structuredContent).toBeUndefined();
      expect(content).toEqual([
        { type: "text", text: "There is no recipe of that name. There are recipes of: one, kb__one." },
      ]);
    }
    expect(new Set(reports.map(({ code }) => code))).toEqual(new Set(["unknown_recipe"]));
  });

  it("the guide refuses other arguments", async () => {
    const { guide, reports } = await serve([ONE]);
    for (const args of [{}, { name: 1 }, { name: null }, { name: ["one"] }, { name: "one", more: 1 }]) {
      const { isError, content } = await guide(era, args);
      expect(isError).toBe(true);
      expect(content[0].text).toMatch(/^Invalid arguments.+\.$/);
    }
    expect(new Set(reports.map(({ code }) => code))).toEqual(new Set(["invalid_arguments"]));
  });

  it("there is no guide where there is no recipe", async () => {
    const { ask } = await serve([BARE, UNDECLARED]);
    expect((await ask(era, "tools/list")).result.tools).toHaveLength(2);
    expect((await ask(era, "resources/list")).result.resources).toEqual([]);
    const params = { name: "get_skill_guide", arguments: { name: "bare" } };
    expect((await ask(era, "tools/call", params)).error).toMatchObject({ code: -32602 });
  });

  it("recipes are listed page by page under skill:// and the public name, and each is read", async () => {
    const { ask } = await serve([ONE, SCOPED, BARE]);
    const first = (await ask(era, "resources/list", {}, 1)).result;
    const second = (await ask(era, "resources/list", { cursor: first.nextCursor }, 1)).result;
    expect(second).not.toHaveProperty("nextCursor");
    const resources = [...first.resources, ...second.resources];
    expect(resources.map(({ uri, size }) => [uri, size])).toEqual([
      ["skill://one", 9],
      ["skill://kb__one", 18],
    ]);
    for (const { uri, size } of resources) {
      const { contents } = (await ask(era, "resources/read", { uri })).result;
      expect(contents).toEqual([{ uri, mimeType: "text/markdown", text: expect.any(String) }]);
      expect(new TextEncoder().encode(contents[0].text)).toHaveLength(size);
    }
    for (const uri of ["skill://bare", "skill://ONE", "skill://one/", "skill://one/SKILL.md", "one"]) {
      expect((await ask(era, "resources/read", { uri })).error).toMatchObject({ data: { uri } });
    }
  });

  it("an unverified recipe that is offered says so, in its first line and its _meta, wherever it appears", async () => {
    const { ask, guide } = await serve([ONE, UNDECLARED], "offer");
    const flagged = { "skillgate/unverified": true };
    const [verified, loose] = (await ask(era, "resources/list")).result.resources;
    expect(verified).not.toHaveProperty("_meta");
    expect(loose).toMatchObject({ uri: "skill://loose", _meta: flagged });
    const [read] = (await ask(era, "resources/read", { uri: "skill://loose" })).result.contents;
    expect(read._meta).toEqual(flagged);
    expect(read.text).toMatch(/^> Unverified recipe: [^\n]+\.\n\n# Use loose$/);
    expect(new TextEncoder().encode(read.text)).toHaveLength(loose.size);
    const answer = await guide(era, { name: "loose" });
    expect(answer).toMatchObject({ content: [{ text: read.text }], _meta: flagged });
    expect((await guide(era, { name: "one" }))._meta?.["skillgate/unverified"]).toBeUndefined();
  });

  it("an unverified recipe that a release still has is withheld where it is not offered", async () => {
    const { ask, guide, release } = await serve([ONE, UNDECLARED]);
    expect(release.skills[1]?.recipe?.verified).toBe(false);
    expect((await ask(era, "resources/list")).result.resources).toHaveLength(1);
    expect((await ask(era, "resources/read", { uri: "skill://loose" })).error).toBeDefined();
    expect((await guide(era, { name: "loose" })).isError).toBe(true);
  });

  it("the recipe of a skill that is not admitted is nowhere", async () => {
    const revokedHashes = new Set([(await sha256Of(adder("one"))) as Sha256Hex]);
    // Without a source of its own the other scope would run the same code.
    const other = { ...SCOPED, source: "registerTool({ name: 'one', handler: () => 2 });" };
    const policy = policyWith({ trust: trustWith({ revokedHashes }) });
    const { ask, guide } = await serve([ONE, other], "withhold", policy);
    const names = (await ask(era, "tools/list")).result.tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["kb__one", "get_skill_guide"]);
    const uris = (await ask(era, "resources/list")).result.resources.map(({ uri }: { uri: string }) => uri);
    expect(uris).toEqual(["skill://kb__one"]);
    expect((await ask(era, "resources/read", { uri: "skill://one" })).error).toBeDefined();
    expect((await guide(era, { name: "one" })).isError).toBe(true);
    expect((await ask(era, "tools/list")).result.tools.at(-1).description).toMatch(/: kb__one\.$/);
  });
});

it("the guide's description stays short, however many recipes there are", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `s${i}`.padEnd(100, "x"));
  const { ask } = await serve(names.map((name) => ({ name, recipe: name })));
  const { description } = (await ask("legacy", "tools/list")).result.tools.at(-1);
  expect(description).toMatch(/ and 30 more\.$/);
  expect(description.length).toBeLessThan(1_250);
});
