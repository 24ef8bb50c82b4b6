import { describe, expect, it } from "vitest";
import type { PublishedSkill, SiteContent } from "../../src/core/agent-skills/publication.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import { changesBetween, publishedOf } from "./site-changes.ts";

const digest = (letter: string) => letter.repeat(64) as Sha256Hex;

function skill(name: string, change: Partial<PublishedSkill> = {}): PublishedSkill {
  return {
    ...{ name, type: "skill-md", description: `Does ${name}.`, visibility: "public", sha256: digest("a"), bytes: 10 },
    ...{ place: { kind: "hosted", path: `/skills/${name}.md` }, mediaType: "text/markdown", members: null, limits: {} },
    ...{ version: null, license: null, scope: null, tool: null },
    ...change,
  };
}

function content(change: Partial<SiteContent> = {}): SiteContent {
  return { title: "Handbook", description: "", skills: [], listings: [], files: [], memories: [], ...change };
}

const told = (before: SiteContent | null, after: SiteContent) =>
  changesBetween(before, after).map(({ change, thing, differences }) => [
    change,
    thing === null ? "site" : `${thing.kind} ${thing.name}`,
    ...differences.map(({ fact, was, is }) => `${fact}: ${was.slice(0, 20)} > ${is.slice(0, 20)}`),
  ]);

describe("what a version changes", () => {
  it("is all that it has where there was none", () => {
    const tool = { name: "ask_docs", path: "/ask.js", sha256: digest("c"), bytes: 5 };
    const file = { path: "/a.json", sha256: digest("d"), bytes: 2, mediaType: "application/json" };
    const first = content({
      skills: [skill("ask", { tool })],
      listings: [{ name: "partner", skills: [skill("ask")] }],
      files: [{ ...file, visibility: "public" }],
      memories: [{ path: "/memory.json", sha256: digest("e"), bytes: 3, scope: "docs" }],
    });
    expect(told(null, first)).toEqual([
      ["added", "skill ask"],
      ["added", "script ask_docs"],
      ["added", "skill ask"],
      ["added", "memory memory.json"],
      ["added", "file a.json"],
    ]);
    expect(new Set(publishedOf(first).map(({ key }) => key)).size).toBe(5);
    expect(told(first, first)).toEqual([]);
  });

  it("names every fact that differs, of each thing by itself", () => {
    const before = content({ skills: [skill("one"), skill("two"), skill("gone")], title: "Old" });
    const moved = { place: { kind: "external", url: "https://cdn.example/two.md" }, sha256: digest("b") } as const;
    const after = content({
      skills: [
        skill("two", { ...moved, visibility: "authenticated", limits: { max_entries: 5 }, version: "2" }),
        skill("one"),
        skill("constructor"),
      ],
    });
    expect(told(before, after)).toEqual([
      ["changed", "site", "title: Old > Handbook", "order: one, two > two, one"],
      [
        "changed",
        "skill two",
        "address: /skills/two.md > https://cdn.example/",
        "visibility: public > authenticated",
        "version:  > 2",
        "limits:  > max_entries 5",
        `bytes: ${"a".repeat(20)} > ${"b".repeat(20)}`,
      ],
      ["added", "skill constructor"],
      ["removed", "skill gone"],
    ]);
  });

  it("keeps the skills of a listing apart from the site's own of the same name", () => {
    const listed = (change: Partial<PublishedSkill>) =>
      content({ skills: [skill("x")], listings: [{ name: "partner", skills: [skill("x", change)] }] });
    const [change, ...others] = changesBetween(listed({}), listed({ description: "Other." }));
    expect([change?.thing?.listing, others]).toEqual(["partner", []]);
  });
});
