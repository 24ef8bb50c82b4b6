import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { JSON_SCHEMA_2020_12 } from "../conformance/fixture-data.ts";
import { expectedFailures, type Revision, runConformance } from "../conformance/run.ts";
import { startTestPublisher, type TestPublisher, type TestSkill } from "./test-publisher.ts";

/**
 * What no `tool.js` can produce, so that the suite proves it against the fixture Worker alone, which mounts the same MCP core
 * (`conformance-fixture.test.ts`). Every other scenario of both revisions passes through the gateway here.
 */
const FIXTURE_ONLY: Readonly<Record<string, string>> = {
  "tools-call-image": "a tool returns JSON, never an image block",
  "tools-call-audio": "a tool returns JSON, never an audio block",
  "tools-call-embedded-resource": "a tool returns JSON, never a resource block",
  "tools-call-mixed-content": "a tool returns JSON, never several blocks",
  "tools-call-with-progress": "a tool cannot report progress",
  "resources-read-text": "the only resources are recipes; the suite reads test:// resources",
  "resources-read-binary": "the only resources are recipes; the suite reads test:// resources",
  "resources-templates-read": "there are no resource templates",
};

/** Scenarios of the modern revision in which single checks ask for what no `tool.js` can do, with the number of these checks. */
const PARTLY_FIXTURE_ONLY: Readonly<Record<string, { checks: number; reason: string }>> = {
  "server-stateless": { checks: 2, reason: "a tool cannot demand a capability of the client (-32021)" },
};

/** Scenarios that must have run and passed: those that the suite does not score, and those whose absence it would not notice. */
const MUST_PASS: Readonly<Record<Revision | "both", readonly string[]>> = {
  both: [
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "json-schema-2020-12",
    "dns-rebinding-protection",
  ],
  "2025-11-25": ["server-initialize", "ping"],
  "2026-07-28": [
    "caching",
    "sep-2164-resource-not-found",
    "http-header-validation",
    "http-custom-header-server-validation",
  ],
};

function plain(name: string, body: string, inputSchema: object = { type: "object" }): TestSkill {
  const definition = `name: "${name}", description: "A test.", inputSchema: ${JSON.stringify(inputSchema)}`;
  return { name, tool: `registerTool({ ${definition}, handler(args) { ${body} } });\n` };
}

function withRecipe(name: string, inputSchema: object, body: string): TestSkill {
  return { ...plain(name, body, inputSchema), recipe: `---\nname: ${name}\ndescription: A test.\n---\nCall it.\n` };
}

/** The tools that the suite calls by name, as far as they are skills. */
const SKILLS: readonly TestSkill[] = [
  withRecipe("test_simple_text", { type: "object" }, `return "This is a simple text response for testing.";`),
  plain("test_error_handling", `throw new Error("This tool intentionally returns an error for testing");`),
  withRecipe("json_schema_2020_12_tool", JSON_SCHEMA_2020_12, "return null;"),
  withRecipe(
    "test_x_mcp_header",
    { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } }, required: ["region"] },
    `return "Region: " + args.region;`,
  ),
  plain("test_logging_tool", "return null;"),
  plain("test_streaming_elicitation", "return null;"),
];

let stack: Stack;
let publisher: TestPublisher;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "conformance-baseline-"));
  publisher = await startTestPublisher({ skills: SKILLS });
  stack = await startStack({ port: 0 });
  await onboardOrigin(new AdminClient(stack.url, stack.adminToken), publisher.origin);
});

afterAll(async () => {
  await stack?.stop();
  await publisher?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The suite's baseline with the scenarios that belong to the fixture: one of them that passed here would fail the run too. */
async function baseline(revision: Revision): Promise<string> {
  const path = join(folder, `${revision}.yaml`);
  const partly = revision === "2026-07-28" ? Object.keys(PARTLY_FIXTURE_ONLY) : [];
  const lines = [...Object.keys(FIXTURE_ONLY), ...partly].map((scenario) => `  - ${scenario}\n`);
  await writeFile(path, `${(await readFile(expectedFailures(revision), "utf8")).trimEnd()}\n${lines.join("")}`);
  return path;
}

describe("the official conformance suite, through the gateway", () => {
  it.each(["2025-11-25", "2026-07-28"] as const)(
    "passes every scenario of %s that a tool.js can produce",
    // The suite waits 800 ms for the answer to `subscriptions/listen`, by its own clock: on a busy machine it may run once more.
    { timeout: 150_000, retry: 1 },
    async (revision) => {
      const url = `${stack.url.replace("127.0.0.1", "localhost")}/mcp/${new URL(publisher.origin).host}`;
      const run = await runConformance({
        url,
        token: stack.clientToken,
        revision,
        expectedFailures: await baseline(revision),
      });
      expect(run.exitCode, run.output).toBe(0);
      expect(run.passed).toEqual(expect.arrayContaining([...MUST_PASS.both, ...MUST_PASS[revision]]));
      if (revision === "2025-11-25") return;
      for (const [scenario, { checks }] of Object.entries(PARTLY_FIXTURE_ONLY)) {
        expect(run.output).toMatch(new RegExp(`${scenario}: \\d+ passed, ${checks} failed`));
      }
    },
  );
});
