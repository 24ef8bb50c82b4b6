import { afterEach, describe, expect, it } from "vitest";
import { attestationEntry } from "../../core/attestation/attestation.ts";
import { createReviewer, day } from "../../core/attestation/fixture/reviewing.ts";
import { adder, sha256Of } from "../../core/discovery/fixture/publisher.ts";
import { MODERN_META } from "../../core/mcp/fixture/exchange.ts";
import { type LoopbackPublisher, startLoopbackPublisher } from "../fixture/loopback-publisher.ts";
import { run } from "../fixture/running.ts";
import { type Session, startSession, toolNames } from "./fixture/session.ts";
import { MAX_LINE_BYTES } from "./serve-stdio.ts";

const open: (LoopbackPublisher | Session)[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) {
    if ("terminate" in one) {
      one.terminate();
      await one.code;
    } else await one[Symbol.asyncDispose]();
  }
});

async function publisher(base?: string) {
  const started = await startLoopbackPublisher(base);
  open.push(started);
  return started.publisher;
}

function session(...args: Parameters<typeof startSession>): Session {
  const started = startSession(...args);
  open.push(started);
  return started;
}

const SLOW = `registerTool({ name: "slow", handler: () => host.fetchOrigin("/slow").body });`;

describe("skillgate <origin>", () => {
  it("is an MCP server in both eras, with nothing but protocol on stdout", async () => {
    const site = await publisher();
    await site.skill({ name: "sum", recipe: "# Sum" });
    const client = session([site.origin]);
    expect(await client.ask("initialize", { protocolVersion: "2025-06-18" })).toMatchObject({
      result: { protocolVersion: "2025-06-18", serverInfo: { name: "skillgate" } },
    });
    expect(toolNames(await client.ask("tools/list"))).toEqual(["sum", "get_skill_guide"]);
    expect(toolNames(await client.ask("tools/list", { _meta: MODERN_META }))).toEqual(["sum", "get_skill_guide"]);
    expect(
      await client.ask("tools/call", { name: "sum", arguments: { a: 40, b: 2 }, _meta: MODERN_META }),
    ).toMatchObject({ result: { resultType: "complete", structuredContent: { result: 42 } } });
    expect(await client.ask("resources/read", { uri: "skill://sum" })).toMatchObject({
      result: { contents: [{ text: "# Sum" }] },
    });
    expect(await client.end()).toBe(0);
    for (const message of client.received) expect(message.jsonrpc).toBe("2.0");
    expect(client.stderr.join("\n")).toContain("offers 1 tool, 1 recipe");
  });

  it("answers ping while a tool waits, and ends the tool's own request when it is cancelled", async () => {
    const site = await publisher();
    await site.skill({ name: "slow", source: SLOW });
    let asked: (() => void) | undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    site.put("/slow", () => {
      asked?.();
      return new Promise<Response>(() => {});
    });
    const client = session([site.origin]);
    client.send({ id: "call", method: "tools/call", params: { name: "slow" } });
    await isAsked;
    expect(await client.ask("ping")).toMatchObject({ result: {} });
    client.send({ method: "notifications/cancelled", params: { requestId: "call" } });
    expect(await client.ask("ping")).toMatchObject({ result: {} });
    expect(await client.end(), "nothing is left to wait for").toBe(0);
    expect(client.received.map(({ id }) => id)).not.toContain("call");
  });

  it("ends with its input, and cancels what still runs", async () => {
    const site = await publisher();
    await site.skill({ name: "slow", source: SLOW });
    const client = session([site.origin]);
    const isAsked = new Promise<void>((resolve) =>
      site.put("/slow", () => {
        resolve();
        return new Promise<Response>(() => {});
      }),
    );
    client.send({ id: 1, method: "tools/call", params: { name: "slow" } });
    await isAsked;
    expect(await client.end()).toBe(0);
    expect(client.received).toEqual([]);
  });

  it("answers what was asked before its input ended, the last line without an end included", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    const client = session([site.origin]);
    client.input.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    expect(await client.end()).toBe(0);
    expect(client.received).toMatchObject([{ id: 1, result: { tools: [{ name: "sum" }] } }]);
  });

  it("ends at once when it is told to, or when nobody reads it any more", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    const client = session([site.origin]);
    await client.ask("tools/list");
    client.terminate();
    expect(await client.code).toBe(0);
  });

  it("answers lines that are no messages, and goes on", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    const client = session([site.origin]);
    client.input.write("\n   \n\r\njunk\r\n");
    client.input.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    client.input.write(`${" ".repeat(MAX_LINE_BYTES + 1)}\n`);
    client.input.write('[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n');
    expect(await client.ask("ping")).toMatchObject({ result: {} });
    expect(client.received.slice(0, 4)).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32700, message: "The line is not valid UTF-8." } },
      { id: null, error: { code: -32600, data: { code: "too_large" } } },
      { id: null, error: { code: -32600 } },
    ]);
    expect(client.received).toHaveLength(5);
  });

  it("[10.2-local-runtime] stays up while discovery fails, says why to each request, and serves once it works", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    site.put("/llms.txt", new Response("down", { status: 503 }));
    const client = session([site.origin]);
    expect(await client.ask("initialize")).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
    client.send({ method: "notifications/initialized" });
    for (const method of ["tools/list", "tools/call", "resources/list"]) {
      expect(await client.ask(method, { name: "sum" })).toMatchObject({
        error: { code: -31502, message: expect.stringContaining("503"), data: { code: "discovery_failed" } },
      });
    }
    expect(client.stderr.join("\n")).toContain("It is tried again in the background.");
    site.put("/llms.txt", site.llmsTxt());
    const changed = client.next(({ method }) => method === "notifications/tools/list_changed");
    client.hangUp();
    await changed;
    expect(toolNames(await client.ask("tools/list"))).toEqual(["sum"]);
  });

  it("[10.2-local-runtime] tries again by itself", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    site.put("/llms.txt", new Response("down", { status: 503 }));
    const client = session([site.origin]);
    await client.ask("initialize");
    client.send({ method: "notifications/initialized" });
    const changed = client.next(({ method }) => method === "notifications/tools/list_changed");
    await client.ask("tools/list");
    site.put("/llms.txt", site.llmsTxt());
    await changed;
    expect(toolNames(await client.ask("tools/list"))).toEqual(["sum"]);
  });

  it("tells modern clients that listen of a changed list", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    const client = session([site.origin]);
    await client.ask("tools/list", { _meta: MODERN_META });
    const acknowledged = client.next(({ method }) => method === "notifications/subscriptions/acknowledged");
    client.send({
      id: "listening",
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true }, _meta: MODERN_META },
    });
    await acknowledged;
    await site.skill({ name: "more" });
    const changed = client.next(({ method }) => method === "notifications/tools/list_changed");
    client.hangUp();
    expect(await changed).toMatchObject({
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": "listening" } },
    });
    client.terminate();
    await client.code;
    expect(client.received.at(-1)).toMatchObject({ id: "listening", result: { resultType: "complete" } });
  });

  it("[10.2-local-runtime] takes an origin in any spelling and with a base path", async () => {
    const site = await publisher("/REPO");
    await site.skill({ name: "sum" });
    const client = session([`${site.origin.replace("http:", "HTTP:")}/`]);
    expect(toolNames(await client.ask("tools/list"))).toEqual(["sum"]);
  });

  it("serves several origins, each with its prefix", async () => {
    const [one, two] = [await publisher(), await publisher()];
    for (const site of [one, two]) await site.skill({ name: "sum" });
    const client = session([one.origin, two.origin]);
    const names = toolNames(await client.ask("tools/list"));
    expect(names).toEqual([one, two].map(({ origin }) => `127_0_0_1_${new URL(origin).port}__sum`));
    expect(client.stderr.join("\n")).toContain(`tools of ${one.origin} are called`);
  });

  it("tells of rejections once, in words, with what a publisher wrote made harmless", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    await site.skill({ name: "bad", metadata: { tool_sha256: "0".repeat(64) } });
    site.line('- [odd\u001b[2J](/x): Odd. <!-- skill: {"tool":"/x.js","tool_sha256":"x"} -->');
    const client = session([site.origin]);
    await client.ask("tools/list");
    client.hangUp();
    await client.ask("tools/list");
    const told = client.stderr.filter((line) => line.includes("hash_mismatch"));
    expect(told).toEqual([expect.stringMatching(/^skillgate: warning: rejected the skill bad: hash_mismatch: /)]);
    expect(client.stderr.join("")).not.toContain("\u001b");
  });

  it("writes one JSON object a line for machines", async () => {
    const site = await publisher();
    await site.skill({ name: "sum" });
    const client = session([site.origin, "--json-logs", "--verbose"]);
    await client.ask("tools/list");
    const lines = client.stderr.map((line) => JSON.parse(line) as { event: string; level: string; time: string });
    expect(lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["discovering", "fetch", "hash", "discovered"]),
    );
    for (const { level, time } of lines) expect([level, time]).toEqual(["info", "2026-03-01T12:00:00.000Z"]);
  });
});

describe("--require-attestation", () => {
  it("serves what that reviewer attests, and says of the rest that nobody does", async () => {
    const ada = await createReviewer();
    const site = await publisher();
    await site.skill({ name: "sum" });
    await site.skill({ name: "other" });
    const claim = { origin: site.origin, skill: "sum", signedOn: day("2026-02-01"), validUntil: day("2026-03-01") };
    const toolSha256 = (await sha256Of(adder("sum"))) as Awaited<ReturnType<typeof ada.sign>>["toolSha256"];
    // A first entry that does not count hides no later one.
    const expired = await ada.sign({ ...claim, toolSha256, validUntil: day("2026-02-02") });
    const good = await ada.sign({ ...claim, toolSha256 });
    site.put(
      "/.well-known/agent-skills/attestations.json",
      JSON.stringify([attestationEntry(expired), attestationEntry(good)]),
    );
    const { key } = ada.reviewer;
    const who = `human:ada=${key.kind === "ed25519" ? key.publicKey : ""}`;
    const client = session([site.origin, "--require-attestation", who]);
    expect(toolNames(await client.ask("tools/list"))).toEqual(["sum"]);
    expect(client.stderr.join("\n")).toContain("refused the skill other: not_attested");

    const stranger = session([site.origin, "--require-attestation", "https://issuer.example|mail@example.org"]);
    expect(await stranger.ask("tools/list")).toMatchObject({ error: { data: { code: "no_skills" } } });
  });
});

describe("the command line", () => {
  it.each([
    [["https://a.example", "--refresh", "1"], "5 to 86400"],
    [["https://a.example", "--refresh", "often"], "5 to 86400"],
    [["https://a.example", "--frozen"], "--frozen needs --lock"],
    [["https://a.example", "--lock-update"], "--lock-update needs --lock"],
    [["https://a.example", "--lock", "f", "--frozen", "--lock-update"], "exclude each other"],
    [["https://a.example", "https://A.example/"], "given twice"],
    [["https://a.example", "--require-attestation", "ada"], 'bad_reviewer: The reviewer "ada" must be given as'],
    [
      ["https://a.example", "--require-attestation", "https://issuer.example"],
      'bad_reviewer: The reviewer "https://issuer.example" must be given as',
    ],
    [["https://a.example", "--lok", "f"], "Did you mean --lock?"],
    [["http://a.example"], "bad_origin"],
    [[], "Usage: skillgate"],
  ])("%j is refused with 2 and says why", async (args, why) => {
    const { code, stdout, stderr } = await run(args);
    expect(stderr).toContain(why);
    expect([code, stdout]).toEqual([2, ""]);
  });

  it("[10.2-local-runtime] has help and a version", async () => {
    expect(await run(["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("--require-attestation") });
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  });
});
