import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { adder, sha256Of } from "../../core/discovery/fixture/publisher.ts";
import { run } from "../fixture/running.ts";
import { startSession, toolNames } from "./fixture/session.ts";

async function writeSkills(folder: string, ...names: readonly string[]): Promise<void> {
  const lines = names.map(async (name) => {
    const source = adder(name);
    await writeFile(join(folder, `${name}.js`), source);
    return `- [${name}](): Adds. <!-- skill: {"tool":"${name}.js","tool_sha256":"${await sha256Of(source)}"} -->`;
  });
  await writeFile(join(folder, "llms.txt"), `## Skills\n${(await Promise.all(lines)).join("\n")}\n`);
}

it("serves a folder over MCP, and tells a client when its files change what there is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skillgate it's a $HOME-"));
  await writeSkills(folder, "one");
  const client = startSession(["--serve", ".", "--json-logs"], { cwd: folder });
  try {
    await client.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    });
    client.send({ method: "notifications/initialized" });
    expect(toolNames(await client.ask("tools/list"))).toEqual(["one"]);
    expect(await client.ask("tools/call", { name: "one", arguments: { a: 40, b: 2 } })).toMatchObject({
      result: { structuredContent: { result: 42 } },
    });
    const told = client.next(({ method }) => method === "notifications/tools/list_changed");
    await writeSkills(folder, "one", "two");
    await told;
    expect(toolNames(await client.ask("tools/list"))).toEqual(["one", "two"]);
    const edited = client.next(({ method }) => method === "notifications/tools/list_changed");
    await writeFile(join(folder, "one.js"), `${adder("one")} // edited, and not built`);
    await edited;
    expect(toolNames(await client.ask("tools/list"))).toEqual(["two"]);
    const logs = client.stderr.map((line) => JSON.parse(line) as { event: string; origin?: string; message: string });
    const { origin = "" } = logs.find(({ event }) => event === "serving") ?? {};
    expect(logs.find(({ event }) => event === "rejected")?.message).toContain("rejected the skill one: hash_mismatch");
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(logs.find(({ event }) => event === "adding")?.message).toContain(
      `-- npx -y skillgate --serve '${folder.replace("'", "'\\''")}'`,
    );
    expect(await (await fetch(`${origin}/llms.txt`)).text()).toContain("[two]");
    expect(await client.end()).toBe(0);
    await expect(fetch(origin)).rejects.toThrow();
  } finally {
    client.terminate();
    await client.code;
    await rm(folder, { recursive: true });
  }
});

it.each([
  [["--serve", "/absent"], "bad_file"],
  [["--serve", ".", "https://publisher.example"], "takes the place of origins"],
  [["--port", "1", "https://publisher.example"], "--port needs --serve"],
  [["--serve", ".", "--port", "65536"], "0 to 65535"],
  [["--serve", ".", "--lock", "skills.lock"], "--lock needs a --port"],
])("ends with 2 for %j", async (args, sentence) => {
  expect(await run(args, { cwd: tmpdir() })).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});
