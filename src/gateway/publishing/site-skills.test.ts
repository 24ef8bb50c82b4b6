import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { addClient, addOrigin, mcp, type RpcAnswer, rpc } from "../../../test/workerd/gateway-fixture.ts";
import { archiveOf, utf8 } from "../../core/agent-skills/fixture/publications.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { ADMIN_TOKEN, freshDatabase, testEnv } from "../admin/fixture.ts";
import { forgetPolicy } from "../auth/policy.ts";
import { aSkill, ask, newSite, publish, skillText, type TestSite, tamper, upload } from "./fixture.ts";
import { HELD_BYTES, heldBytes } from "./held-bytes.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const PICTURE = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 255]);

beforeAll(freshDatabase);
afterEach(() => vi.restoreAllMocks());

let site: TestSite;
let origin: string;
let originId: string;
let token: string;
let clientId: string;

/** A site whose skills are a file, an archive, and a file for authenticated callers; no tool. */
beforeEach(async () => {
  site = await newSite();
  origin = `https://${site.host}`;
  const archive = await archiveOf({
    "SKILL.md": utf8(skillText("pack", "Does pack.")),
    "scripts/run me.py": utf8("print(1)\n"),
    "assets/a.png": PICTURE,
    "data/bad.txt": new Uint8Array([0xff, 0xfe]),
  });
  const packed = { type: "archive", url: "/skills/pack.tar.gz", sha256: await upload(site, archive) };
  await publishAll([
    await aSkill(site, "deploy"),
    { name: "pack", description: "Does pack.", ...packed },
    await aSkill(site, "secret", { visibility: "authenticated" }),
  ]);
  ({ id: originId } = await addOrigin("x", "active", { origin }));
  ({ token, id: clientId } = await addClient({ grants: [originId] }));
});

async function publishAll(skills: object[], more: object = {}): Promise<void> {
  const { status, body } = await publish(site, { skills, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
async function call(method: string, params: object = {}, of = { token, origin }): Promise<any> {
  const body = (await (await rpc(mcp(of.origin), method, { token: of.token, params })).json()) as RpcAnswer;
  return body.error ?? body.result;
}

const promised = async (protocolVersion = "2025-11-25") =>
  (await call("initialize", { protocolVersion, capabilities: {} })).capabilities;
const listed = async () => (await call("resources/list")).resources.map(({ uri }: { uri: string }) => uri);
const read = (uri: string) => call("resources/read", { uri });

describe("the skills of a hosted site", () => {
  it("[skills-8.31] are promised with the address of its manifest, which is there, and there need be no tool", async () => {
    expect((await promised("2025-06-18")).experimental).toEqual({ agentSkillsUrl: origin + INDEX });
    expect(await promised()).toMatchObject({
      experimental: { agentSkills: { url: origin + INDEX } },
      extensions: { "io.modelcontextprotocol/skills": {} },
    });
    expect((await ask(origin + INDEX)).status).toBe(200);
    expect(await call("tools/list")).toEqual({ tools: [] });
  });

  it("[skills-8.32] have the same address for every client", async () => {
    const other = await addClient();
    const { capabilities } = await call(
      "initialize",
      { protocolVersion: "2025-11-25" },
      { token: other.token, origin },
    );
    expect(capabilities).toEqual(await promised());
  });

  it("are resources: each SKILL.md and the files beside it", async () => {
    const { resources } = await call("resources/list");
    expect(resources.map(({ uri, mimeType }: { uri: string; mimeType: string }) => [uri, mimeType])).toEqual([
      ["skill://deploy/SKILL.md", "text/markdown"],
      ["skill://pack/SKILL.md", "text/markdown"],
      ["skill://pack/assets/a.png", "image/png"],
      ["skill://pack/data/bad.txt", "text/plain"],
      ["skill://pack/scripts/run%20me.py", "text/plain"],
      ["skill://secret/SKILL.md", "text/markdown"],
    ]);
    expect(resources[0]).toMatchObject({ name: "deploy", description: "Does deploy." });
  });

  it("are read as text, or as base64 where they are none", async () => {
    const contents = async (uri: string) => (await read(uri)).contents;
    const text = skillText("deploy", "Does deploy.");
    expect(await contents("skill://deploy/SKILL.md")).toEqual([
      { uri: "skill://deploy/SKILL.md", mimeType: "text/markdown", text },
    ]);
    expect(await contents("skill://pack/scripts/run%20me.py")).toMatchObject([{ text: "print(1)\n" }]);
    const picture = btoa(String.fromCharCode(...PICTURE));
    expect(await contents("skill://pack/assets/a.png")).toEqual([
      { uri: "skill://pack/assets/a.png", mimeType: "image/png", blob: picture },
    ]);
    expect(await contents("skill://pack/data/bad.txt")).toMatchObject([{ blob: "//4=" }]);
    for (const uri of [
      "skill://pack",
      "skill://pack/",
      "skill://pack/../deploy/SKILL.md",
      "skill://pack/scripts/run me.py",
    ]) {
      expect((await read(uri)).code).toBe(-32002);
    }
  });

  it("hold the bytes of a large file until its answer has left, and make others wait in vain where there is no room", async () => {
    const noise = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7_919) % 251);
    const archive = await archiveOf({ "SKILL.md": utf8(skillText("pack", "Does pack.")), "data/noise.bin": noise });
    const packed = { type: "archive", url: "/skills/pack.tar.gz", sha256: await upload(site, archive) };
    await publishAll([{ name: "pack", description: "Does pack.", ...packed }]);
    const uri = "skill://pack/data/noise.bin";
    const answer = await rpc(mcp(origin), "resources/read", { token, params: { uri } });
    expect(heldBytes.bytes).toBe(800_000);
    const { result } = (await answer.json()) as RpcAnswer;
    expect(heldBytes.bytes).toBe(0);
    const blob = (result as { contents: { blob: string }[] }).contents[0]?.blob ?? "";
    expect(await sha256Hex(Uint8Array.from(atob(blob), (char) => char.charCodeAt(0)))).toBe(await sha256Hex(noise));

    const all = await heldBytes.take(HELD_BYTES, "somebody else");
    try {
      expect(await read("skill://pack/SKILL.md")).toMatchObject({ code: -31503, data: { code: "skill_unavailable" } });
      expect(await call("ping")).toEqual({});
    } finally {
      all?.release();
    }
    expect((await read("skill://pack/SKILL.md")).contents).toHaveLength(1);
  });

  it("are listed by the extension with the digests of what is read", async () => {
    const { skills } = await call("skills/list");
    expect(skills.map(({ frontmatter }: { frontmatter: object }) => frontmatter)).toEqual(
      ["deploy", "pack", "secret"].map((name) => ({ name, description: `Does ${name}.` })),
    );
    for (const { uri, digest, size } of skills.flatMap(({ resources }: { resources: object[] }) => resources)) {
      const [{ text, blob }] = (await read(uri)).contents;
      const bytes = text === undefined ? Uint8Array.from(atob(blob), (char) => char.charCodeAt(0)) : utf8(text);
      expect([uri, `sha256:${await sha256Hex(bytes)}`, bytes.length]).toEqual([uri, digest, size]);
    }
    expect(skills[1].resources).toHaveLength(4);
    expect((await call("skills/get", { uri: "skill://pack/SKILL.md" })).skill).toEqual(skills[1]);
  });

  it("that are for authenticated callers are for clients with a grant alone", async () => {
    expect((await read("skill://secret/SKILL.md")).contents).toHaveLength(1);
    const stranger = await addClient({ grants: [] });
    for (const method of ["resources/list", "skills/list", "resources/read"]) {
      const refused = await call(method, { uri: "skill://secret/SKILL.md" }, { token: stranger.token, origin });
      expect(refused.data.code).toBe("origin_forbidden");
    }
  });

  it("are those of the version in force, at once", async () => {
    expect(await listed()).toHaveLength(6);
    await publishAll([await aSkill(site, "deploy", {}, "Anew.\n")]);
    expect(await listed()).toEqual(["skill://deploy/SKILL.md"]);
    expect((await read("skill://deploy/SKILL.md")).contents[0].text).toContain("Anew.");
    expect((await read("skill://pack/SKILL.md")).code).toBe(-32002);
  });

  it("[skills-R16] are promised as far as there are some: those of a listing count, those in quarantine and of a site at rest do not", async () => {
    await publishAll([], { listings: [{ name: "more", skills: [await aSkill(site, "only")] }] });
    expect((await promised()).experimental).toEqual({ agentSkills: { url: origin + INDEX } });
    expect(await listed()).toEqual(["skill://only/SKILL.md"]);
    await testEnv.DB.prepare("UPDATE site_blobs SET mismatches = 3 WHERE site_id = ?").bind(site.id).run();
    expect((await call("initialize", { protocolVersion: "2025-11-25" })).code).toBe(-31502);
    await testEnv.DB.prepare("UPDATE site_blobs SET mismatches = 0 WHERE site_id = ?").bind(site.id).run();
    await testEnv.DB.prepare("UPDATE sites SET status = 'suspended' WHERE id = ?").bind(site.id).run();
    expect((await call("skills/list")).data.code).toBe("no_skills");
  });

  it("without the frontmatter that hosts ask for can be read, and are in no list of the extension", async () => {
    const sha256 = await upload(site, "# Bare\n");
    await publishAll([{ name: "bare", type: "skill-md", description: "x", url: "/skills/bare.md", sha256 }]);
    expect((await read("skill://bare/SKILL.md")).contents[0].text).toBe("# Bare\n");
    expect((await call("skills/list")).skills).toEqual([]);
    expect((await promised()).extensions).toBeUndefined();
  });
});

describe("bytes of a skill that are not those published", () => {
  const noted = () => {
    const written: object[] = [];
    vi.spyOn(console, "error").mockImplementation((line: string) => {
      const entry = JSON.parse(line);
      if (entry.event === "agent_skill.digest_mismatch") written.push(entry);
    });
    return written;
  };

  it.each(["deploy", "pack"])(
    "[code:skill_unavailable] are never given, and told of as over HTTP: %s",
    async (name) => {
      const written = noted();
      const { digest } = (await call("skills/get", { uri: `skill://${name}/SKILL.md` })).skill.resources[0];
      const manifest = (await (await ask(origin + INDEX)).json()) as { skills: { name: string; digest: string }[] };
      const artifact = manifest.skills.find((skill) => skill.name === name)?.digest.slice(7) ?? "";
      if (name === "deploy") expect(digest).toBe(`sha256:${artifact}`);
      const other = skillText(name, `Does ${name}.`, "Tampered with.\n");
      await tamper(site, artifact, other);
      const refused = await call("resources/read", { uri: `skill://${name}/SKILL.md` });
      expect(refused).toMatchObject({ code: -31503, data: { code: "skill_unavailable" } });
      expect(JSON.stringify(refused)).not.toMatch(/[0-9a-f]{64}|Tampered/);
      expect(written).toEqual([
        expect.objectContaining({
          skill_name: name,
          hostname: site.host,
          expected_digest: artifact,
          observed_digest: await sha256Hex(utf8(other)),
          caller: "authenticated",
        }),
      ]);
      for (let times = 0; times < 2; times += 1) await read(`skill://${name}/SKILL.md`);
      expect((await read(`skill://${name}/SKILL.md`)).code).toBe(-32002);
      expect(await listed()).not.toContain(`skill://${name}/SKILL.md`);
    },
  );

  it("may be out of reach, which is nobody's fault", async () => {
    const written = noted();
    const bindings = { SITES: { get: () => Promise.reject(new Error("R2 is down.")) } };
    const params = { uri: "skill://deploy/SKILL.md" };
    const answer = await rpc(mcp(origin), "resources/read", { token, params, bindings });
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "60"]);
    expect(written).toEqual([]);
  });
});

describe("what an operator decides of them", () => {
  it("is which names a client is not to know of", async () => {
    const rule = (effect: string, tool: string) =>
      testEnv.DB.prepare("INSERT INTO client_tools (client_id, origin_id, effect, tool) VALUES (?, ?, ?, ?)")
        .bind(clientId, originId, effect, tool)
        .run();
    await rule("deny", "deploy");
    forgetPolicy();
    expect(await listed()).not.toContain("skill://deploy/SKILL.md");
    expect((await read("skill://deploy/SKILL.md")).code).toBe(-32002);
    await rule("allow", "secret");
    forgetPolicy();
    expect(await listed()).toEqual(["skill://secret/SKILL.md"]);
  });

  it("is a tool, without which its skill is not shown either", async () => {
    const script = `registerTool({ name: "ask", inputSchema: { type: "object" }, handler: () => 1 });`;
    const tool = { url: "/tools/ask.js", sha256: await upload(site, script), name: "ask" };
    await publishAll([await aSkill(site, "deploy"), await aSkill(site, "ask-docs", { tool, scope: "docs" })]);
    expect(await listed()).toEqual(["skill://docs__ask", "skill://deploy/SKILL.md", "skill://ask-docs/SKILL.md"]);
    await testEnv.DB.prepare("UPDATE origins SET pin = 'hold', policy_version = policy_version + 1 WHERE id = ?")
      .bind(originId)
      .run();
    forgetPolicy();
    expect(await listed()).toEqual(["skill://deploy/SKILL.md"]);
    expect(await call("tools/list")).toEqual({ tools: [] });
  });

  it("[skills-R6] is how the handshake of an origin names the manifest, which may be active without a tool", async () => {
    site = await newSite();
    origin = `https://${site.host}`;
    await publishAll([await aSkill(site, "prose")]);
    const { id } = (await administer("POST", "/origins", { origin })).body;
    expect((await administer("POST", `/origins/${id}/probe`)).body).toMatchObject({ error: null, skills: [] });
    expect((await administer("POST", `/origins/${id}/activate`, {})).body).toMatchObject({ status: "active" });
    ({ token } = await addClient());
    expect((await call("skills/list")).skills).toHaveLength(1);
    for (const [pointer, experimental] of [
      ["object", { agentSkills: { url: origin + INDEX } }],
      ["string", { agentSkillsUrl: origin + INDEX }],
      ["off", undefined],
    ] as const) {
      expect((await administer("PATCH", `/origins/${id}`, { agentSkillsPointer: pointer })).status).toBe(200);
      expect((await promised("2025-06-18")).experimental).toEqual(experimental);
    }
    const { status, body } = await administer("PATCH", `/origins/${id}`, { agentSkillsPointer: "both" });
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining("string, object, off")]);
  });
});

/** With a publisher that is really asked. */
async function administer(method: string, path: string, body?: object) {
  const answer = await ask(`https://admin.example/admin/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  return { status: answer.status, body: (await answer.json()) as any };
}
