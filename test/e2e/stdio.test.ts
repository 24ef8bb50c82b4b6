import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Client as SdkV2Client } from "@modelcontextprotocol/client";
import { StdioClientTransport as SdkV2Stdio } from "@modelcontextprotocol/client/stdio";
import { Client as SdkV1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as SdkV1Stdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sha256Of } from "../../src/core/discovery/fixture/publisher.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { type InstalledPackage, installPackage } from "../../src/dev/package/fixture/installed.ts";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { type LoopbackPublisher, startLoopbackPublisher } from "../../src/local/fixture/loopback-publisher.ts";
import { toolNames } from "../../src/local/stdio/fixture/session.ts";

const INFO = { name: "skillgate-tests", version: "1.0.0" };

let site: LoopbackPublisher;
/** The command of the packed package, as a user has it after installing it into a clean folder. */
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
  site = await startLoopbackPublisher();
  await publishKit(site);
});

afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await installed?.[Symbol.asyncDispose]();
});

/** What the cases of the upstream conformance kit need (llms-txt-skills `conformance/run.mjs`, C01 to C15), on one site. */
async function publishKit({ publisher }: LoopbackPublisher): Promise<void> {
  const handler = (name: string, body: string) => `registerTool({ name: "${name}", handler: (args) => ${body} });`;
  await publisher.skill({ name: "sum", recipe: "# Sum\n" });
  await publisher.skill({ name: "mismatched", metadata: { tool_sha256: "0".repeat(64) } });
  publisher.line("- [prose](/prose/SKILL.md): A link for people.");
  await publisher.skill({
    name: "foreign",
    source: handler("foreign", 'host.fetchOrigin("https://foreign.example/")'),
  });
  await publisher.skill({ name: "own", source: handler("own", 'host.fetchOrigin("/data").body') });
  publisher.put("/data", "own data");
  await publisher.skill({ name: "object", source: handler("object", "({ answer: 42 })") });
  await publisher.skill({ name: "scoped", scope: "kb", source: handler("scoped", "host.memorySearch('x')") });
  await publisher.skill({ name: "badly_scoped", metadata: { scope: "Bad Scope" } });
  await publisher.skill({ name: "twice", source: handler("twice", '"first"') });
  const second = handler("twice", '"second"');
  publisher.put("/second.js", second);
  const elsewhere = { tool: "/second.js", tool_sha256: await sha256Of(second) };
  await publisher.skill({ name: "twice", source: handler("twice", '"first"'), metadata: elsewhere });
  await publisher.memory("kb", "[]", { snapshot_sha256: "0".repeat(64) });
  await publisher.skill({ name: "tampered_recipe", recipe: "# Declared\n", metadata: { sha256: "1".repeat(64) } });
  await publisher.skill({ name: "crlf", source: handler("crlf", "42").replace("{ name", "{\r\n name") });
  const outside = '- [outside](): No skill. <!-- skill: {"tool":"/skills/root/sum/tool.js","tool_sha256":"0"} -->';
  publisher.put("/llms.txt", `${outside}\n\n${publisher.llmsTxt()}\n## Other\n\n${outside}\n`);
}

describe("the conformance kit over stdio", () => {
  let kit: ReturnType<typeof startKit>;

  beforeAll(() => {
    kit = startKit();
  });

  afterAll(async () => {
    expect(await kit.end(), "[10.4-b77fe77] the process ends by itself, with 0").toBe(0);
  });

  const call = (name: string, args: JsonObject = {}) => kit.ask("tools/call", { name, arguments: args });
  const tools = async () => toolNames(await kit.ask("tools/list"));

  it("C01 takes skills from their section alone", async () => expect(await tools()).not.toContain("outside"));
  it("C02 leaves out what has another hash", async () => expect(await tools()).not.toContain("mismatched"));
  it("C03 runs a skill that verifies", async () => {
    expect(await call("sum", { a: 40, b: 2 })).toMatchObject({ result: { content: [{ text: "42" }], isError: false } });
  });
  it("C04 makes no tool of a link for people", async () => expect(await tools()).not.toContain("prose"));
  it("C05 lets no tool fetch elsewhere", async () => {
    expect(await call("foreign")).toMatchObject({ result: { isError: true } });
  });
  it("C06 lets a tool fetch from its own origin", async () => {
    expect(await call("own")).toMatchObject({ result: { structuredContent: { result: "own data" } } });
  });
  it("C07 gives an object as structuredContent", async () => {
    expect(await call("object")).toMatchObject({ result: { structuredContent: { answer: 42 } } });
  });
  it("C08 prefixes a scoped tool", async () => {
    expect((await tools()).filter((name) => String(name).endsWith("scoped"))).toEqual(["kb__scoped"]);
  });
  it("C09 drops a skill whose scope is none", async () => expect(await tools()).not.toContain("badly_scoped"));
  it("C10 keeps the first of two skills of one name", async () => {
    expect((await tools()).filter((name) => name === "twice")).toEqual(["twice"]);
    expect(await call("twice")).toMatchObject({ result: { structuredContent: { result: "first" } } });
  });
  it("C11 loads a skill whose memory is not what was declared, and fails its search", async () => {
    expect(await call("kb__scoped")).toMatchObject({ result: { isError: true } });
  });
  it("C12 offers a verified recipe as a resource", async () => {
    expect(await kit.ask("resources/read", { uri: "skill://sum" })).toMatchObject({
      result: { contents: [{ text: "# Sum\n" }] },
    });
  });
  it("C13 leaves out a recipe with another hash, and keeps its tool", async () => {
    expect(await tools()).toContain("tampered_recipe");
    expect(JSON.stringify(await kit.ask("resources/list"))).not.toContain("tampered_recipe");
  });
  it("C14 answers a call of an unknown tool, and lives", async () => {
    expect(await call("nobody")).toMatchObject({ error: { code: -32602 } });
    expect(await call("sum", { a: 1, b: 1 })).toMatchObject({ result: { content: [{ text: "2" }] } });
  });
  it("C15 loads a script with CRLF under the hash of its exact bytes", async () => {
    expect(await call("crlf")).toMatchObject({ result: { structuredContent: { result: 42 } } });
  });
});

/** Drives the command as the kit does: no handshake, and each answer is the next line. */
function startKit() {
  const child = start(site.publisher.origin);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(method: string, params: JsonObject = {}): Promise<JsonObject> {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
      const { value } = await lines.next();
      return JSON.parse(value as string) as JsonObject;
    },
    async end(): Promise<number> {
      const exited = once(child, "exit");
      child.stdin.end();
      const [code] = await exited;
      return code as number;
    },
  };
}

function start(...args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [installed.command, ...args]);
  child.stderr.resume();
  // One that ends takes no more: what was still to be written to it is lost, and is no failure of a test.
  child.stdin.on("error", () => {});
  return child;
}

/** A client of the ecosystem at the other end of the command, in a process of its own. */
const CLIENTS = {
  "SDK v1": async (command: StdioCommand) => {
    const client = new SdkV1Client(INFO);
    await client.connect(new SdkV1Stdio(command));
    return client;
  },
  "SDK v2, legacy": (command: StdioCommand) => sdkV2(command, "legacy"),
  "SDK v2, auto": (command: StdioCommand) => sdkV2(command, "auto"),
  "SDK v2, pinned to 2026-07-28": (command: StdioCommand) => sdkV2(command, { pin: "2026-07-28" }),
};

interface StdioCommand {
  readonly command: string;
  readonly args: string[];
  readonly stderr: "ignore";
}

async function sdkV2(command: StdioCommand, mode: "legacy" | "auto" | { pin: string }): Promise<SdkV1Client> {
  const client = new SdkV2Client(INFO, { versionNegotiation: { mode } });
  await client.connect(new SdkV2Stdio(command));
  return client as unknown as SdkV1Client;
}

describe.each(Object.entries(CLIENTS))("%s over stdio", (_, connect) => {
  it("lists, calls and reads", async () => {
    const client = await connect({
      command: process.execPath,
      args: [installed.command, site.publisher.origin],
      stderr: "ignore",
    });
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("kb__scoped");
      expect(await client.callTool({ name: "sum", arguments: { a: 40, b: 2 } })).toMatchObject({
        structuredContent: { result: 42 },
      });
      expect((await client.readResource({ uri: "skill://sum" })).contents).toMatchObject([{ text: "# Sum\n" }]);
    } finally {
      await client.close();
    }
  });
});

describe.each(["legacy", "modern"])("mcp-inspector --cli over stdio, %s", (era) => {
  it("calls a tool", async () => {
    const inspector = join(ROOT, "node_modules/.bin/mcp-inspector");
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...[inspector, "--cli", process.execPath, installed.command, site.publisher.origin],
      ...["--protocol-era", era, "--format", "json", "--method", "tools/call", "--tool-name", "sum"],
      ...["--tool-args-json", '{"a":40,"b":2}'],
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ result: { structuredContent: { result: 42 } } });
  });
});

describe("the process", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("ends with 0 at %s, though its input stays open", async (signal) => {
    const child = start(site.publisher.origin);
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await once(child.stdout, "data");
    const exited = once(child, "exit");
    child.kill(signal);
    expect(await exited).toEqual([0, null]);
  });

  it("ends with 0 when nobody reads it any more", async () => {
    const child = start(site.publisher.origin);
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await once(child.stdout, "data");
    const exited = once(child, "exit");
    child.stdout.destroy();
    child.stdin.write('{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
    expect(await exited).toEqual([0, null]);
  });

  it("goes on when nobody reads what it tells beside its answers", async () => {
    const child = spawn(process.execPath, [installed.command, site.publisher.origin]);
    child.stderr.destroy();
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
    const [answer] = (await once(child.stdout, "data")) as [Buffer];
    expect(answer.toString()).toContain('"tools":[');
    const exited = once(child, "exit");
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
  });

  it("ends with 0 at SIGTERM, though its answers are read by nobody", async () => {
    const child = start(site.publisher.origin);
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
    await once(child.stdout, "data");
    child.stdout.pause();
    for (let id = 2; id < 2_000; id++) child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`);
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  });
});
