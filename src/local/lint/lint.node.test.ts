import { describe, expect, it } from "vitest";
import { script } from "../../core/discovery/fixture/publisher.ts";
import { INDEX_SCHEMA } from "../../core/discovery/skills-index.ts";
import { type LoopbackPublisher, startLoopbackPublisher } from "../fixture/loopback-publisher.ts";
import { type Ran, run } from "../fixture/running.ts";
import type { LintReport } from "./lint.ts";

const RECIPE = "---\nname: good\ndescription: >\n  Does\n  good.\n---\nCall it.\n";

async function lint({ publisher }: LoopbackPublisher, ...flags: string[]): Promise<Ran & { report: LintReport }> {
  const ran = await run(["lint", publisher.origin, "--json", ...flags]);
  return { ...ran, report: JSON.parse(ran.stdout) as LintReport };
}

const findings = ({ report }: { report: LintReport }) =>
  report.findings.map(({ level, subject, name, code }) => [level, subject, name, code].filter(Boolean).join(" "));

describe("a publisher with nothing wrong", () => {
  it("passes: scopes, recipes, memories and an index", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "good", recipe: RECIPE, metadata: { version: "1.2.0" } });
    await site.publisher.skill({ name: "good", scope: "other", recipe: RECIPE });
    await site.publisher.memory("other", "[]");
    site.publisher.put(
      "/.well-known/agent-skills/index.json",
      JSON.stringify({ $schema: INDEX_SCHEMA, skills: [{ name: "good" }] }),
    );
    const ran = await lint(site);
    expect(ran).toMatchObject({ code: 0, stderr: `Checking ${site.publisher.origin} …` });
    expect(ran.report).toMatchObject({
      ok: true,
      failures: 0,
      warnings: 0,
      skills: [
        { publicName: "good", scope: null, version: "1.2.0", recipe: true, verdict: null },
        { publicName: "other__good", scope: "other", version: null, recipe: true, verdict: null },
      ],
      memories: [{ scope: "other", bytes: 2 }],
    });
  });

  it("is shown in a table", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "good", recipe: RECIPE });
    site.publisher.line("- [guide](/guide.html): A link for people.");
    const { code, stdout } = await run(["lint", site.publisher.origin]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^skill +version +tool_sha256 +bytes +recipe +attestation\ngood +- +[0-9a-f]{12} +\d+ +yes +-$/m,
    );
    expect(stdout).toContain("1 link for people: guide");
    expect(stdout).toMatch(/\nPASS: 1 skill, 0 failures, 0 warnings$/);
  });
});

describe("what a gateway would leave out is a failure", () => {
  it("[10.2-validate] reads scopes, recipes, index, memories and attestations, under the base of a project site", async () => {
    await using site = await startLoopbackPublisher("/REPO");
    const { publisher } = site;
    await publisher.skill({ name: "good" });
    await publisher.skill({ name: "tampered", metadata: { tool_sha256: "0".repeat(64) } });
    await publisher.skill({ name: "badscope", scope: "Not A Scope" });
    await publisher.skill({ name: "named", source: script("other", 'description: "x"') });
    await publisher.skill({ name: "recipe", recipe: "text", metadata: { sha256: "0".repeat(64) } });
    await publisher.skill({ name: "drift" });
    await publisher.skill({ name: "good", metadata: { version: "2" } });
    await publisher.memory(null, "[]", { snapshot_sha256: "0".repeat(64) });
    const index = { $schema: INDEX_SCHEMA, skills: [{ name: "drift", tool_sha256: "1".repeat(64) }] };
    publisher.put("/.well-known/agent-skills/index.json", JSON.stringify(index));
    publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify([{ skill: "good" }]));
    const ran = await lint(site);
    expect(ran.code).toBe(1);
    expect(ran.report.skills.map(({ publicName }) => publicName)).toEqual(["good", "recipe"]);
    expect(findings(ran).sort()).toEqual([
      "failure attestations missing_field",
      "failure memory hash_mismatch",
      "failure recipe recipe hash_mismatch",
      "failure skill badscope bad_scope",
      "failure skill drift index_mismatch",
      "failure skill good name_collision",
      "failure skill named name_mismatch",
      "failure skill tampered hash_mismatch",
    ]);
  });

  it("a snapshot that cannot be searched, whose hash agrees", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "good" });
    await site.publisher.memory(null, '{"not": "an array"}');
    await site.publisher.memory("twice", '[{"id":"a","metadata":{}},{"id":"a","metadata":{}}]');
    const ran = await lint(site);
    expect([ran.code, ...findings(ran)]).toEqual([1, "failure memory not_an_array", "failure memory duplicate_id"]);
  });

  it("[10.2-validate] fails a publisher of whom no skill can be served", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "only", metadata: { tool_sha256: "0".repeat(64) } });
    const ran = await lint(site);
    expect([ran.code, ...findings(ran)]).toEqual([1, "failure origin no_skills", "failure skill only hash_mismatch"]);
  });

  it("[10.2-validate] fails a publisher without executable lines, or without an llms.txt", async () => {
    await using site = await startLoopbackPublisher();
    site.publisher.line("- [guide](/guide.html): A link for people.");
    const empty = await lint(site);
    expect([empty.code, ...findings(empty)]).toEqual([1, "failure origin no_skills"]);
    site.publisher.put("/llms.txt", new Response("gone", { status: 404 }));
    const gone = await lint(site);
    expect([gone.code, ...findings(gone)]).toEqual([1, "failure origin http_status"]);
  });

  it("says why an origin cannot be reached", async () => {
    const site = await startLoopbackPublisher();
    await site[Symbol.asyncDispose]();
    const ran = await lint(site);
    expect([ran.code, ...findings(ran)]).toEqual([1, "failure origin fetch_failed"]);
    expect(ran.stdout).toContain("ECONNREFUSED");
  });
});

describe("what the standards advise is a warning", () => {
  it("on recipes", async () => {
    await using site = await startLoopbackPublisher();
    const { publisher } = site;
    await publisher.skill({ name: "unverified", recipe: RECIPE, metadata: { sha256: undefined } });
    await publisher.skill({ name: "plain", recipe: "Call it." });
    await publisher.skill({ name: "differs", recipe: "---\nname: differs\ndescription: Another.\n---\n" });
    await publisher.skill({ name: "broken", recipe: '---\nname: "broken\n---\n' });
    await publisher.skill({ name: "bomb", recipe: "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n" });
    const hash = "0".repeat(64);
    const elsewhere = { tool: "/skills/root/plain/tool.js", tool_sha256: hash, sha256: hash };
    publisher.line(
      `- [foreign](https://elsewhere.example/SKILL.md): Does it. <!-- skill: ${JSON.stringify(elsewhere)} -->`,
    );
    const ran = await lint(site);
    expect(findings(ran)).toEqual([
      "failure skill foreign hash_mismatch",
      "warning recipe unverified no_declared_hash",
      "warning recipe plain bad_frontmatter",
      "warning recipe differs description_differs",
      "warning recipe broken bad_frontmatter",
      "warning recipe bomb bad_frontmatter",
    ]);
  });

  it("on a recipe of a foreign host, which is left out", async () => {
    await using site = await startLoopbackPublisher();
    const recipe = "https://elsewhere.example/SKILL.md";
    await site.publisher.skill({ name: "local" });
    const line =
      site.publisher
        .llmsTxt()
        .split("\n")
        .find((text) => text.startsWith("- [local]")) ?? "";
    const foreign = line.replace("]()", `](${recipe})`).replace('{"tool"', `{"sha256":"${"0".repeat(64)}","tool"`);
    site.publisher.put("/llms.txt", `## Skills\n${foreign}\n`);
    const ran = await lint(site);
    expect([ran.code, ...findings(ran)]).toEqual([0, "warning recipe local outside_origin"]);
  });

  it("on scripts that search a memory without looking for it", async () => {
    await using site = await startLoopbackPublisher();
    const tool = (name: string, body: string) => `registerTool({ name: "${name}", handler: ({ q }) => { ${body} } });`;
    const { publisher } = site;
    const bodies = {
      rash: "return host.memorySearch(q)",
      careful: "if (!host.memorySearch) return []; return host.memorySearch(q)",
      typed: 'return typeof host.memorySearch === "function" ? host.memorySearch(q) : []',
      optional: "return host.memorySearch?.(q) ?? []",
      named: 'return "memorySearch" in host ? host.memorySearch(q) : []',
      unrelated: 'return "a memorySearch of another kind"',
    };
    await publisher.memory("docs", "[]");
    for (const [name, body] of Object.entries(bodies)) {
      await publisher.skill({ name, scope: "docs", source: tool(name, body) });
    }
    await publisher.skill({ name: "lost", source: tool("lost", bodies.careful) });
    const ran = await lint(site);
    expect([ran.code, ...findings(ran)]).toEqual([
      0,
      "warning memory rash memory_not_tested",
      "warning memory lost no_memory",
    ]);
  });

  it("on a memory of a format that other runtimes may know", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "good" });
    await site.publisher.memory(null, "[]", { format: "another-v1" });
    expect(findings(await lint(site))).toEqual(["warning memory unsupported_format"]);
    expect((await lint(site, "--strict")).code).toBe(1);
  });
});

it("shows nothing that could rewrite the terminal", async () => {
  await using site = await startLoopbackPublisher();
  await site.publisher.skill({ name: "good" });
  site.publisher.line('- [\u001b[2J\u202eevil](/x): No. <!-- skill: {"tool": 1 -->');
  const { stdout } = await run(["lint", site.publisher.origin]);
  expect(stdout).toContain("\\u{1b}[2J\\u{202e}evil");
  expect(stdout).not.toContain("\u001b");
  expect(stdout).not.toContain("\u202e");
});
