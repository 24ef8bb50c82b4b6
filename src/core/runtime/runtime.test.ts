import { describe, expect, it } from "vitest";
import { attestationEntry } from "../attestation/attestation.ts";
import { createReviewer, day } from "../attestation/fixture/reviewing.ts";
import { embeddedTrustRoot } from "../attestation/trust-root.ts";
import { contextOf, returning } from "../fixture/serving.ts";
import { publish, runtimeOf, toolsOf } from "./fixture/runtimes.ts";
import { OriginsUnavailable } from "./unavailable.ts";

const changes = (events: readonly { kind: string }[]) => events.filter(({ kind }) => kind === "list_changed").length;

describe("one origin", () => {
  it("serves its tools and recipes under their own names", async () => {
    const publisher = await publish([
      { name: "sum", recipe: "# Sum" },
      { name: "sum", scope: "kb" },
    ]);
    const { runtime, events } = await runtimeOf([publisher]);
    const provider = await runtime.provide();
    expect(provider.tools.map(({ name }) => name)).toEqual(["sum", "kb__sum", "get_skill_guide"]);
    expect(provider.resources.map(({ uri }) => uri)).toEqual(["skill://sum"]);
    expect(await provider.callTool("kb__sum", { a: 40, b: 2 }, contextOf("modern"))).toMatchObject({
      structuredContent: { result: 42 },
    });
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== "progress")).toEqual(["discovering", "discovered"]);
  });

  it("keeps what it has while the origin fails, and says that it does", async () => {
    const publisher = await publish(["sum"]);
    const { runtime, events } = await runtimeOf([publisher]);
    await runtime.start();
    publisher.put("/llms.txt", new Response("down", { status: 503 }));
    await runtime.refresh();
    expect(await toolsOf(runtime)).toEqual(["sum"]);
    expect(runtime.statuses).toMatchObject([{ state: "discovered", failure: { reason: "http_status" } }]);
    expect(events.at(-1)).toMatchObject({ kind: "failed", status: { state: "discovered" } });
    expect(changes(events)).toBe(0);
  });

  it("withdraws what the origin lists no more", async () => {
    const publisher = await publish(["sum"]);
    const { runtime, events } = await runtimeOf([publisher]);
    await runtime.start();
    publisher.put("/llms.txt", "# Nothing left\n");
    await runtime.refresh();
    await expect(runtime.provide()).rejects.toMatchObject({ code: "no_skills" });
    expect(changes(events)).toBe(1);
  });

  it("tells of a changed listing once, and of an unchanged one not at all", async () => {
    const publisher = await publish(["sum"]);
    const { runtime, events } = await runtimeOf([publisher]);
    await runtime.refresh();
    expect(changes(events)).toBe(0);
    await publisher.skill({ name: "more" });
    await runtime.refresh();
    expect(await toolsOf(runtime)).toEqual(["sum", "more"]);
    expect(changes(events)).toBe(1);
    expect(publisher.requests.filter((path) => path === "/skills/root/sum/tool.js")).toHaveLength(1);
  });

  it("says for every skill why nothing may be used", async () => {
    const publisher = await publish([{ name: "sum", metadata: { tool_sha256: "0".repeat(64) } }]);
    const { runtime } = await runtimeOf([publisher]);
    const error = await runtime.provide().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OriginsUnavailable);
    expect(error).toMatchObject({ code: "no_skills", message: expect.stringContaining("sum (hash_mismatch)") });
  });

  it("says why it could not be discovered, and serves it once it can", async () => {
    const publisher = await publish(["sum"]);
    publisher.put("/llms.txt", new Response("down", { status: 503 }));
    const { runtime, events } = await runtimeOf([publisher]);
    await expect(runtime.provide()).rejects.toMatchObject({
      code: "discovery_failed",
      message: expect.stringContaining("503"),
    });
    publisher.put("/llms.txt", publisher.llmsTxt());
    await runtime.refresh();
    expect(await toolsOf(runtime)).toEqual(["sum"]);
    expect(changes(events)).toBe(1);
  });

  it("serves nothing once it is closed, and ends the look that is under way", async () => {
    const publisher = await publish(["sum"]);
    let aborted = false;
    publisher.put(
      "/llms.txt",
      (request) =>
        new Promise<Response>((_, reject) => {
          request.signal.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("aborted"));
          });
          runtime.close();
        }),
    );
    const { runtime, events } = await runtimeOf([publisher]);
    await expect(runtime.provide()).rejects.toMatchObject({ code: "closed" });
    expect(aborted).toBe(true);
    expect(events.map(({ kind }) => kind)).not.toContain("failed");
  });
});

describe("several origins", () => {
  it("are one server, each with its prefix", async () => {
    const shop = await publish([{ name: "sum", recipe: "# Of the shop" }], "https://shop.example");
    const docs = await publish(
      [{ name: "sum", recipe: "# Of the docs", source: returning("sum", "host.fetchOrigin('/who').body") }],
      "https://docs.example/base",
    );
    docs.put("/who", "the docs");
    const { runtime } = await runtimeOf([shop, docs]);
    const provider = await runtime.provide();
    expect(provider.tools.map(({ name }) => name)).toEqual([
      "shop_example__sum",
      "docs_example_base__sum",
      "get_skill_guide",
    ]);
    expect(await provider.callTool("docs_example_base__sum", {}, contextOf("legacy"))).toMatchObject({
      structuredContent: { result: "the docs" },
    });
    expect(
      await provider.callTool("get_skill_guide", { name: "docs_example_base__sum" }, contextOf("legacy")),
    ).toMatchObject({ content: [{ text: "# Of the docs" }] });
    expect(await provider.readResource("skill://shop_example__sum", contextOf("legacy"))).toMatchObject([
      { uri: "skill://shop_example__sum", text: "# Of the shop" },
    ]);
    expect(await provider.readResource("skill://sum", contextOf("legacy"))).toBeNull();
  });

  it("do not wait for each other's luck", async () => {
    const good = await publish(["sum"], "https://good.example");
    const bad = await publish(["sum"], "https://bad.example");
    bad.put("/llms.txt", new Response("down", { status: 500 }));
    const { runtime, events } = await runtimeOf([good, bad]);
    expect(await toolsOf(runtime)).toEqual(["good_example__sum"]);
    bad.put("/llms.txt", bad.llmsTxt());
    await runtime.refresh(new Set([bad.origin]));
    expect(await toolsOf(runtime)).toEqual(["good_example__sum", "bad_example__sum"]);
    expect(changes(events)).toBe(1);
    expect(good.requests.filter((path) => path === "/llms.txt")).toHaveLength(1);
  });
});

describe("attestations that are asked for", () => {
  it("let through what a trusted reviewer signed, and nothing else", async () => {
    const ada = await createReviewer();
    const publisher = await publish(["sum", "other"]);
    const { runtime: plain } = await runtimeOf([publisher]);
    await plain.start();
    const [status] = plain.statuses;
    const toolSha256 = status?.state === "discovered" ? status.release.skills[0]?.toolSha256 : undefined;
    const signed = await ada.sign({
      toolSha256: toolSha256 as NonNullable<typeof toolSha256>,
      validUntil: day("2027-06-30"),
    });
    publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify([attestationEntry(signed)]));

    let now = Date.parse("2026-08-01T00:00:00Z");
    const { runtime } = await runtimeOf([publisher], {
      attestations: { reviewers: [ada.reviewer], trustRoot: embeddedTrustRoot() },
      now: () => now,
    });
    expect(await toolsOf(runtime)).toEqual(["sum"]);
    expect(runtime.statuses).toMatchObject([{ refused: [{ name: "other", code: "not_attested" }] }]);
    now = Date.parse("2027-07-01T00:00:00Z");
    await expect(runtime.provide(), "midnight needs no look at the origin").rejects.toMatchObject({
      code: "no_skills",
    });
  });
});

describe("pins", () => {
  it("are asked about what may be used, and what they refuse is not served", async () => {
    const publisher = await publish(["sum", "other"]);
    const asked: string[][] = [];
    const { runtime } = await runtimeOf([publisher], {
      checkPins: (_, skills) => {
        asked.push(skills.map(({ skill }) => skill.name));
        return [{ scope: null, name: "other", code: "not_pinned", message: "It is new." }];
      },
    });
    expect(await toolsOf(runtime)).toEqual(["sum"]);
    expect(asked).toEqual([["sum", "other"]]);
    expect(runtime.statuses).toMatchObject([
      { refused: [{ name: "other", code: "not_pinned", message: "It is new." }] },
    ]);
  });
});
