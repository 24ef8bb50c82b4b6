import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { OriginHub } from "../../src/gateway/durable/origin-hub.ts";
import { unpackRelease } from "../../src/gateway/releases/packed-release.ts";
import { releases } from "../../src/gateway/releases/release-cache.ts";
import { addClient, addOrigin, env, mcp, migrate, result, rpc } from "./gateway-fixture.ts";

beforeAll(migrate);

const OFFER = { UNVERIFIED_RECIPES: "offer" };

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(digest).toString("hex");
}

/** A publisher with one tool, whose recipe declares no hash. */
async function undeclared() {
  const { origin, host } = await addOrigin("files");
  const tool = `registerTool({ name: "t", handler: () => 1 });`;
  const line = `- [t](/SKILL.md): T <!-- skill: ${JSON.stringify({ tool: "/t.js", tool_sha256: await sha256(tool) })} -->`;
  const files = { "/llms.txt": `# T\n\n## Skills\n\n${line}\n`, "/t.js": tool, "/SKILL.md": "# Use t" };
  await fetch(`https://${host}/__files`, { method: "PUT", body: JSON.stringify(files) });
  const { token } = await addClient();
  const recipes = async (bindings: Record<string, string> = {}) =>
    (await result(await rpc(mcp(origin), "resources/list", { token, bindings }))).resources;
  return { origin, hub: env.ORIGIN_HUB.get(env.ORIGIN_HUB.idFromName(origin)), recipes };
}

it("[10.2-unverified-recipe] are neither fetched nor listed unless the operator has them offered", async () => {
  const { recipes } = await undeclared();
  expect(await recipes()).toEqual([]);
  expect(await recipes(OFFER)).toEqual([]);
});

it("[10.2-unverified-recipe] that are offered carry a flag, and are withheld at once where they no longer are", async () => {
  const { origin, hub, recipes } = await undeclared();
  await runInDurableObject(hub, async (_, state) => {
    const answer = await new OriginHub(state, { ...env, ...OFFER }).get(origin as never, null);
    if (!answer.ok || answer.packed === null) throw new Error("The hub has no release.");
    expect(unpackRelease(answer.packed).skills[0]?.recipe).toMatchObject({ text: "# Use t", verified: false });
  });
  // The release is kept in the hub's storage, in the data centre and in the isolate; the setting decides each time.
  await evictDurableObject(hub);
  const flagged = { uri: "skill://t", _meta: { "skillgate/unverified": true } };
  expect(await recipes(OFFER)).toMatchObject([flagged]);
  expect(await recipes()).toEqual([]);
  releases.clear();
  expect(await recipes(OFFER)).toMatchObject([flagged]);
  expect(await recipes()).toEqual([]);
});
