import { describe, expect, it } from "vitest";
import { parseLlmsTxt } from "../llmstxt/parse.ts";
import { content, digest, published } from "./fixture/publications.ts";
import { isVisibilityMixed, layOut } from "./layout.ts";
import { renderLlmsTxt } from "./llms-txt.ts";
import {
  aggregateSkills,
  artifactUrl,
  listingSkills,
  type ManifestView,
  manifestUrl,
  renderManifest,
} from "./manifest.ts";
import type { SiteContent } from "./publication.ts";

const ANONYMOUS: ManifestView = {
  base: "https://h.example",
  showsAll: false,
  isPinned: false,
  hasEntriesAlias: true,
  isQuarantined: () => false,
};
const KNOWN: ManifestView = { ...ANONYMOUS, showsAll: true };

const SITE = content({
  skills: [
    published(),
    published({ name: "internal-rotate-secret", visibility: "authenticated", sha256: digest("b") }),
  ],
});

function manifest(of: SiteContent, view = ANONYMOUS) {
  return JSON.parse(renderManifest(aggregateSkills(of), view));
}

const urlsOf = (of: SiteContent, view: ManifestView, listing: string | null = null) =>
  (listing === null ? aggregateSkills(of) : (listingSkills(of, listing) ?? [])).map((skill) =>
    artifactUrl(skill, view),
  );
const withListing = (name: string, ...skills: SiteContent["skills"]) => content({ listings: [{ name, skills }] });

describe("a manifest", () => {
  it("[skills-8.3] names its schema, and each skill with its absolute address and digest", () => {
    expect(manifest(SITE)).toEqual({
      $schema: "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
      skills: [row()],
      entries: [row()],
    });
    expect(renderManifest(aggregateSkills(SITE), ANONYMOUS)).toMatch(/^\{\n {2}"\$schema"/);
  });

  it("[skills-8.4] shows an anonymous caller what is public, and a known one all, in one order and with the same digests", () => {
    expect(manifest(SITE).skills).toHaveLength(1);
    const all = manifest(SITE, KNOWN).skills;
    expect(all.map(({ name }: { name: string }) => name)).toEqual(["deploy-via-pr", "internal-rotate-secret"]);
    expect(all[0]).toEqual(row());
    expect(JSON.stringify(all)).not.toContain("authenticated");
  });

  it("[skills-R5] has the key that clients read, and the old one unless it is turned off", () => {
    expect(Object.keys(manifest(SITE, { ...ANONYMOUS, hasEntriesAlias: false }))).toEqual(["$schema", "skills"]);
  });

  it("is an empty list where nothing is for this caller", () => {
    const hidden = content({ skills: [published({ visibility: "authenticated" })] });
    expect(manifest(hidden).skills).toEqual([]);
    expect([isVisibilityMixed(hidden), isVisibilityMixed(content({ skills: [published()] }))]).toEqual([true, false]);
  });

  it("leaves out what is in quarantine", () => {
    const view = { ...KNOWN, isQuarantined: (sha256: string) => sha256 === digest("a") };
    expect(manifest(SITE, view).skills).toHaveLength(1);
  });

  function row() {
    return {
      name: "deploy-via-pr",
      type: "skill-md",
      description: "Open a PR to deploy a config change.",
      url: "https://h.example/skills/deploy-via-pr.md",
      digest: `sha256:${digest("a")}`,
    };
  }
});

describe("an artifact's address", () => {
  it("[skills-8.5] elsewhere is published as it is, and nothing of it is served", () => {
    const external = content({ skills: [published({ place: { kind: "external", url: "https://cdn.example/x.md" } })] });
    expect(urlsOf(external, ANONYMOUS)).toEqual(["https://cdn.example/x.md"]);
    expect(layOut(external).size).toBe(0);
  });

  it("[skills-8.6] of the site's own lies at the bare path", () => {
    expect(urlsOf(content({ skills: [published({ path: "/skills/foo.md" })] }), ANONYMOUS)).toEqual([
      "https://h.example/skills/foo.md",
    ]);
  });

  it("[skills-8.7] of a listing lies under the listing", () => {
    const site = withListing("partner", published({ path: "/skills/foo.md" }));
    const expected = ["https://h.example/.well-known/agent-skills/partner/skills/foo.md"];
    expect(urlsOf(site, ANONYMOUS, "partner")).toEqual(expected);
    expect(urlsOf(site, ANONYMOUS)).toEqual(expected);
  });

  it("[skills-8.8] is path-absolute where the authority is unknown", () => {
    const view = { ...ANONYMOUS, base: "" };
    const foo = published({ path: "/skills/foo.md" });
    expect(urlsOf(content({ skills: [foo] }), view)).toEqual(["/skills/foo.md"]);
    expect(urlsOf(withListing("l", foo), view)).toEqual(["/.well-known/agent-skills/l/skills/foo.md"]);
  });

  it("[skills-8.9] elsewhere is untouched in a listing", () => {
    const external = published({ place: { kind: "external", url: "https://cdn.example/x.md" } });
    expect(urlsOf(withListing("l", external), ANONYMOUS, "l")).toEqual(["https://cdn.example/x.md"]);
  });

  it("names its bytes where the site pins addresses", () => {
    expect(urlsOf(SITE, { ...ANONYMOUS, isPinned: true })[0]).toBe(
      `https://h.example/skills/deploy-via-pr.md@${digest("a")}`,
    );
  });
});

describe("listings", () => {
  const site = content({
    skills: [published()],
    listings: [
      { name: "zeta", skills: [published({ name: "z-only" })] },
      {
        name: "alpha",
        skills: [published({ name: "deploy-via-pr", sha256: digest("c") }), published({ name: "a-only" })],
      },
    ],
  });

  it("[skills-8.19] are found by name; one without a name here is none", () => {
    expect(listingSkills(site, "alpha")?.map(({ skill }) => skill.name)).toEqual(["deploy-via-pr", "a-only"]);
    expect(listingSkills(site, "beta")).toBeNull();
  });

  it("[skills-8.20] come after the site's own, by name, and the first of a name counts", () => {
    const rows = manifest(site).skills;
    expect(rows.map(({ name }: { name: string }) => name)).toEqual(["deploy-via-pr", "a-only", "z-only"]);
    expect(rows[0].digest).toBe(`sha256:${digest("a")}`);
    expect(aggregateSkills(content())).toEqual([]);
  });

  it("[skills-8.20] hide no skill behind another: a name that is not for everybody is not a listing's for the others", () => {
    const skills = [published({ name: "x", visibility: "authenticated" })];
    const both = content({
      skills,
      listings: [{ name: "team", skills: [published({ name: "x", sha256: digest("c") })] }],
    });
    expect(manifest(both).skills).toEqual([]);
    expect(manifest(both, KNOWN).skills).toHaveLength(1);
  });

  it("[skills-8.21] every address of every manifest is served, with the digest it is published with", () => {
    const artifacts = layOut(site);
    for (const skills of [aggregateSkills(site), listingSkills(site, "alpha"), listingSkills(site, "zeta")]) {
      for (const listed of skills ?? []) {
        const { pathname } = new URL(artifactUrl(listed, ANONYMOUS));
        expect(artifacts.get(pathname)?.sha256).toBe(listed.skill.sha256);
      }
    }
  });
});

describe("llms.txt of a site", () => {
  const tool = { name: "ask_docs", path: "/tools/ask.js", sha256: digest("d"), bytes: 1 };
  const site = content({
    title: "Docs <!-- x",
    description: "All of it -->",
    skills: [published({ name: "ask-docs", version: "1.0.0", license: "MIT", scope: "docs", tool }), published()],
    memories: [{ path: "/memory.json", sha256: digest("e"), bytes: 1, scope: "docs" }],
  });

  it("declares the same skills, scripts and hashes, for the parser to read", () => {
    const read = parseLlmsTxt(renderLlmsTxt(site, { ...ANONYMOUS, base: "https://gate.example/s/docs" }));
    expect(read.skills).toMatchObject([
      {
        name: "ask_docs",
        scope: "docs",
        version: "1.0.0",
        tool: "/s/docs/tools/ask.js",
        toolSha256: digest("d"),
        recipeUrl: "https://gate.example/s/docs/skills/ask-docs.md",
        recipeSha256: digest("a"),
      },
    ]);
    expect(read.prose).toMatchObject([{ name: "deploy-via-pr", code: "no_tool" }]);
    expect(read.memories).toMatchObject([
      { snapshot: "/s/docs/memory.json", sha256: digest("e"), scope: "docs", supported: true },
    ]);
    expect(read.badMemories).toEqual([]);
  });

  it("says nothing of what the caller is not shown", () => {
    expect(renderLlmsTxt(SITE, ANONYMOUS)).not.toContain("internal-rotate-secret");
    expect(renderLlmsTxt(SITE, KNOWN)).toContain("internal-rotate-secret");
  });
});

describe("the address of the manifest", () => {
  it("[skills-8.33] is a path where the authority is not known", () => {
    expect(manifestUrl("https://a.example/s/b")).toBe("https://a.example/s/b/.well-known/agent-skills/index.json");
    expect(manifestUrl("")).toBe("/.well-known/agent-skills/index.json");
  });
});
