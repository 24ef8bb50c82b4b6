import { describe, expect, it } from "vitest";
import { digest, publication, skill } from "./fixture/publications.ts";
import { canonicalPath, parsePlace } from "./place.ts";
import { planPublication } from "./plan.ts";
import type { Publication, PublicationSkill } from "./publication.ts";
import { PublicationError } from "./publication-error.ts";

function refusal(wanted: Publication): string {
  try {
    planPublication(wanted);
    return "accepted";
  } catch (error) {
    if (error instanceof PublicationError) return `${error.code} ${error.field}`;
    throw error;
  }
}

const own = (...skills: PublicationSkill[]) => publication({ skills });
const listed = (...skills: PublicationSkill[]) => publication({ listings: [{ name: "partner", skills }] });
const placeOf = (url: string) => planPublication(own(skill({ url }))).skills[0]?.place;
const path = (place: string) => ({ kind: "hosted", path: place });

describe("where an artifact lies", () => {
  it("[skills-8.27] a minimal skill is public and lies where its url says", () => {
    const { skills } = planPublication(own(skill()));
    expect(skills).toMatchObject([{ place: path("/skills/deploy-via-pr.md"), entry: { visibility: "public" } }]);
  });

  it("[skills-8.26] a publication without skills is an empty one", () => {
    expect(planPublication(publication())).toEqual({ skills: [], files: [], memories: [], needed: new Map() });
  });

  it("a relative and a path-absolute url are the same place", () => {
    expect(placeOf("skills/foo.md")).toEqual(path("/skills/foo.md"));
    expect(placeOf("/skills/foo.md")).toEqual(path("/skills/foo.md"));
  });

  it.each([
    "/",
    "",
    "/mcp",
    "mcp/x",
    "/MCP",
    "/admin/x",
    "/metrics",
    "/healthz",
    "/readyz",
    "/s/other/skills/a.md",
    "/llms.txt",
  ])("[skills-R8] %s is an address of the gateway's own", (url) =>
    expect(refusal(own(skill({ url })))).toMatch(/^(?:reserved|bad)_url skills\.0\.url$/),
  );

  it.each([
    "/.well-known/agent-skills/index.json",
    "/.well-known/agent-skills/x/skills/a.md",
    `/skills/a.md@${digest("a")}`,
  ])("[skills-R8] %s is an address of the site's own documents", (url) =>
    expect(refusal(own(skill({ url })))).toBe("reserved_url skills.0.url"),
  );

  it.each([
    "/skills/a.md?v=1",
    "/skills/a.md#f",
    "//other.example/a.md",
    "/skills//a.md",
    "http://cdn.example/a.md",
    "ftp://cdn.example/a",
  ])("[skills-R10] %s would be published and never served", (url) =>
    expect(refusal(own(skill({ url })))).toBe("bad_url skills.0.url"),
  );

  it("[skills-R10] an absolute address is published in the spelling of the URL standard", () => {
    expect(placeOf("HTTPS://CDN.example:443/a b.md")).toEqual({
      kind: "external",
      url: "https://cdn.example/a%20b.md",
    });
  });

  it.each([
    "../x.md",
    "/skills/../../x.md",
    "./a.md",
    "/skills/%2e%2e/x.md",
    "/skills/%2E./x",
    "/skills/a%2fb",
    "/skills\\a",
    "/a/%00",
    "/a/%ff",
  ])("[skills-R11] %s leaves the site or has a second reading", (url) =>
    expect(refusal(own(skill({ url })))).toBe("bad_url skills.0.url"),
  );

  it("[skills-R12] every spelling of a path is one place, for publishing and for asking", () => {
    for (const spelled of ["/skills/%64eploy.md", "skills/deploy.md"])
      expect(placeOf(spelled)).toEqual(path("/skills/deploy.md"));
    for (const spelled of ["/skills/é a.md", "/skills/%c3%a9%20a.md"]) {
      expect(placeOf(spelled)).toEqual(path("/skills/%C3%A9%20a.md"));
    }
    const asked = new URL("https://site.example/skills/é a@b,c(1).md").pathname;
    expect(parsePlace("/skills/é a@b,c(1).md", "url")).toEqual(path(canonicalPath(asked) ?? ""));
    expect(canonicalPath("/Skills/a.md")).not.toBe(canonicalPath("/skills/a.md"));
  });
});

describe("entries that meet", () => {
  it("[skills-R9] no two entries lie at one address", () => {
    const twice = [skill({ name: "a", url: "skills/x.md" }), skill({ name: "b", url: "/skills/%78.md" })];
    expect(refusal(own(...twice))).toBe("duplicate_url skills.1.url");
    const tool = { url: "/skills/x.md", sha256: digest("b"), name: null };
    expect(refusal(own(skill({ url: "/skills/x.md" }), skill({ name: "b", tool })))).toBe(
      "duplicate_url skills.1.tool.url",
    );
    const file = { url: "/skills/x.md", sha256: digest("a"), visibility: "public" as const };
    expect(refusal({ ...own(skill({ url: "/skills/x.md" })), files: [file] })).toBe("duplicate_url files.0.url");
  });

  it("a script may be the tool of several scopes, but not with other bytes or another visibility", () => {
    const tool = { url: "/tools/t.js", sha256: digest("b"), name: "ask" };
    const [a, b] = [skill({ name: "a", scope: "a", tool }), skill({ name: "b", scope: "b", tool })];
    expect(refusal(own(a, b))).toBe("accepted");
    expect(refusal(own(a, { ...b, visibility: "authenticated" }))).toBe("duplicate_url skills.1.tool.url");
    expect(refusal(own(a, { ...b, tool: { ...tool, sha256: digest("c") } }))).toBe("duplicate_url skills.1.tool.url");
    expect(refusal(own(a, { ...b, scope: "a" }))).toBe("duplicate_name skills.1.tool.name");
  });

  it("a tool without a scope has the name of no other entry, wherever it is listed", () => {
    const tool = { url: "/tools/t.js", sha256: digest("b"), name: "ask" };
    const other = skill({ name: "ask", url: "/skills/ask.md" });
    const asks = skill({ name: "ask-docs", tool });
    const refused = "duplicate_name skills.0.tool.name";
    expect(refusal(own(asks, other))).toBe(refused);
    expect(refusal({ ...listed(other), skills: [asks] })).toBe(refused);
    expect(refusal(own(asks, { ...other, visibility: "authenticated" }))).toBe(refused);
    expect(refusal(own({ ...asks, scope: "docs" }, other))).toBe("accepted");
    expect(refusal({ ...listed(other), skills: [{ ...other, tool }] })).toBe("accepted");
  });

  it("[skills-R14] no two entries of a list have one name", () => {
    expect(refusal(own(skill(), skill({ url: "/skills/other.md" })))).toBe("duplicate_name skills.1.name");
  });

  it("[skills-8.22] the same url on both surfaces is two addresses", () => {
    expect(refusal({ ...listed(skill()), skills: [skill()] })).toBe("accepted");
  });
});

describe("[skills-8.29] the skills of a listing", () => {
  it.each(["/skills/a.md", "skills/a.md", "https://cdn.example/x.md"])("may lie at %s", (url) => {
    expect(refusal(listed(skill({ url })))).toBe("accepted");
  });

  it.each(["/etc/passwd", "skills/../../etc/passwd", "/skills/../a.md"])(
    "may not lie out of the tree, at %s",
    (url) => {
      expect(refusal(listed(skill({ url })))).toBe("bad_url listings.0.skills.0.url");
    },
  );

  it("have a name each, as listings have", () => {
    expect(refusal(listed(skill(), skill({ url: "/skills/b.md" })))).toBe("duplicate_name listings.0.skills.1.name");
    const twice = publication({
      listings: [
        { name: "x", skills: [] },
        { name: "x", skills: [] },
      ],
    });
    expect(refusal(twice)).toBe("duplicate_name listings.1.name");
    expect(refusal(publication({ listings: [{ name: "../x", skills: [] }] }))).toBe("bad_name listings.0.name");
  });
});

describe("names, words and bounds", () => {
  it.each(["", "A", "a_b", "-a", "a-", "a--b", "a b", "a".repeat(65), "é"])(
    "[skills-R20] no skill is named %j",
    (name) => {
      expect(refusal(own(skill({ name, url: "/skills/a.md" })))).toBe("bad_name skills.0.name");
    },
  );

  it.each(["", " ", "x".repeat(1025), "two\nlines", "hidden\u202e", "\ufeffx"])(
    "[skills-R20] no description is %j",
    (description) => {
      expect(refusal(own(skill({ description })))).toBe("bad_description skills.0.description");
    },
  );

  it("[skills-R20] names and descriptions at their bounds pass", () => {
    expect(refusal(own(skill({ name: "a".repeat(64), description: "x".repeat(1024) })))).toBe("accepted");
  });

  it("[skills-8.28] max_clock_skew_secs is accepted and without effect; no limit is out of its range", () => {
    expect(refusal(own(skill({ limits: { max_clock_skew_secs: 0 } })))).toBe("accepted");
    expect(refusal(own(skill({ limits: { max_entries: 0 } })))).toBe("bad_limit skills.0.limits.max_entries");
  });

  it("a site's bytes are named, and there are so many entries and no more", () => {
    expect(refusal(own(skill({ sha256: null })))).toBe("missing_digest skills.0.sha256");
    expect(refusal(own(skill({ sha256: null, url: "https://cdn.example/a.md" })))).toBe("accepted");
    const many = Array.from({ length: 257 }, (_, index) => skill({ name: `s${index}` }));
    expect(refusal(own(...many.slice(1)))).toBe("accepted");
    expect(refusal(own(...many))).toBe("too_many skills");
    expect(() => planPublication(own(...many))).toThrow("skills must be at most 256, those of listings included.");
    const listings = Array.from({ length: 33 }, (_, index) => ({ name: `l${index}`, skills: [] }));
    expect(() => planPublication(publication({ listings }))).toThrow("listings must be at most 32.");
  });
});
