import { describe, expect, it } from "vitest";
import { codes, names, run } from "./fixture/discovering.ts";
import { type Answer, adder, Publisher, sha256Of } from "./fixture/publisher.ts";

describe("recipes", () => {
  it("[10.2-unverified-recipe] without a declared hash are left out, and the tool stays", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "one", recipe: "text", metadata: { sha256: undefined } });
    const release = await run(publisher);
    expect(release.skills[0]?.recipe).toBeNull();
    expect(codes(release)).toEqual(["recipe one no_declared_hash"]);
    expect(publisher.requests).not.toContain("/skills/root/one/SKILL.md");
  });

  it("with another hash, a bad link or bad text are left out, and the tools stay", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "hash", recipe: "text", metadata: { sha256: "0".repeat(64) } });
    await publisher.skill({ name: "form", recipe: "text", metadata: { sha256: "xyz" } });
    await publisher.skill({ name: "text", recipe: new Uint8Array([0xff]) });
    publisher.line(
      `- [away](https://evil.example/SKILL.md): x <!-- skill: ${JSON.stringify({
        tool: "/skills/root/away/tool.js",
        tool_sha256: await sha256Of(adder("away")),
        sha256: "0".repeat(64),
      })} -->`,
    );
    publisher.put("/skills/root/away/tool.js", adder("away"));
    const release = await run(publisher);
    expect(names(release)).toEqual(["hash", "form", "text", "away"]);
    expect(codes(release)).toEqual([
      "recipe hash hash_mismatch",
      "recipe form bad_hash",
      "recipe text bad_encoding",
      "recipe away outside_origin",
    ]);
  });

  it("of another origin need a consent that nobody gave, also where unverified ones are offered", async () => {
    const publisher = new Publisher("https://user.github.io/REPO");
    const links = ["https://evil.example/SKILL.md", "//evil.example/SKILL.md", "https://user.github.io/OTHER/SKILL.md"];
    for (const [index, link] of links.entries()) {
      const name = `s${index}`;
      publisher.put(`/${name}.js`, adder(name));
      const metadata = JSON.stringify({ tool: `/${name}.js`, tool_sha256: await sha256Of(adder(name)) });
      publisher.line(`- [${name}](${link}): x <!-- skill: ${metadata} -->`);
    }
    const release = await run(publisher, {}, { unverifiedRecipes: "offer" });
    expect(names(release)).toEqual(["s0", "s1", "s2"]);
    expect(codes(release)).toEqual([
      "recipe s0 outside_origin",
      "recipe s1 outside_origin",
      "recipe s2 outside_origin",
    ]);
    expect(publisher.requests.filter((path) => path.endsWith("SKILL.md"))).toEqual([]);
  });

  it("fail and hold independently of their tools, in both directions", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "tool", recipe: "lost", metadata: { sha256: "0".repeat(64) } });
    await publisher.skill({ name: "neither", recipe: "kept", metadata: { tool_sha256: "0".repeat(64) } });
    const swapped = { tool_sha256: await sha256Of("text"), sha256: await sha256Of(adder("swapped")) };
    await publisher.skill({ name: "swapped", recipe: "text", metadata: swapped });
    const release = await run(publisher);
    expect(names(release)).toEqual(["tool"]);
    expect(codes(release)).toEqual([
      "recipe tool hash_mismatch",
      "skill neither hash_mismatch",
      "skill swapped hash_mismatch",
    ]);
  });

  it("are hashed over their exact bytes: BOM and CRLF are part of them and are served", async () => {
    const publisher = new Publisher();
    const exact = "\ufeff# Recipe\r\nUse it.\r\n";
    await publisher.skill({ name: "exact", recipe: exact });
    await publisher.skill({
      name: "lf",
      recipe: exact,
      metadata: { sha256: await sha256Of(exact.replaceAll("\r", "")) },
    });
    const release = await run(publisher);
    expect(release.skills.map(({ recipe }) => recipe?.text ?? null)).toEqual([exact, null]);
    expect(codes(release)).toEqual(["recipe lf hash_mismatch"]);
  });
});

describe("recipes without a declared hash, where they are offered,", () => {
  const undeclared = { sha256: undefined };
  const offer = { unverifiedRecipes: "offer" } as const;

  it("are told from verified ones, of the same bytes too", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "declared", recipe: "# Same" });
    await publisher.skill({ name: "undeclared", recipe: "# Same", metadata: undeclared });
    const release = await run(publisher, {}, offer);
    const sha256 = await sha256Of("# Same");
    expect(release.skills.map(({ recipe }) => recipe)).toEqual([
      { sha256, text: "# Same", verified: true },
      { sha256, text: "# Same", verified: false },
    ]);
    expect(release.rejected).toEqual([]);
  });

  it("that are missing, no text, a page of HTML or moved away are left out, and the tools stay", async () => {
    const publisher = new Publisher();
    const broken: [string, Answer | string | Uint8Array][] = [
      ["gone", new Response("", { status: 404 })],
      ["bytes", new Uint8Array([0xff])],
      ["page", "\n<!DOCTYPE html><title>Not found</title>"],
      ["moved", new Response(null, { status: 302, headers: { location: "https://evil.example/x" } })],
    ];
    for (const [name, answer] of broken) {
      await publisher.skill({ name, recipe: "", metadata: undeclared });
      publisher.put(`/skills/root/${name}/SKILL.md`, answer);
    }
    const release = await run(publisher, {}, offer);
    expect(names(release)).toEqual(["gone", "bytes", "page", "moved"]);
    expect(codes(release)).toEqual([
      "recipe gone http_status",
      "recipe bytes bad_encoding",
      "recipe page bad_shape",
      "recipe moved redirect_outside_origin",
    ]);
  });

  it("count to the bytes of a release", async () => {
    const publisher = new Publisher();
    for (const name of ["one", "two"]) await publisher.skill({ name, recipe: name.repeat(500), metadata: undeclared });
    const release = await run(publisher, { releaseBytes: 2_500 }, offer);
    expect(codes(release)).toEqual(["recipe two release_too_large"]);
  });
});

it("the name of the runtime's own guide is no skill's, whatever else it has; under a scope it is another name", async () => {
  const publisher = new Publisher();
  await publisher.skill({ name: "get_skill_guide", recipe: "# Mine" });
  await publisher.skill({ name: "get_skill_guide", scope: "kb" });
  await publisher.skill({ name: "other" });
  const release = await run(publisher);
  expect(names(release)).toEqual(["kb__get_skill_guide", "other"]);
  expect(codes(release)).toEqual(["skill get_skill_guide reserved_name"]);
});
