import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { script } from "../../core/discovery/fixture/publisher.ts";
import type { JsonObject } from "../../core/json.ts";
import { startLoopbackPublisher } from "../fixture/loopback-publisher.ts";
import { run } from "../fixture/running.ts";
import { runSkillgate } from "../program.ts";
import { readAnswer, type ToolField, toolFields } from "./tool-fields.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skillgate-calling-"));
  expect((await run(["init", "site"], { cwd: folder })).code).toBe(0);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const call = (args: readonly string[], input: string | Buffer = "") => run(["call", ...args], { cwd: folder, input });

describe("call", () => {
  it("prints the result of a tool, of a folder or of an origin, as JSON alone", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "sum", scope: "math" });
    const { origin } = site.publisher;
    expect(await call([origin, "math__sum", '{"a":40,"b":2}'])).toEqual({ code: 0, stdout: "42", stderr: "" });
    expect(await call([origin, "math__sum", "-"], '{"a": 1,\n"b": 2}')).toEqual({ code: 0, stdout: "3", stderr: "" });
    const greeted = await call(["site", "hello", '{"name":"Ada"}']);
    expect([greeted.code, JSON.parse(greeted.stdout), greeted.stderr]).toEqual([0, { greeting: "Hello, Ada!" }, ""]);
    expect((await call(["site", "get_skill_guide", '{"name":"hello"}'])).stdout).toContain("\n# Greet somebody\n");
  });

  it("ends with 1 and no result where the tool or its origin fails", async () => {
    await using site = await startLoopbackPublisher();
    const { publisher } = site;
    await publisher.skill({ name: "sum" });
    await publisher.skill({
      name: "throws",
      source: script("throws", 'handler() { throw new Error("\\u001b[2Jno") }'),
    });
    await publisher.skill({ name: "odd", source: script("odd", 'handler: () => "\\u009b2J\\u202e\\u{e0001}"') });
    const wrong = await call([publisher.origin, "sum", '{"a":"x","b":2}']);
    expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Invalid arguments at /a") });
    expect(await call([publisher.origin, "throws"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("\\u{1b}[2Jno"),
    });
    const odd = await call([publisher.origin, "odd"]);
    expect(odd.stdout).toBe('"\\u009b2J\\u202e\\udb40\\udc01"');
    expect(JSON.parse(odd.stdout)).toBe("\u009b2J\u202e\u{e0001}");
    publisher.put("/llms.txt", new Response("gone", { status: 404 }));
    expect(await call([publisher.origin, "sum"])).toMatchObject({
      code: 4,
      stdout: "",
      stderr: expect.stringContaining("origin_unreachable"),
    });
  });

  it("ends with 3 where the tool is refused, 4 where nobody answers, 2 for what is not UTF-8", async () => {
    await using site = await startLoopbackPublisher();
    const { publisher } = site;
    const spoilt = { name: "spoilt", metadata: { tool_sha256: "0".repeat(64) } };
    await publisher.skill(spoilt);
    const nothing = await call([publisher.origin, "other"]);
    expect(nothing).toMatchObject({ code: 3, stderr: expect.stringContaining("nothing_served") });
    await publisher.skill({ name: "sum" });
    const refused = await call([publisher.origin, "spoilt"]);
    expect(refused).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("tool_refused: The tool spoilt is not served: hash_mismatch"),
    });
    expect((await call([publisher.origin, "other"])).code).toBe(2);
    expect(await call(["http://127.0.0.1:1", "sum"])).toMatchObject({ code: 4, stdout: "" });
    expect((await call([publisher.origin, "sum", '{"a":"\uFFFD"}'])).stderr).toContain("not valid UTF-8");
    const piped = await call([publisher.origin, "sum", "-"], Buffer.from('{"a":"\xff"}', "latin1"));
    expect(piped).toMatchObject({ code: 2, stderr: expect.stringContaining("not valid UTF-8") });
  });

  it("ends with 2 where the command line is wrong", async () => {
    await using site = await startLoopbackPublisher();
    await site.publisher.skill({ name: "sum" });
    await site.publisher.skill({ name: "bad", metadata: { tool_sha256: "0".repeat(64) } });
    const { origin } = site.publisher;
    const attempts: readonly (readonly [readonly string[], string, string?])[] = [
      [[origin, "sum", "{"], "bad_value: The arguments are not JSON"],
      [[origin, "sum", "[1]"], "must be a JSON object"],
      [[origin, "sum", "-"], "bad_value", "nonsense"],
      [[origin, "sum", "-"], "1048576 bytes, the limit", " ".repeat(1024 * 1024 + 1)],
      [[origin, "sun", "{}"], "There is no tool sun; there is sum."],
      [["absent", "sum"], "bad_origin"],
      [[origin], "missing required argument 'tool'"],
    ];
    for (const [args, sentence, input] of attempts) {
      expect(await call(args, input), sentence).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(sentence),
      });
    }
  });
});

it("runs as a command of its own: arguments from a pipe, the result and nothing else on stdout", () => {
  const command = join(import.meta.dirname, "../skillgate.ts");
  const ran = spawnSync(process.execPath, [command, "call", "site", "hello", "-"], {
    ...{ cwd: folder, input: '{"name":"Ada"}', encoding: "utf8" },
  });
  expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, '{\n  "greeting": "Hello, Ada!"\n}\n', ""]);
});

describe("the questions of a schema", () => {
  const fieldsOf = (properties: JsonObject, more: JsonObject = {}) =>
    toolFields({ type: "object", properties, ...more }) ?? [];
  const field = (property: JsonObject, required = false) =>
    fieldsOf({ x: property }, required ? { required: ["x"] } : {})[0] as ToolField;

  it.each<[JsonObject, boolean, string, unknown]>([
    [{ type: "string" }, true, "two words ", "two words"],
    [{ type: "string" }, true, '""', ""],
    [{ type: "string" }, true, "42", "42"],
    [{ type: "string" }, false, "", undefined],
    [{ type: "string", default: "d" }, true, "", "d"],
    [{ type: "number" }, true, "-1.5e3", -1500],
    [{ type: "integer" }, true, "7", 7],
    [{ type: "boolean" }, true, "Yes", true],
    [{ type: "boolean" }, true, "false", false],
    [{ type: ["integer", "null"] }, true, "null", null],
    [{ type: ["string", "number"] }, true, "1", 1],
    [{ enum: ["warm", "formal"] }, true, "formal", "formal"],
    [{ enum: [1, 2, null] }, true, "null", null],
    [{ const: "only" }, true, "only", "only"],
    [{ type: "object", properties: { a: {} } }, true, '{"a": [1]}', { a: [1] }],
    [{ items: { type: "string" } }, true, '["a"]', ["a"]],
    [{}, true, "free text", "free text"],
    [{}, true, "[1]", [1]],
  ])("%j (required: %s): %j gives %j", (property, required, typed, value) => {
    expect(readAnswer(field(property, required), typed)).toEqual({ ok: true, value });
  });

  it.each<[JsonObject, string, string]>([
    [{ type: "string" }, "", 'x is required. Type "" for an empty text.'],
    [{ type: "number" }, "1e999", "x must be number."],
    [{ type: "number" }, "0x10", "x must be number."],
    [{ type: "integer" }, "1.5", "x must be whole number."],
    [{ type: "boolean" }, "maybe", "x must be yes or no."],
    [{ enum: ["warm", "formal"] }, "cold", "x must be one of warm, formal."],
    [{ type: "array" }, "{}", "x must be JSON array."],
  ])("%j: %j is asked for again", (property, typed, message) => {
    expect(readAnswer(field(property, true), typed)).toEqual({ ok: false, message });
  });

  it("follow references into the schema, and are one for schemas that name no arguments", () => {
    const schema = { $defs: { "a/b": { type: "integer" }, loop: { $ref: "#/$defs/loop" } } };
    const properties = { x: { $ref: "#/$defs/a~1b" }, y: { $ref: "#/$defs/loop" }, z: { $ref: "https://x.example" } };
    expect(fieldsOf(properties, schema).map(({ kinds }) => kinds)).toEqual([["integer"], [], []]);
    expect(toolFields({ type: "object" })).toEqual([]);
    expect(toolFields({ type: "object", additionalProperties: false })).toEqual([]);
    expect(toolFields({ type: "object", additionalProperties: { type: "number" } })).toBeNull();
    expect(toolFields({ type: "object", oneOf: [] })).toBeNull();
  });
});

/** `skillgate dev` as a script uses it: each line is written once what came before has been answered. */
async function dev(...args: string[]) {
  const input = new PassThrough();
  const seen: string[] = [];
  let look = () => {};
  const add = (line: string) => {
    seen.push(line);
    look();
  };
  const ended = runSkillgate(["dev", "site", "--port", "0", ...args], {
    ...{ print: add, report: add, env: {}, cwd: folder, now: Date.now, input },
  });
  return {
    ended,
    seen,
    type: (line: string) => input.write(`${line}\n`),
    end: () => input.end(),
    /** Waits for a line after those that were waited for before. */
    async until(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = seen.findIndex((line) => pattern.test(line));
        if (found !== -1) return seen.splice(0, found + 1).at(-1) ?? "";
        await new Promise<void>((done) => {
          look = done;
        });
      }
    },
  };
}

describe("dev", () => {
  it("serves, asks for a tool's arguments, calls it, and builds and lists anew when a file changes", async () => {
    const session = await dev();
    const origin = /http:\S+/.exec(await session.until(/^Serving site at/))?.[0] ?? "";
    expect(await session.until(/^To add it/)).toContain(`npx -y skillgate ${origin}`);
    await session.until(/^Tools: hello/);
    session.type("hello");
    await session.until(/^name \(text\): Whom to greet\.$/);
    session.type("");
    await session.until(/^name is required/);
    session.type("Ada");
    await session.until(/^style \(warm, formal; default "warm"\)/);
    session.type("formal");
    expect(JSON.parse(await session.until(/^\{/))).toEqual({ greeting: "Good day, Ada." });
    expect(await session.until(/gas/)).toMatch(/^ok, \d+ gas, \d+ ms$/);
    session.type('hello {"name": 1}');
    await session.until(/^Invalid arguments at \/name/);
    session.type("nothing");
    await session.until(/^There is no tool nothing/);
    session.type('hello {"name": "\uFFFD"}');
    await session.until(/^The line is not valid UTF-8/);
    session.type("hello {");
    await session.until(/not JSON/);

    const tool = join(folder, "site/skills/hello/tool.js");
    await writeFile(
      tool,
      script("hello", 'description: "New.", handler: () => "changed"').replace("handler: () => 1, ", ""),
    );
    await session.until(/^changed: skills\/hello\/tool\.js$/);
    await session.until(/^wrote llms\.txt$/);
    await session.until(/^Tools: hello/);
    session.type("hello");
    expect(await session.until(/^"/)).toBe('"changed"');
    expect(await (await fetch(`${origin}/llms.txt`)).text()).toContain("tool_sha256");

    await writeFile(tool, "registerTool({");
    await session.until(/^failure: skills\/hello\/tool\.js: load_failed/);
    session.end();
    expect(await session.ended).toBe(0);
    await expect(fetch(origin)).rejects.toThrow();
  });
});
