import { beforeAll, describe, expect, it } from "vitest";
import { entryOf } from "../attestation/fixture/entries.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { discover } from "./discover.ts";
import { type Answer, adder, Publisher, sha256Of } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";
import type { Release } from "./release.ts";

let sandbox: Sandbox;

beforeAll(() => {
  sandbox = createTestSandbox();
});

const INDEX = "/.well-known/agent-skills/index.json";
const ATTESTATIONS = "/.well-known/agent-skills/attestations.json";

async function runWith(path: string, answer: Answer | string | Uint8Array): Promise<Release> {
  const publisher = new Publisher();
  await publisher.skill({ name: "same", scope: "a" });
  await publisher.skill({ name: "same", scope: "b", source: `${adder("same")}//b` });
  publisher.put(path, answer);
  const { origin, fetch } = publisher;
  return discover({ origin, fetch, sandbox, limits: DEFAULT_DISCOVERY_LIMITS, now: () => 0 });
}

const names = (release: Release) => release.skills.map(({ publicName }) => publicName as string);
const index = (...skills: object[]) => JSON.stringify({ skills });

describe("index.json", () => {
  it("[10.2-index-scope] rejects the skill of that scope and name alone when a hash differs", async () => {
    const wrong = "0".repeat(64);
    const hashOfB = await sha256Of(`${adder("same")}//b`);
    const release = await runWith(
      INDEX,
      index({ name: "same", scope: "a", tool_sha256: wrong }, { name: "same", scope: "b", tool_sha256: hashOfB }),
    );
    expect(names(release)).toEqual(["b__same"]);
    expect(release.rejected).toMatchObject([{ scope: "a", name: "same", code: "index_mismatch" }]);
    // An entry without a scope speaks of the unscoped skill, which this origin does not have.
    expect(names(await runWith(INDEX, index({ name: "same", tool_sha256: wrong })))).toEqual(["a__same", "b__same"]);
  });

  it("rejects a skill whose path differs; any spelling of the same place agrees", async () => {
    const entry = (tool: string) => index({ name: "same", scope: "a", tool });
    for (const tool of [
      "/skills/a/same/tool.js",
      "skills/a/same/tool.js",
      "https://publisher.example/skills/a/same/tool.js",
      "../../skills/a/same/tool.js",
    ]) {
      expect(names(await runWith(INDEX, entry(tool)))).toEqual(["a__same", "b__same"]);
    }
    for (const tool of ["/skills/a/same/other.js", "https://evil.example/skills/a/same/tool.js", "http://["]) {
      const release = await runWith(INDEX, entry(tool));
      expect(names(release)).toEqual(["b__same"]);
      expect(release.rejected).toMatchObject([{ code: "index_mismatch" }]);
    }
  });

  it("rejects on any of several entries, and ignores fields of other types", async () => {
    const release = await runWith(
      INDEX,
      index(
        { name: "same", scope: "a", tool_sha256: 5, tool: null },
        { name: "same", scope: "a", tool_sha256: "0".repeat(64) },
      ),
    );
    expect(names(release)).toEqual(["b__same"]);
    const odd = await runWith(INDEX, index({ name: "same", scope: "a", tool_sha256: 5 }));
    expect(names(odd)).toEqual(["a__same", "b__same"]);
    expect(odd.rejected).toEqual([]);
  });

  it.each<[string, Answer | string | Uint8Array, string]>([
    ["an error", new Response("", { status: 500 }), "http_status"],
    ["a page of HTML", "<!doctype html>", "bad_json"],
    ["an array", "[]", "bad_shape"],
    ["no list of skills", '{"skills":{}}', "bad_shape"],
    ["odd entries", '{"skills":[1,{"name":2}]}', "bad_shape"],
    ["invalid UTF-8", new Uint8Array([0xff]), "bad_encoding"],
    ["a redirect elsewhere", Response.redirect("https://evil.example/"), "redirect_outside_origin"],
  ])("%s is reported and changes nothing", async (_case, answer, code) => {
    const release = await runWith(INDEX, answer);
    expect(names(release)).toEqual(["a__same", "b__same"]);
    expect(release.rejected).toMatchObject([{ subject: "index", scope: null, name: "", code }]);
  });

  it("that does not exist is silent", async () => {
    expect((await runWith(INDEX, new Response("", { status: 404 }))).rejected).toEqual([]);
  });
});

describe("attestations.json", () => {
  it("is read entry by entry: a bad one is reported with its place and harms no other", async () => {
    const deep = `{"note":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    const release = await runWith(ATTESTATIONS, `\ufeff[1,${JSON.stringify(entryOf())},${deep},null]`);
    expect(release.attestations).toMatchObject([{ skill: "sum", attester: "human:ada" }]);
    expect(release.rejected.map(({ subject, code, message }) => [subject, code, message.split(":")[0]])).toEqual([
      ["attestations", "not_an_object", "Entry 0 of attestations.json"],
      ["attestations", "too_deep", "Entry 2 of attestations.json"],
      ["attestations", "not_an_object", "Entry 3 of attestations.json"],
    ]);
  });

  it.each<[string, Answer | string, string]>([
    ["an object", "{}", "bad_shape"],
    ["no JSON", "nope", "bad_json"],
    ["an error", new Response("", { status: 403 }), "http_status"],
  ])("%s is reported and changes nothing else", async (_case, answer, code) => {
    const release = await runWith(ATTESTATIONS, answer);
    expect(names(release)).toEqual(["a__same", "b__same"]);
    expect(release.attestations).toEqual([]);
    expect(release.rejected).toMatchObject([{ subject: "attestations", code }]);
  });
});

describe("memory snapshots", () => {
  it("of a bad hash, form, path or format are reported and left out; the others stay", async () => {
    const publisher = new Publisher();
    await publisher.skill({ name: "one" });
    await publisher.memory("good", "bytes");
    await publisher.memory("hash", "bytes", { snapshot_sha256: "0".repeat(64) });
    await publisher.memory("form", "bytes", { snapshot_sha256: "x" });
    await publisher.memory("away", "bytes", { snapshot: "//evil.example/m" });
    await publisher.memory("gone", "bytes", { snapshot: "/gone" });
    await publisher.memory("kind", "bytes", { format: "other-v9" });
    const { origin, fetch } = publisher;
    const release = await discover({ origin, fetch, sandbox, limits: DEFAULT_DISCOVERY_LIMITS, now: () => 0 });
    expect(release.memories.map(({ scope }) => scope)).toEqual(["good"]);
    expect(release.rejected.map(({ subject, scope, code }) => `${subject} ${scope} ${code}`)).toEqual([
      "memory hash hash_mismatch",
      "memory form bad_hash",
      "memory away outside_origin",
      "memory gone http_status",
      "memory kind unsupported_format",
    ]);
  });
});
