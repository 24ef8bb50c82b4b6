import { describe, expect, it } from "vitest";
import { attestationEntry } from "../attestation/attestation.ts";
import { createReviewer, day } from "../attestation/fixture/reviewing.ts";
import { embeddedTrustRoot } from "../attestation/trust-root.ts";
import { contextOf, returning } from "../fixture/serving.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../limits.ts";
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
    expect(events.at(-1)).toMatchObject({ served: ["sum", "kb__sum"], recipes: 1, memories: 0 });
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

describe("an origin that hangs", () => {
  it("delays no other, is said to be late, and is added when it has answered", async () => {
    const good = await publish([{ name: "sum", recipe: "# Sum" }], "https://good.example");
    const slow = await publish(["sum"], "https://slow.example");
    let answer: (response: Response) => void = () => {};
    slow.put("/llms.txt", () => new Promise<Response>((resolve) => (answer = resolve)));
    const { runtime, events } = await runtimeOf([slow, good], { patienceMs: 1 });
    const provider = await runtime.provide();
    expect(provider.tools.map(({ name }) => name)).toEqual(["good_example__sum", "get_skill_guide"]);
    expect(events.filter(({ kind }) => kind === "served_without")).toEqual([
      { kind: "served_without", origins: ["https://slow.example"] },
    ]);
    expect(provider.whyMissing?.("slow_example__sum")).toBe("It is not served at this moment (discovering).");
    expect(provider.whyMissing?.("good_example__other")).toBeNull();
    await runtime.refresh(new Set([good.origin]));
    expect(changes(events)).toBe(0);
    answer(new Response(slow.llmsTxt()));
    await runtime.start();
    expect(changes(events)).toBe(1);
    expect(await toolsOf(runtime)).toEqual(["slow_example__sum", "good_example__sum", "get_skill_guide"]);
  });

  it("is waited for where there is nothing else, and no longer once the runtime is closed", async () => {
    const bad = await publish(["sum"], "https://bad.example");
    bad.put("/llms.txt", new Response("down", { status: 503 }));
    const slow = await publish(["sum"], "https://slow.example");
    let answer: (response: Response) => void = () => {};
    const asked = new Promise<void>((resolve) =>
      slow.put("/llms.txt", () => {
        resolve();
        return new Promise<Response>((answered) => (answer = answered));
      }),
    );
    const { runtime } = await runtimeOf([bad, slow], { patienceMs: 1 });
    const tools = toolsOf(runtime);
    await asked;
    answer(new Response(slow.llmsTxt()));
    expect(await tools).toEqual(["slow_example__sum"]);

    const never = await publish([], "https://never.example");
    never.put("/llms.txt", () => new Promise<Response>(() => {}));
    const { runtime: closed } = await runtimeOf([never]);
    const provided = closed.provide();
    closed.close();
    await expect(provided).rejects.toMatchObject({ code: "closed" });
  });
});

it("an origin whose tools wait for a slow host leaves the sandboxes of others alone", async () => {
  const slow = await publish(
    [{ name: "wait", source: returning("wait", "host.fetchOrigin('/slow').body") }],
    "https://slow.example",
  );
  const quick = await publish(["sum"], "https://quick.example");
  const answers: ((response: Response) => void)[] = [];
  const { poolSize } = DEFAULT_SANDBOX_LIMITS;
  const isFull = new Promise<void>((resolve) =>
    slow.put("/slow", () => {
      if (answers.length + 1 === poolSize / 2) resolve();
      return new Promise<Response>((answer) => answers.push(answer));
    }),
  );
  const { runtime } = await runtimeOf([slow, quick]);
  const provider = await runtime.provide();
  const ending = new AbortController();
  const context = contextOf("legacy", ending.signal);
  const waiting = Array.from({ length: 40 }, async () =>
    Promise.resolve(provider.callTool("slow_example__wait", {}, context)).catch(() => null),
  );
  await isFull;
  const sums = Array.from({ length: poolSize }, async () =>
    provider.callTool("quick_example__sum", { a: 40, b: 2 }, contextOf("legacy")),
  );
  for (const sum of await Promise.all(sums)) expect(sum).toMatchObject({ structuredContent: { result: 42 } });
  ending.abort();
  for (const answer of answers) answer(new Response(""));
  await Promise.all(waiting);
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
    const publisher = await publish(["sum", { name: "other", recipe: "# Refused" }]);
    const asked: string[][] = [];
    const { runtime, events } = await runtimeOf([publisher], {
      checkPins: (_, skills) => {
        asked.push(skills.map(({ skill }) => skill.name));
        return [{ scope: null, name: "other", code: "not_pinned", message: "It is new." }];
      },
    });
    expect(await toolsOf(runtime)).toEqual(["sum"]);
    expect(asked).toEqual([["sum", "other"]]);
    expect(events.at(-1), "what is refused is not counted").toMatchObject({ served: ["sum"], recipes: 0 });
    expect((await runtime.provide()).whyMissing?.("other")).toBe("It is not served at this moment (not_pinned).");
    expect(runtime.statuses).toMatchObject([
      { refused: [{ name: "other", code: "not_pinned", message: "It is new." }] },
    ]);
  });
});
