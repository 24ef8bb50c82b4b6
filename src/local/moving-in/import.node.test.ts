import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sha256Of } from "../../core/discovery/fixture/publisher.ts";
import { type LoopbackGateway, startLoopbackGateway } from "../fixture/loopback-gateway.ts";
import { run } from "../fixture/running.ts";

const OLD_TOKEN = "the-token-of-the-old-gateway";

const item = (name: string, status: string, code: string | null = null) => ({
  ...{ name, status, code },
  message: code === null ? null : "It cannot be read.",
});
const answerOf = (status: string, code: string | null = null) => ({
  clients: [item("first", "exists")],
  origins: [item("https://a.example", status, code)],
  reviewers: [],
});

let cwd: string;
let gateway: LoopbackGateway;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "skillgate-import-"));
  gateway = await startLoopbackGateway();
  gateway.answer(200, JSON.stringify(answerOf("created")));
});

afterEach(async () => {
  await gateway[Symbol.asyncDispose]();
  await rm(cwd, { recursive: true, force: true });
});

const moveIn = (...flags: string[]) =>
  run(["import", "--gateway", gateway.url, ...flags], { cwd, env: { SKILLGATE_ADMIN_TOKEN: "adm_of-a-test" } });

it("shows first and moves after, each value from the command line or from a file", async () => {
  const clients = { [await sha256Of("a token")]: { client_id: "first", rpm: 60 } };
  const reviewers = { "human:ada": { public_key: "AAAA", registered_at: "2026-01-01" } };
  await writeFile(join(cwd, "clients.json"), JSON.stringify(clients));
  await writeFile(join(cwd, "token"), `${OLD_TOKEN}\n`);
  const flags = [
    ...["--clients", "@clients.json", "--auth-token", "@token"],
    ...["--allowed-origins", " https://a.example, https://b.example/ ,", "--reviewers", JSON.stringify(reviewers)],
  ];
  const shown = await moveIn(...flags);
  expect(shown.code).toBe(0);
  expect(shown.stdout.split("\n").map((row) => row.split(/ {2,}/))).toEqual([
    ["what", "name", "status", "why"],
    ["client", "first", "exists"],
    ["origin", "https://a.example", "created"],
  ]);
  expect(shown.stderr).toContain("Nothing is changed yet");
  expect((await moveIn(...flags, "--apply")).code).toBe(0);

  const body = {
    clients,
    authTokenSha256: await sha256Of(OLD_TOKEN),
    allowedOrigins: ["https://a.example", "https://b.example/"],
    reviewers,
  };
  expect(gateway.asked).toEqual([
    { path: "/admin/api/v1/import?dryRun=true", token: "Bearer adm_of-a-test", body },
    { path: "/admin/api/v1/import", token: "Bearer adm_of-a-test", body },
  ]);
  expect(JSON.stringify([shown, gateway.asked])).not.toContain(OLD_TOKEN);
});

it.each([
  [[], "usage"],
  [["--clients", "{"], "bad_value"],
  [["--clients", "[]"], "bad_value"],
  [["--reviewers", "null"], "bad_value"],
  [["--clients", "clients.json"], "bad_value"],
  [["--clients", "@absent.json"], "bad_file"],
  [["--auth-token", ""], "bad_value"],
])("asks nothing of the gateway for %j, which is %s", async (flags, code) => {
  const ran = await moveIn(...flags);
  expect(ran).toMatchObject({ code: 2, stdout: "" });
  expect(ran.stderr).toContain(`skillgate: ${code}: `);
  expect(gateway.asked).toEqual([]);
});

it("ends with 1 where something was refused, and says why", async () => {
  gateway.answer(200, JSON.stringify(answerOf("refused", "bad_origin")));
  const ran = await moveIn("--allowed-origins", "a.example");
  expect([ran.code, ran.stdout]).toEqual([1, expect.stringContaining("refused  bad_origin: It cannot be read.")]);
  const asJson = await moveIn("--allowed-origins", "a.example", "--json");
  expect(JSON.parse(asJson.stdout)).toEqual(answerOf("refused", "bad_origin"));
  gateway.answer(200, "{}");
  expect((await moveIn("--allowed-origins", "a.example")).stderr).toContain("gateway_refused");
});

it("passes on why the gateway refused", async () => {
  gateway.answer(400, JSON.stringify({ code: "bad_request", detail: "The field `clients` is not right." }));
  const ran = await moveIn("--clients", "{}");
  expect([ran.code, ran.stderr]).toEqual([
    1,
    "skillgate: gateway_refused: The gateway answered 400 to POST /import?dryRun=true: bad_request: The field `clients` is not right.",
  ]);
});
