import { drizzle } from "drizzle-orm/d1";
import { beforeAll, expect, it } from "vitest";
import { origins } from "../../src/gateway/registry/schema.ts";
import { addClient, callTool, env, mcp, migrate, result, rpc } from "./gateway-fixture.ts";

const ORIGIN = "https://bound.example";

beforeAll(async () => {
  await migrate();
  await drizzle(env.DB)
    .insert(origins)
    .values({ id: "org_bound", origin: ORIGIN, status: "active", pin: "off", createdAt: 0, updatedAt: 0 })
    .onConflictDoNothing();
});

it("[10.4-1042] a publisher behind a service binding is discovered and called through it", async () => {
  const { token } = await addClient();
  const list = await result(await rpc(mcp(ORIGIN), "tools/list", { token }));
  expect(list).toMatchObject({ tools: [{ name: "post_back" }] });
});

it("[10.4-T16b] a tool's POST reaches the bound publisher as a POST", async () => {
  const { token } = await addClient();
  const args = { path: "/echo", body: '{"order":1}', contentType: "application/json" };
  const answer = await result(await callTool(mcp(ORIGIN), token, "post_back", args));
  expect(answer.structuredContent).toMatchObject({ method: "POST", url: `${ORIGIN}/echo`, body: '{"order":1}' });
});
