import { createHash } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attestationEntry } from "../../src/core/attestation/attestation.ts";
import { addDays, calendarDateOf } from "../../src/core/attestation/calendar-date.ts";
import { createReviewer, forged } from "../../src/core/attestation/fixture/reviewing.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { MODERN_META } from "../../src/core/mcp/fixture/exchange.ts";
import { buildSnapshot } from "../../src/core/memory/building/build-snapshot.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";
import { buildPackage } from "../../src/dev/package/build.ts";
import { type Expected, MATRIX, type MatrixCase, SEARCHING } from "../matrix/cases.ts";
import { answerOfSite } from "../matrix/site.ts";
import { type BareGateway, startBareGateway } from "./bare-gateway.ts";
import { HAS_CHROMIUM, launchChromium } from "./console-page.ts";
import {
  openLibraryPage,
  type Served,
  type ServedSite,
  servedByCommand,
  servedByGateway,
  servedByHost,
  servedInNode,
  servedInPage,
} from "./matrix-ways.ts";
import { skill, startTestPublisher, type TestPublisher, type TestSkill, toolFile } from "./test-publisher.ts";

const TODAY = calendarDateOf(Date.now());
const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex") as Sha256Hex;

const SNAPSHOT = buildSnapshot([
  {
    path: "refunds.md",
    text: "# Refunds\n\nRefunds are paid within thirty days of the purchase, to the card that was used.\n",
  },
  {
    path: "shipping.md",
    text: "# Shipping\n\nParcels leave within two days; those to islands take the weekly boat instead.\n",
  },
]).bytes;

/** Skills that are left out, each for a reason of its own. */
const REFUSED: readonly TestSkill[] = [
  skill("other_bytes", "return 1", { servedTool: toolFile("other_bytes", "return 2") }),
  skill("elsewhere", "return 1", { toolUrl: "https://elsewhere.example/tool.js" }),
  skill("led_away", "return 1", { toolUrl: "/api/missing" }),
  { name: "no_script", tool: "registerTool({" },
  { name: "another_name", tool: toolFile("good", "return 1") },
  { name: "twice", tool: toolFile("twice", "return 1").repeat(2) },
  { name: "asks_early", tool: `host.fetchOrigin("/x"); ${toolFile("asks_early", "return 1")}` },
  { name: "keeps_much", tool: `globalThis.kept = "x".repeat(3e6); ${toolFile("keeps_much", "return 1")}` },
  { name: "no_schema", tool: 'registerTool({ name: "no_schema", inputSchema: { type: "thing" }, handler() {} })' },
];

const RECIPES: readonly TestSkill[] = [
  skill("with_recipe", "return 1", { recipe: "# How to\r\n\nUse it: ä 😀\n" }),
  skill("changed_recipe", "return 1", { recipe: "# As declared\n" }),
];

let gateway: BareGateway;
let browser: Browser;
let page: Page;
let site: TestPublisher;
let vouched: TestPublisher;
const ways: Served[] = [];
const attested: Served[] = [];
const endings: (() => PromiseLike<unknown>)[] = [];

async function serveEverywhere(served: ServedSite): Promise<readonly Served[]> {
  const command = await servedByCommand(served);
  endings.push(() => command[Symbol.asyncDispose]());
  return [
    await servedByGateway(gateway, served),
    command,
    await servedInNode(served),
    ...(HAS_CHROMIUM ? [await servedInPage(page, served)] : []),
  ];
}

beforeAll(async () => {
  await buildPackage();
  gateway = await startBareGateway();
  endings.push(() => gateway.stop());
  if (HAS_CHROMIUM) {
    browser = await launchChromium();
    endings.push(() => browser.close());
    page = await openLibraryPage(browser);
  }
  site = await startTestPublisher({
    skills: [...MATRIX.map(({ scope, source }) => ({ name: "t", scope, tool: source })), ...RECIPES, ...REFUSED],
    moreLines: SEARCHING.map(({ scope }) => {
      const memory = {
        scope,
        snapshot: "/memory.json",
        snapshot_sha256: sha256(SNAPSHOT),
        format: "minimemory-okf-v1",
      };
      return `\n<!-- skills-memory: ${JSON.stringify(memory)} -->`;
    }),
    api: answerOfSite,
    isOpenToPages: true,
  });
  endings.push(() => site.stop());
  site.put("/memory.json", Buffer.from(SNAPSHOT).toString());
  site.put("/skills/changed_recipe/SKILL.md", "# As served\n");
  ways.push(...(await serveEverywhere(site)));
  vouched = await startTestPublisher({ skills: ATTESTED, isOpenToPages: true });
  endings.push(() => vouched.stop());
  attested.push(...(await serveEverywhere({ origin: vouched.origin, reviewer: await publishAttestations(vouched) })));
});

afterAll(async () => {
  for (const end of endings.toReversed()) await end();
});

let id = 0;
const message = (method: string, params: JsonObject) => ({ id: ++id, method, params });

/** All answers are the first one's, byte for byte. */
async function askAll(served: readonly Served[], method: string, params: JsonObject): Promise<string> {
  const asked = message(method, params);
  const answers = await Promise.all(served.map(async (one) => [one.way, await one.ask(asked)] as const));
  const [[, first]] = answers as [(typeof answers)[number]];
  expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(answers.map(([way]) => [way, first])));
  return first;
}

const PAGE = HAS_CHROMIUM ? "a page" : "no page (no Chromium found; set CHROMIUM_PATH)";

describe(`the same answer in the gateway, the command, the library in Node and ${PAGE}`, () => {
  it.each(MATRIX.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const memory = SEARCHING.includes(one) ? SNAPSHOT : undefined;
    const served = [...ways, await servedByHost(site, one, memory)];
    const params = {
      name: `${one.scope}__t`,
      arguments: one.arguments,
      ...(one.era === "modern" ? { _meta: MODERN_META } : {}),
    };
    const isOther = ({ way }: Served) => one.differs.some(({ ways }) => ways.includes(way));
    const answer = await askAll(
      served.filter((each) => !isOther(each)),
      "tools/call",
      params,
    );
    expectAnswer(answer, one.expected, one);
    for (const each of served.filter(isOther)) {
      const { expected } = one.differs.find(({ ways }) => ways.includes(each.way)) as MatrixCase["differs"][number];
      expectAnswer(await each.ask(message("tools/call", params)), expected, one);
    }
  });
});

function expectAnswer(text: string, expected: Expected, { era }: MatrixCase): void {
  const { result } = JSON.parse(text);
  if ("value" in expected) {
    const { value } = expected;
    expect(result).toMatchObject({ isError: false, content: [{ type: "text", text: JSON.stringify(value) }] });
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    expect(result.structuredContent).toEqual(isObject || era === "modern" ? value : { result: value });
  } else if (!("same" in expected)) {
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toMatch("error" in expected ? expected.error : /./);
  }
}

/** What clients are told of a tool. A page's tools carry their hash too, and the guide of the recipes is no skill of the site. */
const definitions = (answer: string) =>
  JSON.parse(answer)
    .result.tools.filter(({ name }: { name: string }) => name !== "get_skill_guide")
    .map(({ verified_sha256: _, ...tool }: JsonObject) => JSON.stringify(tool));

async function expectSameTools(served: readonly Served[]): Promise<readonly string[]> {
  const lists = await Promise.all(
    served.map(async (one) => [one.way, definitions(await one.ask(message("tools/list", {})))]),
  );
  const [[, first]] = lists as [[string, readonly string[]]];
  expect(Object.fromEntries(lists)).toEqual(Object.fromEntries(lists.map(([way]) => [way, first])));
  return first.map((tool) => JSON.parse(tool).name);
}

it("the same tools are listed everywhere, in the same words", async () => {
  const names = await expectSameTools(ways);
  expect(names).toEqual([...MATRIX.map(({ scope }) => `${scope}__t`), "with_recipe", "changed_recipe"]);
});

it("the same skills are refused everywhere, for the same reasons", () => {
  for (const { way, rejected } of ways) {
    expect([way, rejected]).toEqual([
      way,
      [
        "changed_recipe: hash_mismatch",
        "other_bytes: hash_mismatch",
        "elsewhere: outside_origin",
        "led_away: http_status",
        "no_script: load_failed",
        "another_name: name_mismatch",
        "twice: several_registrations",
        "asks_early: load_failed",
        "keeps_much: image_too_large",
        "no_schema: bad_schema",
      ],
    ]);
  }
});

it("a recipe is the same text everywhere, and one that changed is nowhere", async () => {
  const [overHttp, overStdio, ...inPrograms] = ways as [Served, Served, ...Served[]];
  const clients = [overHttp, overStdio];
  const recipe = RECIPES[0]?.recipe;
  const read = await askAll(clients, "resources/read", { uri: "skill://with_recipe" });
  expect(JSON.parse(read).result.contents).toMatchObject([{ text: recipe }]);
  expect(JSON.parse(await askAll(clients, "resources/list", {})).result.resources).toHaveLength(1);
  const guide = await askAll(clients, "tools/call", { name: "get_skill_guide", arguments: { name: "with_recipe" } });
  expect(JSON.parse(guide).result.content).toMatchObject([{ text: recipe }]);
  for (const program of inPrograms) expect(program).toMatchObject({ recipes: { with_recipe: recipe } });
});

it.each([
  ["an unknown tool", { name: "nobody", arguments: {} }],
  ["a tool without its scope", { name: "t" }],
  ["no name", {}],
  ["arguments that are no object", { name: "with_recipe", arguments: [1] }],
])("%s is the same error everywhere", async (_, params) => {
  expect(JSON.parse(await askAll(ways, "tools/call", params))).toMatchObject({ error: { code: -32_602 } });
});

it.runIf(HAS_CHROMIUM)("the demo page of the gateway verifies the site and calls its tools", async () => {
  const demo = await browser.newPage();
  await demo.goto(`${gateway.url}/demo?origin=${encodeURIComponent(vouched.origin)}`);
  await demo
    .getByRole("status")
    .filter({ hasText: `Connected: ${ATTESTED.length} verified tools, 0 refused.` })
    .waitFor();
  expect(await demo.getByRole("region", { name: "Verification log" }).textContent()).toContain("Verified unvouched");
  await demo.getByRole("button", { name: "Call unvouched" }).click();
  await demo.getByText('"unvouched"').waitFor();
  await demo.close();
});

const ATTESTED = ["vouched", "forged", "expired", "of_other_bytes", "of_a_stranger", "unvouched"].map((name) =>
  skill(name, `return ${JSON.stringify(name)}`),
);

/** One attestation counts; each of the others has a flaw of its own. */
async function publishAttestations({ origin, put }: TestPublisher): Promise<NonNullable<ServedSite["reviewer"]>> {
  const [ada, eve] = await Promise.all([createReviewer("human:ada"), createReviewer("human:eve")]);
  const claim = (name: string) => ({
    origin: origin as CanonicalOrigin,
    skill: name,
    toolSha256: sha256(ATTESTED.find((each) => each.name === name)?.tool ?? ""),
    signedOn: addDays(TODAY, -10),
    validUntil: addDays(TODAY, 10),
  });
  const entries = await Promise.all([
    ada.sign(claim("vouched")),
    ada.sign(claim("forged")).then(forged),
    ada.sign({ ...claim("expired"), validUntil: addDays(TODAY, -2) }),
    ada.sign({ ...claim("of_other_bytes"), toolSha256: "a".repeat(64) as Sha256Hex }),
    eve.sign(claim("of_a_stranger")),
  ]);
  put("/.well-known/agent-skills/attestations.json", JSON.stringify(entries.map(attestationEntry)));
  const { attester, key } = ada.reviewer;
  if (key.kind !== "ed25519") throw new Error("The reviewer has no key.");
  return { attester, publicKey: key.publicKey };
}

describe("where attestations are demanded", () => {
  it("the same skill is served everywhere, and none but that one", async () => {
    expect(await expectSameTools(attested)).toEqual(["vouched"]);
    expect(JSON.parse(await askAll(attested, "tools/call", { name: "vouched" }))).toMatchObject({
      result: { structuredContent: { result: "vouched" } },
    });
  });

  it("a call of another is the same error everywhere, of which the command alone tells the reason", async () => {
    const [overHttp, command, ...programs] = attested as [Served, Served, ...Served[]];
    for (const { name } of ATTESTED.slice(1)) {
      const call = { name, arguments: {} };
      const unknown = { code: -32_602, message: `Unknown tool: ${name}` };
      expect(JSON.parse(await askAll([overHttp, ...programs], "tools/call", call)).error).toEqual(unknown);
      // Whoever runs the command demanded it; of a gateway's reasons its clients are told nothing.
      const told = `${unknown.message}. It is not served at this moment (not_attested).`;
      expect(JSON.parse(await command.ask(message("tools/call", call))).error).toEqual({ ...unknown, message: told });
    }
  });

  it("the command and the library refuse the others for the same reasons", () => {
    const [, command, ...programs] = attested as [Served, Served, ...Served[]];
    for (const { rejected } of programs) expect(rejected).toEqual(command.rejected);
    const others = ATTESTED.slice(1).map(({ name }) => `${name}: not_attested`);
    expect(command.rejected).toEqual(others);
  });
});
