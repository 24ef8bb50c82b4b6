import { drizzle } from "drizzle-orm/d1";
import { beforeAll, describe, expect, it } from "vitest";
import { GUIDE_TOOL } from "../../src/core/skill.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import { clientLimits, clientTools } from "../../src/gateway/registry/schema.ts";
import { addClient, addOrigin, callTool, env, mcp, migrate, result, rpc } from "./gateway-fixture.ts";
import { type Published, startPublisher } from "./trust-fixture.ts";

const registry = drizzle(env.DB);

beforeAll(migrate);

const skill = (name: string): Published => ({ name, scope: null, answer: name, recipe: `# ${name}` });

/** A publisher of three tools with recipes, and a client with these rules and limits. */
async function world({
  allow,
  deny = [],
  limits = {},
}: {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** By tool; `""` is the whole origin. */
  readonly limits?: Readonly<Record<string, number>>;
}) {
  const publisher = await startPublisher({ pin: "off", attestationMode: "advisory" });
  await publisher.publish(["one", "two", "three"].map(skill));
  const { id: clientId, token } = await addClient();
  const rows = [
    ...(allow === undefined ? [] : ["", ...allow].map((tool) => ({ effect: "allow" as const, tool }))),
    ...deny.map((tool) => ({ effect: "deny" as const, tool })),
  ].map((row) => ({ clientId, originId: publisher.id, ...row }));
  if (rows.length > 0) await registry.insert(clientTools).values(rows);
  const limited = Object.entries(limits).map(([tool, rpm]) => ({ clientId, originId: publisher.id, tool, rpm }));
  if (limited.length > 0) await registry.insert(clientLimits).values(limited);
  forgetPolicy();
  const path = mcp(publisher.origin);
  return {
    clientId,
    originId: publisher.id,
    path,
    token,
    async tools() {
      const { tools } = (await result(await rpc(path, "tools/list", { token }))) as { tools: { name: string }[] };
      return tools.map(({ name }) => name);
    },
    async recipes() {
      const { resources } = (await result(await rpc(path, "resources/list", { token }))) as {
        resources: { uri: string }[];
      };
      return resources.map(({ uri }) => uri);
    },
    async answer(name: string, args: object = {}) {
      return (await (await callTool(path, token, name, args)).json()) as {
        result?: { structuredContent?: { result: string }; content: { text: string }[] };
        error?: { code: number; message: string; data?: { code?: string } };
      };
    },
  };
}

describe("tools that an operator hides from a client", () => {
  it("are in no list and no recipe, and to call them is to call an unknown tool", async () => {
    const { tools, recipes, answer, path, token } = await world({ allow: ["one", "two"], deny: ["two"] });
    expect(await tools()).toEqual(["one", GUIDE_TOOL]);
    expect(await recipes()).toEqual(["skill://one"]);
    expect((await answer("one")).result?.structuredContent).toEqual({ result: "one" });
    const unknown = (await answer("nothing")).error;
    for (const hidden of ["two", "three"]) {
      expect((await answer(hidden)).error).toEqual({
        ...unknown,
        message: unknown?.message.replace("nothing", hidden),
      });
      const guide = (await answer(GUIDE_TOOL, { name: hidden })).result;
      expect(guide?.content[0]?.text).toBe("There is no recipe of that name. There are recipes of: one.");
      const read = await rpc(path, "resources/read", { token, params: { uri: `skill://${hidden}` } });
      expect(((await read.json()) as { error: object }).error).toBeDefined();
    }
    const list = await rpc(path, "tools/list", { token });
    expect(list.headers.get("X-Gw-Attestations")).toBe("attested=0,expired=0,invalid=0,unattested=1");
    expect(await list.text()).not.toContain("three");
  });

  it("are hidden from this client alone, and on this origin alone", async () => {
    const { path, clientId, token } = await world({ deny: ["one"] });
    const other = await addClient();
    const { tools } = (await result(await rpc(path, "tools/list", { token: other.token }))) as { tools: object[] };
    expect(tools).toHaveLength(4);
    const { origin, id } = await addOrigin();
    await registry.insert(clientTools).values({ clientId, originId: id, effect: "deny", tool: "nothing" });
    forgetPolicy();
    expect((await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 2 })).status).toBe(200);
  });

  it("may be all of them, the runtime's own included: the origin then has no tools and is not broken", async () => {
    const none = await world({ allow: [] });
    expect([await none.tools(), await none.recipes()]).toEqual([[], []]);
    expect((await none.answer("one")).error?.code).toBe(-32602);
    const withoutGuide = await world({ deny: [GUIDE_TOOL] });
    expect(await withoutGuide.tools()).toEqual(["one", "two", "three"]);
    expect((await withoutGuide.answer(GUIDE_TOOL, { name: "one" })).error?.code).toBe(-32602);
    expect(await withoutGuide.recipes()).toHaveLength(3);
  });

  it("are seen again once the rules are gone, and a release that is served on is judged anew", async () => {
    const { clientId, tools } = await world({ allow: [] });
    expect(await tools()).toEqual([]);
    await env.DB.prepare("DELETE FROM client_tools WHERE client_id = ?").bind(clientId).run();
    forgetPolicy();
    expect(await tools()).toEqual(["one", "two", "three", GUIDE_TOOL]);
  });
});

describe("limits of a client", () => {
  it("[code:rate_limited] on a tool count its calls alone, and say which limit it was", async () => {
    const { answer, tools, path, token } = await world({ limits: { one: 2, three: 0 } });
    for (let call = 0; call < 2; call++) expect((await answer("one")).result).toBeDefined();
    const refused = await callTool(path, token, "one");
    expect([refused.status, Number(refused.headers.get("Retry-After")) > 0]).toEqual([429, true]);
    expect(((await refused.json()) as { error: object }).error).toMatchObject({
      message: "The client's limit of 2 calls a minute of the tool one is reached.",
      data: { code: "rate_limited" },
    });
    expect((await answer("three")).error?.message).toBe(
      "This client is limited to 0 calls a minute of the tool three.",
    );
    expect((await answer("two")).result).toBeDefined();
    expect(await tools()).toHaveLength(4);
  });

  it("[code:rate_limited] on an origin count every request to it; what a tool's limit refuses leaves it whole", async () => {
    const { answer, path, token, clientId, originId } = await world({ limits: { "": 3, one: 0 } });
    for (let call = 0; call < 5; call++) expect((await answer("one")).error?.data?.code).toBe("rate_limited");
    expect((await rpc(path, "tools/list", { token })).status).toBe(200);
    for (let call = 0; call < 2; call++) expect((await answer("two")).result).toBeDefined();
    const refused = await rpc(path, "tools/list", { token });
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain("The client's limit of 3 calls a minute to this origin is reached.");
    const { origin } = await addOrigin();
    expect((await callTool(mcp(origin), token, "sum_numbers", { a: 1, b: 2 })).status).toBe(200);
    // Another limit counts anew.
    await env.DB.prepare("UPDATE client_limits SET rpm = 100 WHERE client_id = ? AND origin_id = ? AND tool = ''")
      .bind(clientId, originId)
      .run();
    forgetPolicy();
    expect((await answer("two")).result).toBeDefined();
  });

  it("say nothing of a tool that is hidden", async () => {
    const { answer } = await world({ deny: ["one"], limits: { one: 0 } });
    expect((await answer("one")).error).toMatchObject({ code: -32602 });
  });

  it("[code:limiter_unavailable] refuse the call where they cannot be counted", async () => {
    const { path, token } = await world({ limits: { one: 5 } });
    const bindings = { RATE_LIMITER: env.BROKEN_OBJECT };
    const params = { name: "one", arguments: {} };
    expect((await rpc(path, "tools/call", { token, params, bindings })).status).toBe(503);
    expect((await rpc(path, "tools/list", { token, bindings })).status).toBe(200);
  });
});

describe("inspection tokens", () => {
  it("are answered with the timing of each step", async () => {
    const { clientId, path, token } = await world({});
    const timing = async () => (await callTool(path, token, "one")).headers.get("Server-Timing");
    expect(await timing()).toBeNull();
    await env.DB.prepare("UPDATE client_tokens SET kind = 'inspection' WHERE client_id = ?").bind(clientId).run();
    forgetPolicy();
    expect(await timing()).toMatch(/sandbox;dur=\d+/);
    const used = await env.DB.prepare("SELECT last_used_at FROM client_tokens WHERE client_id = ?")
      .bind(clientId)
      .first();
    expect(Number(used?.last_used_at)).toBeGreaterThan(Date.now() - 60_000);
  });
});
