import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { addClient, addOrigin, mcp, migrate, type RpcAnswer, rpc } from "../../../test/workerd/gateway-fixture.ts";
import { skillMd, utf8 } from "../../core/agent-skills/fixture/publications.ts";
import { sha256Hex } from "../../core/integrity.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

beforeAll(migrate);

let host: string;
let origin: string;
let token: string;

const text = (name: string) => new TextDecoder().decode(skillMd(name, "A test."));

async function entry(name: string, more: object = {}) {
  const digest = `sha256:${await sha256Hex(utf8(text(name)))}`;
  return { name, type: "skill-md", description: "A test.", url: `${name}/SKILL.md`, digest, ...more };
}

async function serve(files: Record<string, string>): Promise<void> {
  await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });
}

async function originThat(agentSkills: boolean): Promise<void> {
  ({ host, origin } = await addOrigin("files", "active", { agentSkills, pin: "hold" }));
  ({ token } = await addClient());
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
async function call(method: string, params: object = {}): Promise<any> {
  const body = (await (await rpc(mcp(origin), method, { token, params })).json()) as RpcAnswer;
  return body.error ?? body.result;
}

describe("an origin of which an operator wants the Agent Skills", () => {
  beforeEach(() => originThat(true));

  it("needs neither a tool nor an llms.txt: they are resources, with the digests of its index", async () => {
    const skills = [
      await entry("deploy"),
      await entry("altered", { digest: `sha256:${"0".repeat(64)}` }),
      await entry("away", { url: "https://elsewhere.example/SKILL.md" }),
    ];
    await serve({
      [INDEX]: JSON.stringify({ $schema: SCHEMA, skills }),
      "/.well-known/agent-skills/deploy/SKILL.md": text("deploy"),
      "/.well-known/agent-skills/altered/SKILL.md": text("altered"),
    });
    expect((await call("initialize", { protocolVersion: "2025-11-25" })).capabilities).toMatchObject({
      experimental: { agentSkills: { url: origin + INDEX } },
      extensions: { "io.modelcontextprotocol/skills": {} },
    });
    const listed = await call("skills/list");
    expect(listed.skills).toEqual([
      {
        uri: "skill://deploy/SKILL.md",
        frontmatter: { name: "deploy", description: "A test." },
        resources: [{ uri: "skill://deploy/SKILL.md", digest: skills[0]?.digest, size: utf8(text("deploy")).length }],
      },
    ]);
    expect((await call("resources/read", { uri: "skill://deploy/SKILL.md" })).contents).toMatchObject([
      { text: text("deploy") },
    ]);
    expect(await call("tools/list")).toEqual({ tools: [] });
  });

  it("has none where its index has no digests, unless unverified recipes are offered", async () => {
    await serve({
      "/.well-known/skills/index.json": JSON.stringify({
        skills: [{ name: "old", description: "A test.", files: ["SKILL.md"] }],
      }),
      "/.well-known/skills/old/SKILL.md": text("old"),
    });
    expect((await call("skills/list")).data.code).toBe("discovery_failed");
  });

  it("has none where it has no index either", async () => {
    await serve({ "/llms.txt": "# Nothing\n" });
    expect((await call("tools/list")).data.code).toBe("no_skills");
  });
});

describe("an origin of which nobody said so", () => {
  it("is read for its tools alone", async () => {
    await originThat(false);
    await serve({
      [INDEX]: JSON.stringify({ $schema: SCHEMA, skills: [await entry("deploy")] }),
      "/.well-known/agent-skills/deploy/SKILL.md": text("deploy"),
    });
    expect((await call("skills/list")).data.code).toBe("discovery_failed");
  });
});
