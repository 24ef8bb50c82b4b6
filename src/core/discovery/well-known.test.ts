import { beforeAll, describe, expect, it } from "vitest";
import { entryOf } from "../attestation/fixture/entries.ts";
import { DEFAULT_DISCOVERY_LIMITS } from "../limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { discover } from "./discover.ts";
import { type Answer, adder, Publisher } from "./fixture/publisher.ts";
import { createTestSandbox } from "./fixture/workerd-sandbox.ts";
import type { Release } from "./release.ts";

let sandbox: Sandbox;

beforeAll(() => {
  sandbox = createTestSandbox();
});

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
