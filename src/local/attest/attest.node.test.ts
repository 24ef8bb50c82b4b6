import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adder, type Publisher, sha256Of } from "../../core/discovery/fixture/publisher.ts";
import type { JsonObject } from "../../core/json.ts";
import { startLoopbackGateway } from "../fixture/loopback-gateway.ts";
import { type LoopbackPublisher, startLoopbackPublisher } from "../fixture/loopback-publisher.ts";
import { NOON, run } from "../fixture/running.ts";

const DAY_MS = 86_400_000;
const TOKEN = "adm_a-token-of-a-test";

let cwd: string;
let site: LoopbackPublisher;
let publisher: Publisher;
/** `human:ada=<key>` */
let reviewer: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "skillgate-attest-"));
  site = await startLoopbackPublisher("/REPO");
  publisher = site.publisher;
  await publisher.skill({ name: "sum" });
  await publisher.skill({ name: "sum", scope: "other" });
  await publisher.skill({ name: "tampered", metadata: { tool_sha256: "0".repeat(64) } });
  reviewer = (await attest("keygen", "--attester", "human:ada", "--out", "key.json")).stdout;
});

afterEach(async () => {
  await site[Symbol.asyncDispose]();
  await rm(cwd, { recursive: true, force: true });
});

const attest = (...args: string[]) => run(["attest", ...args], { cwd });
const sign = (...args: string[]) => attest("sign", publisher.origin, "--key", "key.json", ...args);
const verify = (subject: string, ...flags: string[]) =>
  attest("verify", subject, "--reviewer", reviewer, "--json", ...flags);
const standings = (stdout: string) => (JSON.parse(stdout) as { standing: string }[]).map(({ standing }) => standing);

/** Adds a file of the test's folder. */
async function write(path: string, content: string): Promise<void> {
  await mkdir(join(cwd, path, ".."), { recursive: true });
  await writeFile(join(cwd, path), content);
}

describe("keygen", () => {
  it("[10.2-attest] writes a key for its owner's eyes and never over another one", async () => {
    expect(reviewer).toMatch(/^human:ada=[A-Za-z0-9+/]{43}=$/);
    expect((await stat(join(cwd, "key.json"))).mode & 0o777).toBe(0o600);
    const before = await readFile(join(cwd, "key.json"), "utf8");
    const again = await attest("keygen", "--attester", "human:bob", "--out", "key.json");
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toContain("file_exists");
    expect(await readFile(join(cwd, "key.json"), "utf8")).toBe(before);

    await chmod(join(cwd, "key.json"), 0o644);
    const leftover = `key.json.${process.pid}.partial`;
    await write(leftover, "of another process");
    const forced = await attest("keygen", "--attester", "human:bob", "--out", "key.json", "--force");
    expect(forced.stdout).toMatch(/^human:bob=/);
    expect((await stat(join(cwd, "key.json"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(cwd, leftover), "utf8")).toBe("of another process");
  });

  it("prints no private key, and complains of a folder that is not there", async () => {
    const key = JSON.parse(await readFile(join(cwd, "key.json"), "utf8")) as { private_jwk: { d: string } };
    expect(reviewer).not.toContain(key.private_jwk.d);
    const ran = await attest("keygen", "--attester", "human:ada", "--out", "absent/key.json");
    expect([ran.code, ran.stderr]).toEqual([
      2,
      "skillgate: bad_file: The file absent/key.json cannot be written (ENOENT).",
    ]);
  });
});

describe("sign", () => {
  it("[10.2-attest] signs bytes that were downloaded, once for all scopes, and none with another hash", async () => {
    const ran = await sign("--all", "--days", "30", "--note", "read twice");
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("Not signed: tampered: hash_mismatch");
    expect(JSON.parse(ran.stdout)).toEqual([
      {
        origin: publisher.origin,
        skill: "sum",
        tool_sha256: await sha256Of(adder("sum")),
        attester: "human:ada",
        signed_on: "2026-03-01",
        valid_until: "2026-03-31",
        signature: expect.stringMatching(/^[A-Za-z0-9+/]{86}==$/),
        note: "read twice",
      },
    ]);
  });

  it.each([
    [["--until", "2026-02-30"], "bad_date"],
    [["--until", "2026-03-01"], "bad_date"],
    [["--until", "2025-12-31"], "bad_date"],
    [["--until", "2099-01-01"], "bad_date"],
    [["--until", "tomorrow"], "bad_date"],
    [["--days", "0"], "bad_date"],
    [["--days", "1e3"], "bad_date"],
    [["--days", "-1"], "bad_date"],
    [[], "usage"],
    [["--days", "1", "--until", "2026-03-02"], "usage"],
  ])("[10.2-attest] refuses %j: a real day in the future is wanted", async (flags, code) => {
    const ran = await sign("sum", ...flags);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(`skillgate: ${code}: `);
  });

  it.each([
    [["--days", "1"], "usage"],
    [["sum", "--all", "--days", "1"], "usage"],
    [["sums", "--days", "1"], "unknown_skill"],
    [["sum", "--scope", "absent", "--days", "1"], "unknown_skill"],
    [["--all", "--scope", "absent", "--days", "1"], "unknown_skill"],
    [["sum", "--days", "1", "--merge", "absent.json"], "bad_file"],
    [["sum", "--days", "1", "--note", "x".repeat(5_000)], "usage"],
    [["sum", "--days", "1", "--upload", "http://gateway.example"], "usage"],
    [["sum", "--days", "1", "--upload", "https://gateway.example"], "no_token"],
    [["sum", "--days", "1", "--upload", "https://gateway.example", "--out", "x"], "usage"],
  ])("refuses %j with %s", async (flags, code) => {
    const ran = await sign(...flags);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(`skillgate: ${code}: `);
  });

  it("uses no key that others can read, and none that does not fit together", async () => {
    const key = JSON.parse(await readFile(join(cwd, "key.json"), "utf8")) as JsonObject;
    await chmod(join(cwd, "key.json"), 0o640);
    expect((await sign("sum", "--days", "1")).stderr).toContain("key_exposed");
    await chmod(join(cwd, "key.json"), 0o600);
    await write("key.json", JSON.stringify({ ...key, public_key: `${"A".repeat(43)}=` }));
    expect((await sign("sum", "--days", "1")).stderr).toContain("bad_key: The file key.json is not a key file");
    const other = await attest("keygen", "--attester", "human:ada", "--out", "other.json");
    expect(other.code).toBe(0);
    const { private_jwk } = JSON.parse(await readFile(join(cwd, "other.json"), "utf8")) as {
      private_jwk: { d: string };
    };
    const mixed = { ...(key.private_jwk as JsonObject), d: private_jwk.d };
    await write("key.json", JSON.stringify({ ...key, private_jwk: mixed }));
    expect((await sign("sum", "--days", "1")).stderr).toMatch(/bad_key: .*(do not belong together|not an Ed25519 key)/);
    await write("key.json", "{");
    expect((await sign("sum", "--days", "1")).stderr).toContain("bad_file: The file key.json is not valid JSON.");
  });

  it("merges: replaces its own older entry, and keeps others as they are", async () => {
    const other = { skill: "of another format", attester: 7 };
    await write("published.json", JSON.stringify([other]));
    const first = await sign("sum", "--days", "1", "--merge", "published.json", "--out", "published.json");
    expect(first).toMatchObject({ code: 0, stdout: "" });
    await sign("sum", "--days", "9", "--merge", "published.json", "--out", "published.json");
    const merged = JSON.parse(await readFile(join(cwd, "published.json"), "utf8")) as JsonObject[];
    expect(merged).toMatchObject([other, { skill: "sum", valid_until: "2026-03-10" }]);
  });
});

describe("sign, before the site is published", () => {
  const draft = adder("sum").replace("a + b", "b + a");

  it("takes llms.txt and scripts from a folder", async () => {
    const hash = await sha256Of(draft);
    const line = (name: string, path: string) =>
      `- [${name}](): Adds. <!-- skill: {"tool":"${path}","tool_sha256":"${hash}"} -->`;
    await write("out/llms.txt", `## Skills\n${line("sum", "/tools/a%20sum.js")}\n${line("lost", "/tools/lost.js")}\n`);
    await write("out/tools/a sum.js", draft);
    const ran = await sign("--all", "--days", "1", "--llms", "out/llms.txt");
    expect(JSON.parse(ran.stdout)).toMatchObject([{ skill: "sum", tool_sha256: hash }]);
    expect(ran.stderr).toContain("Not signed: lost: http_status");
    expect(ran.code).toBe(1);
  });

  it("reads no file outside of that folder, nor one that a gateway would refuse", async () => {
    const outside = adder("outside");
    await write("secret.js", outside);
    await write("out/large.js", `${adder("large")}//${" ".repeat(1_048_576)}`);
    const hashes = {
      "/..%2fsecret.js": await sha256Of(outside),
      "/large.js": await sha256Of(await readFile(join(cwd, "out/large.js"))),
      "/%zz.js": "0".repeat(64),
    };
    const lines = Object.entries(hashes).map(
      ([tool, hash]) => `- [sum](): Adds. <!-- skill: {"tool":"${tool}","tool_sha256":"${hash}"} -->`,
    );
    await write("out/llms.txt", `## Skills\n${lines.join("\n")}\n`);
    await using root = await startLoopbackPublisher();
    const args = ["attest", "sign", root.publisher.origin, "sum", "--key", "key.json", "--days", "1"];
    const ran = await run([...args, "--llms", "out/llms.txt"], { cwd });
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr.match(/Not signed: sum: http_status/g)).toHaveLength(3);
  });

  it("takes them out of a built Worker", async () => {
    const hash = await sha256Of(draft);
    const text = `## Skills\n- [sum](): Adds. <!-- skill: {"tool":"/sum.js","tool_sha256":"${hash}"} -->\n`;
    const files = `{"/sum.js": ${JSON.stringify(draft)}}`;
    await write(
      "worker.mjs",
      `const LLMS_TXT = \`${text}\`;\nconst FILES = ${files};\nexport default { LLMS_TXT, FILES };`,
    );
    const ran = await sign("sum", "--days", "1", "--from-worker", "worker.mjs");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject([{ skill: "sum", tool_sha256: hash }]);
    await write("worker.mjs", "export default {};");
    expect((await sign("sum", "--days", "1", "--from-worker", "worker.mjs")).stderr).toContain("has no string with");
    await write("worker.mjs", "not JavaScript");
    expect((await sign("sum", "--days", "1", "--from-worker", "worker.mjs")).stderr).toContain("is not JavaScript");
  });
});

describe("sign --upload", () => {
  it("posts the array with the operator's token, which nobody gets to see", async () => {
    const gateway = await startLoopbackGateway();
    const stored = { results: [{ index: 0, status: "accepted", standing: "unknown_attester" }] };
    gateway.answer(200, JSON.stringify(stored));
    const upload = [
      "attest",
      "sign",
      publisher.origin,
      "sum",
      "--key",
      "key.json",
      "--days",
      "1",
      "--upload",
      gateway.url,
    ];
    const env = { SKILLGATE_ADMIN_TOKEN: TOKEN };
    const ran = await run(upload, { cwd, env });
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toEqual(stored);
    expect(ran.stderr).toContain("Stored, but it does not count: entry 0: unknown attester.");
    const body = [{ skill: "sum", attester: "human:ada" }];
    expect(gateway.asked).toMatchObject([{ path: "/admin/api/v1/attestations", token: `Bearer ${TOKEN}`, body }]);

    const results = [{ index: 0, status: "refused", code: "wrong_signature", message: "It does not hold." }];
    gateway.answer(200, JSON.stringify({ results }));
    const partly = await run(upload, { cwd, env });
    expect([partly.code, partly.stderr]).toEqual([1, expect.stringContaining("Refused: entry 0: wrong_signature")]);

    gateway.answer(401, JSON.stringify({ code: "unauthorized", detail: "The token is not known." }));
    const refused = await run(upload, { cwd, env });
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toContain("gateway_refused: The gateway answered 401 to POST /attestations: unauthorized");
    gateway.answer(502, "<html>");
    expect((await run(upload, { cwd, env })).stderr).toContain("gateway_refused: The gateway answered 502");
    await gateway[Symbol.asyncDispose]();
    expect((await run(upload, { cwd, env })).stderr).toContain("gateway_unreachable");
    expect(JSON.stringify([ran, refused])).not.toContain(TOKEN);
  });
});

describe("verify", () => {
  it("checks a file and a site, on the day that it is", async () => {
    await sign("sum", "--days", "2", "--out", "attestations.json");
    const good = await verify("attestations.json");
    expect([good.code, standings(good.stdout)]).toEqual([0, ["attested"]]);

    const text = await readFile(join(cwd, "attestations.json"), "utf8");
    publisher.put("/.well-known/agent-skills/attestations.json", text);
    expect(standings((await verify(publisher.origin)).stdout)).toEqual(["attested"]);
    const at = (days: number) =>
      run(["attest", "verify", "attestations.json", "--reviewer", reviewer, "--json"], {
        cwd,
        now: NOON + days * DAY_MS,
      });
    expect(standings((await at(2)).stdout)).toEqual(["attested"]);
    expect(await at(3)).toMatchObject({ code: 1, stdout: expect.stringContaining('"expired"') });
    expect(standings((await at(-1)).stdout)).toEqual(["not_yet_valid"]);

    await using elsewhere = await startLoopbackPublisher();
    elsewhere.publisher.put("/.well-known/agent-skills/attestations.json", text);
    const copied = await verify(elsewhere.publisher.origin);
    expect([copied.code, standings(copied.stdout)]).toEqual([1, ["other_origin"]]);
  });

  it("tells a forged entry, an unknown attester and an entry that cannot be read", async () => {
    await sign("sum", "--days", "2", "--out", "attestations.json");
    const [entry] = JSON.parse(await readFile(join(cwd, "attestations.json"), "utf8")) as JsonObject[];
    const forged = { ...entry, valid_until: "2026-03-30" };
    await write("entries.json", JSON.stringify([forged, { ...entry, attester: "human:eve" }, { skill: "sum" }]));
    const ran = await verify("entries.json");
    expect([ran.code, standings(ran.stdout)]).toEqual([1, ["invalid", "unknown_attester"]]);
    expect(ran.stderr).toContain("Entry 2: missing_field");
  });

  it.each([
    [["absent.json", "--reviewer", `human:ada=${"A".repeat(43)}=`], "bad_reviewer"],
    [["absent.json", "--reviewer", "human:ada=c2hvcnQ="], "bad_reviewer"],
    [["absent.json", "--reviewer", "ada"], "bad_reviewer"],
    [["absent.json", "--reviewer", "sigstore:ada=issuer-alone"], "bad_reviewer"],
    [["absent.json", "--reviewer", "sigstore:ada=https://issuer.example|bob"], "bad_reviewer"],
    [["absent.json"], "usage"],
    [["absent.json", "--reviewers", "absent.json"], "bad_file"],
  ])("refuses %j with %s", async (args, code) => {
    const ran = await attest("verify", ...args);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(`skillgate: ${code}: `);
  });

  it("reads a registry in the form of REVIEWERS, its day of registration included", async () => {
    await sign("sum", "--days", "2", "--out", "attestations.json");
    const [attester = "", key = ""] = /^(.+?)=(.+)$/.exec(reviewer)?.slice(1) ?? [];
    const registered = async (day: string) => {
      await write("reviewers.json", JSON.stringify({ [attester]: { public_key: key, registered_at: day } }));
      return attest("verify", "attestations.json", "--reviewers", "reviewers.json", "--json");
    };
    expect(standings((await registered("2026-03-01")).stdout)).toEqual(["attested"]);
    expect(standings((await registered("2026-03-02")).stdout)).toEqual(["signed_before_registration"]);
    expect((await registered("2026-02-30")).stderr).toContain("bad_reviewer: In reviewers.json, human:ada");
  });
});

describe("lint with reviewers", () => {
  it("judges what the publisher serves, as a gateway would", async () => {
    await using clean = await startLoopbackPublisher();
    await clean.publisher.skill({ name: "sum" }).then((each) => each.skill({ name: "sub" }));
    const lint = (...flags: string[]) =>
      run(["lint", clean.publisher.origin, "--reviewer", reviewer, ...flags], { cwd });
    expect(await lint()).toMatchObject({ code: 0, stdout: expect.stringMatching(/ unattested[\s\S]*2 warnings$/) });
    expect((await lint("--mode", "enforcing")).code).toBe(1);

    const args = ["attest", "sign", clean.publisher.origin, "--key", "key.json", "--days", "2"];
    const signed = JSON.parse((await run([...args, "--all"], { cwd })).stdout) as JsonObject[];
    const publish = (entries: readonly object[]) =>
      clean.publisher.put("/.well-known/agent-skills/attestations.json", JSON.stringify(entries));
    publish(signed);
    expect(await lint("--mode", "enforcing")).toMatchObject({ code: 0, stdout: expect.stringContaining("PASS") });
    publish([...signed, { ...signed[0], valid_until: "2027-01-01" }]);
    expect(await lint()).toMatchObject({ code: 1, stdout: expect.stringContaining("The skill is invalid") });
    expect((await lint("--mode", "off")).code).toBe(0);
    publish([...signed, { ...signed[0], tool_sha256: "0".repeat(64) }, { ...signed[0], origin: publisher.origin }]);
    const unused = await lint();
    expect(unused.stdout).toContain("unused_attestation");
    expect(unused.stdout).toContain("other_origin");
  });
});
