import { beforeAll, describe, expect, it } from "vitest";
import { clientGas } from "../../src/gateway/fair-shares/client-gas.ts";
import { expectRpc } from "./expect-refusal.ts";
import { addClient, addOrigin, mcp, migrate, result, rpc } from "./gateway-fixture.ts";

beforeAll(migrate);

const sum = { name: "sum_numbers", arguments: { a: 1, b: 2 } };

describe("gas a client minute", () => {
  it("[code:rate_limited] [budget:client-gas] refuses further calls of that client alone, and nothing but calls", async () => {
    clientGas.clear();
    const { origin } = await addOrigin();
    const [busy, other] = [await addClient(), await addClient()];
    const bindings = { CLIENT_GAS_PER_MINUTE: "100" };
    const call = (token: string) => rpc(mcp(origin), "tools/call", { token, params: sum, bindings });
    expect(await result(await call(busy.token))).toMatchObject({ structuredContent: { result: 3 } });
    const refused = await call(busy.token);
    const wait = Number(refused.headers.get("Retry-After"));
    expect(wait).toBeGreaterThanOrEqual(60);
    expect(wait).toBeLessThanOrEqual(65);
    await expectRpc(refused, 429, "rate_limited");
    expect((await rpc(mcp(origin), "tools/list", { token: busy.token, bindings })).status).toBe(200);
    expect((await rpc(mcp(origin), "ping", { token: busy.token, bindings })).status).toBe(200);
    expect(await result(await call(other.token))).toMatchObject({ structuredContent: { result: 3 } });
    // With the default budget it is one call of many.
    expect((await rpc(mcp(origin), "tools/call", { token: busy.token, params: sum })).status).toBe(200);
    clientGas.clear();
  });
});

describe("a tool that burns all its gas", () => {
  it("[budget:gas-exhaustions] is suspended at its sixth call, whoever calls, and its origin's other tools go on", async () => {
    const { origin } = await addOrigin("burning");
    const clients = [await addClient(), await addClient()];
    const bindings = { CALL_GAS: "100000" };
    const call = async (index: number, params: object) => {
      const token = clients[index % 2]?.token ?? "";
      return result(await rpc(mcp(origin), "tools/call", { token, params, bindings }));
    };
    const texts: string[] = [];
    for (let index = 0; index < 7; index++) {
      const { isError, content } = (await call(index, { name: "burn", arguments: {} })) as {
        isError: boolean;
        content: { text: string }[];
      };
      expect(isError).toBe(true);
      texts.push(content[0]?.text ?? "");
    }
    expect(texts.slice(0, 5).every((text) => text.startsWith("gas exhausted"))).toBe(true);
    for (const text of texts.slice(5)) expect(text).toMatch(/^tool suspended: .* call it again in (?:60|[1-5]?\d) s$/);
    expect(await call(0, sum)).toMatchObject({ structuredContent: { result: 3 } });
  });
});
