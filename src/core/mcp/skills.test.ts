import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json.ts";
import { exchange, recordingProvider } from "./fixture/exchange.ts";
import type { ProvidedSkills, Provider, SkillEntry, SkillsPointer } from "./provider.ts";

const URL = "https://skills.example/.well-known/agent-skills/index.json";

function skill(name: string, files = 1): SkillEntry {
  const resources = Array.from({ length: files }, (_, index) => ({
    uri: `skill://${name}/${index === 0 ? "SKILL.md" : `files/${index}.md`}`,
    digest: `sha256:${"0".repeat(64)}`,
    size: 3,
  }));
  return { uri: `skill://${name}/SKILL.md`, frontmatter: { name, description: "A test.", license: "MIT" }, resources };
}

function withSkills(entries: readonly SkillEntry[], more: Partial<ProvidedSkills> = {}): Provider {
  return recordingProvider({ skills: { entries, manifestUrl: URL, pointer: null, ...more } });
}

async function promised(provider: Provider, protocolVersion: string): Promise<JsonObject> {
  const { json } =
    protocolVersion === "2026-07-28"
      ? await exchange({ era: "modern", method: "server/discover", provider })
      : await exchange({ method: "initialize", params: { protocolVersion }, provider });
  return json.result.capabilities;
}

const STRING = { agentSkillsUrl: URL };
const OBJECT = { agentSkills: { url: URL } };
const EXTENSION = { "io.modelcontextprotocol/skills": {} };

describe("what the handshake promises of Agent Skills", () => {
  it("[skills-8.30] [skills-8.35] is nothing where there are none, and no resources where there are none of these either", async () => {
    for (const version of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
      const none = await promised(recordingProvider({ resources: [] }), version);
      expect(none).toEqual({ tools: { listChanged: false }, prompts: {} });
    }
  });

  it.each<[string, SkillsPointer, object | undefined]>([
    ["2025-06-18", null, STRING],
    ["2025-11-25", null, OBJECT],
    ["2026-07-28", null, OBJECT],
    ["2025-06-18", "object", OBJECT],
    ["2025-11-25", "string", STRING],
    ["2026-07-28", "off", undefined],
    ["2025-06-18", "off", undefined],
  ])(
    "[skills-8.31] [skills-R6] in %s, where the origin's override is %s, the manifest's address is %j",
    async (version, pointer, experimental) => {
      const capabilities = await promised(withSkills([skill("a")], { pointer }), version);
      expect(capabilities.experimental).toEqual(experimental);
      expect(capabilities.extensions).toEqual(version === "2025-06-18" ? undefined : EXTENSION);
      expect(capabilities.resources).toEqual({ listChanged: false });
    },
  );

  it("[skills-R6] is by the revision that is agreed on, not by the one that was asked for", async () => {
    expect((await promised(withSkills([skill("a")]), "2031-01-01")).experimental).toEqual(OBJECT);
    expect((await promised(withSkills([skill("a")]), "2024-11-05")).experimental).toEqual(OBJECT);
  });

  it("[skills-R16] is no more than there is: no address without a manifest, no extension without an entry", async () => {
    const bare = await promised(withSkills([], { manifestUrl: null }), "2025-11-25");
    expect(Object.keys(bare)).toEqual(["tools", "resources", "prompts"]);
    const unlisted = await promised(withSkills([]), "2025-11-25");
    expect(unlisted.experimental).toEqual(OBJECT);
    expect(unlisted.extensions).toBeUndefined();
  });

  it("[skills-R2] is spelled as MCP spells it", async () => {
    const { json } = await exchange({
      method: "initialize",
      params: { protocolVersion: "2025-11-25" },
      provider: withSkills([skill("a")]),
    });
    expect(Object.keys(json.result)).toEqual(["protocolVersion", "capabilities", "serverInfo"]);
  });
});

describe.each(["legacy", "modern"] as const)("the skills extension, %s", (era) => {
  const ask = async (method: string, params: JsonObject, provider: Provider, pageSize = 300) =>
    exchange({ era, method, params, provider, pageSize });

  it("lists entries whole, with how long they may be kept, by whom", async () => {
    const { json } = await ask("skills/list", {}, withSkills([skill("a", 2)]));
    expect(json.result).toMatchObject({
      resultType: "complete",
      skills: [skill("a", 2)],
      ttlMs: 15_000,
      cacheScope: "private",
    });
    expect(json.result.nextCursor).toBeUndefined();
  });

  it("parts a list into pages of so many files, and no skill between two", async () => {
    const provider = withSkills([skill("a", 3), skill("b", 2), skill("c", 9), skill("d")]);
    const pages: string[][] = [];
    let cursor: Json = null;
    do {
      const { json } = await ask("skills/list", cursor === null ? {} : { cursor }, provider, 5);
      pages.push(json.result.skills.map(({ frontmatter }: SkillEntry) => frontmatter.name));
      cursor = json.result.nextCursor ?? null;
    } while (cursor !== null);
    expect(pages).toEqual([["a", "b"], ["c"], ["d"]]);
  });

  it("gives one entry by its uri, and -32602 for what is none", async () => {
    const provider = withSkills([skill("a", 2)]);
    const { json } = await ask("skills/get", { uri: "skill://a/SKILL.md" }, provider);
    expect(json.result).toMatchObject({ resultType: "complete", skill: skill("a", 2), cacheScope: "private" });
    for (const uri of ["skill://b/SKILL.md", "skill://a/files/1.md", "skill://a", "", 5]) {
      const { status, json } = await ask("skills/get", { uri }, provider);
      expect([status, json.error.code]).toEqual([200, -32602]);
    }
  });

  it("has no methods where there are no Agent Skills", async () => {
    for (const method of ["skills/list", "skills/get"]) {
      const { status, json } = await ask(method, { uri: "skill://a/SKILL.md" }, recordingProvider());
      expect([status, json.error.code]).toEqual([era === "legacy" ? 200 : 404, -32601]);
    }
  });
});
