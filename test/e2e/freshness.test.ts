import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";

import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attestationEntry } from "../../src/core/attestation/attestation.ts";
import { addDays, calendarDateOf } from "../../src/core/attestation/calendar-date.ts";
import { signAttestation } from "../../src/core/attestation/sign.ts";
import type { Sha256Hex } from "../../src/core/integrity.ts";
import type { CanonicalOrigin } from "../../src/core/origin.ts";

import type { LogLine } from "../../src/dev/stack/gateway.ts";
import { ROOT } from "../../src/dev/stack/paths.ts";
import { run } from "../../src/local/fixture/running.ts";

import type { RpcAnswer } from "./caller.ts";
import { experimentalOf, GENERATIONS, type Generation } from "./client-generations.ts";
import { FAULTS, startFaultyPublisher } from "./faulty-publisher.ts";
import { digestAt, HostedSite } from "./hosted-site.ts";
import { LISTENING, startListening } from "./listening-client.ts";
import { skill, startTestPublisher, toolFile } from "./test-publisher.ts";
import { startTwoGateways, type TwoGateways } from "./two-gateways.ts";

/** Policy may be this old; a little is added for the request that finds it too old. */
const POLICY_BOUND_MS = 5_000 + 200;
const MB = 1_000_000;

let gateways: TwoGateways;
const running: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  gateways = await startTwoGateways({ DISCOVERY_TIMEOUT_MS: "3000", DISCOVERY_FETCH_TIMEOUT_MS: "2000" });
}, 180_000);

afterAll(async () => {
  await gateways?.stop();
  await Promise.all(running.map((each) => each.stop()));
});

async function publisher(faults: Parameters<typeof startFaultyPublisher>[0] = {}) {
  const started = await startFaultyPublisher(faults);
  running.push(started);
  const id = await gateways.addOrigin(started.origin);
  return { ...started, id };
}

interface Id {
  readonly id: string;
}

/** An origin in mode enforcing, whose only skill a reviewer of its own vouches for. */
async function attested(name: string) {
  const started = await startTestPublisher({ skills: [skill(name, "return 1;")] });
  running.push(started);
  const { origin } = started;
  const id = await gateways.addOrigin(origin);
  const keys = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const publicKey = Buffer.from(await crypto.subtle.exportKey("raw", keys.publicKey)).toString("base64");
  const attester = `human:${name}`;
  const reviewer = (await gateways.administer("POST", "/reviewers", {
    ...{ attester, key: { kind: "ed25519", publicKey } },
  })) as Id;
  const toolSha256 = createHash("sha256").update(toolFile(name, "return 1;")).digest("hex") as Sha256Hex;
  const signedOn = calendarDateOf(Date.now());
  const claim = { origin: origin as CanonicalOrigin, skill: name, toolSha256 };
  const signed = await signAttestation(
    { ...claim, signedOn, validUntil: addDays(signedOn, 30) },
    { attester, privateKey: keys.privateKey },
  );
  const { results } = (await gateways.administer("POST", "/attestations", attestationEntry(signed))) as {
    results: readonly Id[];
  };
  await gateways.administer("PATCH", `/origins/${id}`, { attestationMode: "enforcing" });
  return { origin, reviewerId: reviewer.id, attestationId: results[0]?.id, toolSha256 };
}

/** An origin whose code changed twice: the first two versions of `good` are approved, the second is served, and the third waits. */
async function changed() {
  const started = await startFaultyPublisher();
  running.push(started);
  const { id } = (await gateways.administer("POST", "/origins", { origin: started.origin })) as Id;
  const versions = [];
  for (const version of [1, 2, 3]) {
    started.deploy(version);
    const probed = (await gateways.administer("POST", `/origins/${id}/probe`)) as {
      readonly probedAt: number;
      skills: readonly { readonly scope: null; readonly name: string; readonly toolSha256: string }[];
    };
    const [good] = probed.skills;
    if (good === undefined) throw new Error("The probe found nothing.");
    versions.push({ scope: good.scope, name: good.name, toolSha256: good.toolSha256 });
    if (version === 1) await gateways.administer("POST", `/origins/${id}/activate`, {});
    if (version === 2)
      await gateways.administer("POST", `/origins/${id}/approve`, {
        skills: versions.slice(1),
        probedAt: probed.probedAt,
      });
  }
  const [first, second] = versions;
  return { id, origin: started.origin, first, second };
}

/** A client that may use every origin, and its caller of the second isolate. */
async function clientOf(name: string) {
  const { id } = (await gateways.administer("POST", "/clients", { name, rpm: null, grants: "all" })) as Id;
  const { token } = (await gateways.administer("POST", `/clients/${id}/tokens`)) as { readonly token: string };
  return { id, caller: gateways.secondCaller(token) };
}

const list = (isolate: 0 | 1, origin: string) => gateways.callers[isolate].send(origin, "tools/list");
const tools = ({ body }: RpcAnswer) => body?.result?.tools?.map(({ name }) => name);
const code = ({ status, body }: RpcAnswer) => `${status} ${body?.error?.data?.code}`;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("two isolates that share hubs and a database", () => {
  it("[10.2-stampede] make one discovery of 50 concurrent cold requests", async () => {
    const { origin, requests } = await publisher();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => list((i % 2) as 0 | 1, origin)));
    expect(answers.map((answer) => tools(answer) ?? code(answer))).toEqual(Array(50).fill(["good", "other"]));
    expect(Object.fromEntries([...requests].filter(([path]) => !path.startsWith("/.well-known/")))).toEqual({
      "/llms.txt": 1,
      "/good.js": 1,
      "/other.js": 1,
    });
    const states = new Set(answers.map(({ headers }) => headers["x-gw-discovery"]));
    expect(states).toContain("miss");
  });

  it("[10.2-stampede] ask a failing origin once in 10 s, however many call", async () => {
    const { origin, requests } = await publisher({ "/llms.txt": FAULTS["answers 500"] });
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => list((i % 2) as 0 | 1, origin)));
      expect(answers.map(code)).toEqual(Array(20).fill("502 discovery_failed"));
      expect(JSON.stringify(answers)).not.toContain("hunter2");
    }
    expect(requests.get("/llms.txt")).toBe(1);
  });

  it("[10.1-D] run the right one of two skills with the same name, whichever isolate found them", async () => {
    const { origin } = await publisher();
    expect(tools(await list(0, origin))).toEqual(["good", "other"]);
    for (const isolate of [1, 0] as const) {
      for (const name of ["good", "other"]) {
        expect(await gateways.callers[isolate].value(origin, name)).toEqual({ name, version: 1 });
      }
    }
  });

  it("see grants, rules and limits of clients, tokens, statuses, modes, approvals, rejections and revocations of hashes, attestations and reviewers within 5 s of a change that the other made", async () => {
    const [granted, taken, suspended] = [await publisher(), await publisher(), await publisher()];
    const enforcing = await publisher();
    const [byHash, byAttestation, byReviewer] = [
      await attested("hash"),
      await attested("entry"),
      await attested("key"),
    ];
    const all = [enforcing, byHash, byAttestation, byReviewer];
    const decided = async () =>
      (await Promise.all(all.map(({ origin }) => list(1, origin)))).map(({ status }) => status);
    expect(await decided()).toEqual([200, 200, 200, 200]);
    const [older, rejected] = [await changed(), await changed()];
    const versions = (isolate: 0 | 1) =>
      Promise.all([older, rejected].map(({ origin }) => gateways.callers[isolate].value(origin, "good")));
    expect([await versions(0), await versions(1)]).toEqual(Array(2).fill(Array(2).fill({ name: "good", version: 2 })));
    const client = (await gateways.administer("POST", "/clients", {
      ...{ name: "policy", rpm: null, grants: [taken.id, suspended.id] },
    })) as Id;
    const issue = async () =>
      (await gateways.administer("POST", `/clients/${client.id}/tokens`, {})) as Id & { readonly token: string };
    const [kept, lost] = [await issue(), await issue()];
    const [caller, loser] = [gateways.secondCaller(kept.token), gateways.secondCaller(lost.token)];
    const seen = async () => {
      const asks = [
        ...[granted, taken, suspended].map(({ origin }) => caller.send(origin, "ping")),
        loser.send(taken.origin, "ping"),
      ];
      return (await Promise.all(asks)).map(({ status }) => status);
    };
    expect(await seen()).toEqual([403, 200, 200, 200]);
    const ruled = await clientOf("ruled");
    const halted = await clientOf("halted");
    const outcomes = () =>
      Promise.all([
        ruled.caller.send(granted.origin, "tools/list").then(tools),
        ruled.caller.send(taken.origin, "ping").then(({ status }) => status),
        halted.caller.send(granted.origin, "ping").then(({ status }) => status),
      ]);
    expect(await outcomes()).toEqual([["good", "other"], 200, 200]);
    const only = (rule: object) => ({ items: [rule] });
    await gateways.administer(
      "PUT",
      `/clients/${ruled.id}/tools`,
      only({ originId: granted.id, allow: null, deny: ["good"] }),
    );
    await gateways.administer("PUT", `/clients/${ruled.id}/limits`, only({ originId: taken.id, tool: null, rpm: 0 }));
    await gateways.administer("POST", `/clients/${halted.id}/suspend`);
    await gateways.administer("PATCH", `/clients/${client.id}`, { grants: [granted.id, suspended.id] });
    await gateways.administer("DELETE", `/clients/${client.id}/tokens/${lost.id}`);
    await gateways.administer("PATCH", `/origins/${enforcing.id}`, { attestationMode: "enforcing" });
    const reason = "It leaks.";
    await gateways.administer("POST", "/revocations", { kind: "hash", subject: byHash.toolSha256, reason });
    await gateways.administer("POST", `/attestations/${byAttestation.attestationId}/revoke`, { reason });
    await gateways.administer("POST", `/reviewers/${byReviewer.reviewerId}/revoke`, { reason });
    const { probedAt } = (await gateways.administer("GET", `/origins/${older.id}`)) as { readonly probedAt: number };
    await gateways.administer("POST", `/origins/${older.id}/approve`, { skills: [older.first], probedAt });
    await gateways.administer("POST", `/origins/${rejected.id}/reject`, { skills: [rejected.second] });
    // At once in the isolate that did it.
    expect(await versions(0)).toEqual(Array(2).fill({ name: "good", version: 1 }));
    const refused = await Promise.all(all.slice(1).map(({ origin }) => list(0, origin)));
    expect(refused.map(({ status }) => status)).toEqual([502, 502, 502]);
    await gateways.administer("POST", `/origins/${suspended.id}/suspend`);
    const late = await issue();
    await wait(POLICY_BOUND_MS);
    expect(await seen()).toEqual([200, 403, 403, 401]);
    expect(await outcomes()).toEqual([["other"], 429, 401]);
    expect(await decided()).toEqual([502, 502, 502, 502]);
    expect(await versions(1)).toEqual(Array(2).fill({ name: "good", version: 1 }));
    const newcomer = gateways.secondCaller(late.token);
    expect((await newcomer.send(granted.origin, "ping")).status).toBe(200);
    for (const each of [caller, loser, newcomer, ruled.caller, halted.caller]) each.close();
  });
});

describe("a publisher whose llms.txt", () => {
  it.each(Object.entries(FAULTS))(
    "%s gives 502 to everybody, and costs it no more than one attempt",
    async (_, fault) => {
      const { origin, requests, sent } = await publisher({ "/llms.txt": fault });
      const answers = await Promise.all([list(0, origin), list(1, origin)]);
      expect(answers.map(code)).toEqual(Array(2).fill("502 discovery_failed"));
      expect(requests.get("/llms.txt")).toBe(1);
      await wait(50);
      expect(sent()).toBeLessThan(10 * MB);
    },
  );

  it("cannot be reached gives 502", async () => {
    const port = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const address = server.address();
        server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
      });
    });
    const origin = `http://127.0.0.1:${port}`;
    await gateways.addOrigin(origin);
    expect(code(await list(0, origin))).toBe("502 discovery_failed");
  });
});

describe("a publisher one of whose tools", () => {
  it.each(Object.entries(FAULTS))("%s loses that tool alone", async (_, fault) => {
    const { origin, sent } = await publisher({ "/good.js": fault });
    const answer = await list(0, origin);
    expect([answer.status, tools(answer)]).toEqual([200, ["other"]]);
    expect(await gateways.callers[1].value(origin, "other")).toEqual({ name: "other", version: 1 });
    await wait(50);
    expect(sent()).toBeLessThan(10 * MB);
  });
});

describe("a publisher that deploys between two fetches of a discovery", () => {
  it("[10.2-deploy-race] is served in its new version, no tool missing", async () => {
    const started = await publisher();
    started.faults.set("/llms.txt", (response, bytes) => {
      started.faults.clear();
      response.end(bytes, () => started.deploy(2));
    });
    expect(tools(await list(0, started.origin))).toEqual(["good", "other"]);
    expect(await gateways.callers[1].value(started.origin, "good")).toEqual({ name: "good", version: 2 });
    expect(started.requests.get("/llms.txt")).toBe(2);
  });
});

describe("a site that the gateway hosts", () => {
  it("[skills-8.41] is new in the other isolate too at the moment of its publish, and a manifest that was read before still names its bytes", async () => {
    const site = await HostedSite.create(gateways, "changing");
    await site.publish(0);
    for (const version of [1, 2]) {
      const before = await site.manifest(1);
      await site.publish(version);
      const now = await site.manifest(1);
      expect(now.map(({ digest }) => site.versions.get(digest))).toEqual([version, version, version]);
      for (const { url, digest } of [...before, ...now]) {
        for (const at of gateways.urls) expect(await digestAt(url.replace(gateways.urls[1], at))).toBe(digest);
      }
    }
  });

  it("is published from a folder, listed and installed by the skills CLI", async () => {
    const folder = await mkdtemp(join(tmpdir(), "skillgate-hosted-"));
    running.push({ stop: () => rm(folder, { recursive: true, force: true }) });
    const recipe = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\n# ${name}\n`;
    const files: Readonly<Record<string, string>> = {
      "site/llms.txt":
        "# Handbook\n\n## Skills\n\n- [deploy](skills/deploy/SKILL.md): Does deploy.\n- [review](skills/review/SKILL.md): Does review.\n- [secret](skills/secret/SKILL.md): Does secret.\n",
      "site/skillgate-site.json": JSON.stringify({
        skills: { review: { pack: true }, secret: { visibility: "authenticated" } },
      }),
      "site/skills/deploy/SKILL.md": recipe("deploy"),
      "site/skills/review/SKILL.md": recipe("review"),
      "site/skills/review/references/list.md": "- Read it.\n",
      "site/skills/secret/SKILL.md": recipe("secret"),
    };
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, path, ".."), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const flags = ["--gateway", gateways.url, "--site", "handbook", "--create"];
    const published = await run(["publish", join(folder, "site"), ...flags], {
      env: { SKILLGATE_ADMIN_TOKEN: gateways.adminToken },
    });
    expect(published, published.stderr).toMatchObject({ code: 0 });
    const skills = async (...args: string[]) => {
      const command = [join(ROOT, "node_modules/skills/bin/cli.mjs"), "add", `${gateways.url}/s/handbook`, ...args];
      const env = { PATH: process.env.PATH, HOME: folder, DISABLE_TELEMETRY: "1", CI: "1" };
      return (await promisify(execFile)(process.execPath, command, { cwd: folder, env, timeout: 30_000 })).stdout;
    };
    const listed = await skills("--list");
    expect(listed).toContain("Does deploy.");
    expect(listed).toContain("Does review.");
    expect(listed).not.toContain("secret");
    await skills("--yes", "--copy", "--agent", "claude-code", "--skill", "*");
    const installed = (path: string) => readFile(join(folder, ".claude/skills", path), "utf8");
    expect(await installed("deploy/SKILL.md")).toBe(recipe("deploy"));
    expect(await installed("review/SKILL.md")).toBe(recipe("review"));
    expect(await installed("review/references/list.md")).toBe("- Read it.\n");
    await expect(installed("secret/SKILL.md")).rejects.toThrow("ENOENT");
  });
});

/** Publishes a version of a site with tools of these names. */
async function publishSite(siteId: string, names: readonly string[]): Promise<void> {
  const upload = async (text: string): Promise<string> => {
    const sha256 = createHash("sha256").update(text).digest("hex");
    const answer = await fetch(`${gateways.url}/admin/api/v1/sites/${siteId}/blobs?sha256=${sha256}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${gateways.adminToken}`, "Content-Type": "application/octet-stream" },
      body: text,
    });
    expect(answer.status).toBe(200);
    return sha256;
  };
  const skills = names.map(async (name) => ({
    ...{ name, type: "skill-md", description: `Does ${name}.`, url: `/skills/${name}.md` },
    sha256: await upload(`---\nname: ${name}\ndescription: Does ${name}.\n---\n`),
    tool: { url: `/tools/${name}.js`, sha256: await upload(toolFile(name, "return 1;")), name },
  }));
  await gateways.administer("POST", `/sites/${siteId}/versions`, { title: "Site", skills: await Promise.all(skills) });
}

describe("official clients of a site", () => {
  it("are told of a publish, and every isolate lists what they were told of", async () => {
    const site = (await gateways.administer("POST", "/sites", { name: "told" })) as Id;
    await publishSite(site.id, ["one"]);
    const origin = `${gateways.url}/s/told`;
    await gateways.addOrigin(origin);
    const { token } = (await gateways.administer("POST", `/clients/${gateways.clientId}/tokens`, {})) as {
      readonly token: string;
    };
    await list(1, origin);
    const endpoint = `${gateways.url}/mcp?origin=${encodeURIComponent(origin)}`;
    const clients = await Promise.all(LISTENING.map((kind) => startListening(kind, endpoint, token)));
    running.push(...clients);
    const streams = () => gateways.log.filter((line) => isStreamAt(origin, line));
    while (streams().length < clients.length) await wait(50);
    // Else a modern client could have fallen back to the stream of its legacy era.
    expect(streams().filter(({ text }) => text.includes('"method":"subscriptions/listen"'))).toHaveLength(1);
    await publishSite(site.id, ["one", "two"]);
    const all = ["one", "two", "get_skill_guide"];
    expect(await Promise.all(clients.map(({ told }) => told))).toEqual([all, all, all]);
    expect(tools(await list(1, origin))).toEqual(all);
  });

  it("[skills-R6] of each generation initialize: those that take no text under experimental, with an object in its place", async () => {
    const site = (await gateways.administer("POST", "/sites", { name: "known" })) as Id;
    await publishSite(site.id, ["one"]);
    const origin = `${gateways.url}/s/known`;
    const originId = await gateways.addOrigin(origin);
    const { token } = (await gateways.administer("POST", `/clients/${gateways.clientId}/tokens`, {})) as {
      readonly token: string;
    };
    const endpoint = `${gateways.url}/mcp?origin=${encodeURIComponent(origin)}`;
    const capabilities = (generation: Generation) => experimentalOf(generation, endpoint, token);
    const url = `${gateways.url}/s/known/.well-known/agent-skills/index.json`;
    expect(await capabilities("1.21")).toEqual({ agentSkillsUrl: url });
    for (const generation of ["1.32", "2"] as const)
      expect(await capabilities(generation)).toEqual({ agentSkills: { url } });
    // 1.22.0 to 1.24.0 ask for 2025-06-18, whose clients are told a text, and take an object alone: this is what the override is for.
    await expect(capabilities("1.22")).rejects.toThrow(/agentSkillsUrl/);
    await gateways.administer("PATCH", `/origins/${originId}`, { agentSkillsPointer: "object" });
    for (const generation of GENERATIONS) expect(await capabilities(generation)).toEqual({ agentSkills: { url } });
  });
});

/** The line of a request that was answered with a stream of changes. */
function isStreamAt(origin: string, { text }: LogLine): boolean {
  return text.includes(`"origin":"${origin}"`) && /"httpMethod":"GET"|"method":"subscriptions\/listen"/.test(text);
}
