import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { tokenSha256 } from "../../src/gateway/auth/token.ts";
import { clients, clientTokens, origins } from "../../src/gateway/registry/schema.ts";
import { addClient, addOrigin, env, mcp, migrate, rpc, send } from "./gateway-fixture.ts";

beforeAll(migrate);

afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

function signal(): [promise: Promise<void>, give: () => void] {
  let give = () => {};
  const promise = new Promise<void>((resolve) => {
    give = resolve;
  });
  return [promise, () => give()];
}

/** A request whose body comes when it is told to. */
async function slowRequest() {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { id, token } = await addClient();
  const { id: originId, origin } = await addOrigin();
  const path = mcp(origin);
  expect((await rpc(path, "tools/list", { token })).status).toBe(200);
  const [begun, begin] = signal();
  const [gate, open] = signal();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        begin();
        await gate;
        controller.enqueue(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    Authorization: `Bearer ${token}`,
  };
  const answer = send(path, { method: "POST", headers, body });
  await begun;
  return {
    ...{ id, token, originId },
    finish: async () => {
      open();
      const { status } = await answer;
      return status;
    },
  };
}

describe("a request that takes its time with its body", () => {
  it.each([
    [
      "a token revoked",
      401,
      async ({ token }: { token: string }) => {
        const sha256 = await tokenSha256(token);
        await drizzle(env.DB)
          .update(clientTokens)
          .set({ revokedAt: Date.now() })
          .where(eq(clientTokens.tokenSha256, sha256));
      },
    ],
    [
      "a client suspended",
      401,
      async ({ id }: { id: string }) => {
        await drizzle(env.DB).update(clients).set({ status: "suspended" }).where(eq(clients.id, id));
      },
    ],
    [
      "an origin suspended",
      403,
      async ({ originId }: { originId: string }) => {
        await drizzle(env.DB).update(origins).set({ status: "suspended" }).where(eq(origins.id, originId));
      },
    ],
  ] as const)("finds %s by another isolate meanwhile in force 5 s later", async (_, status, decide) => {
    const request = await slowRequest();
    await decide(request);
    pass(5_001);
    expect(await request.finish()).toBe(status);
  });

  it("is answered where nothing was decided meanwhile", async () => {
    const request = await slowRequest();
    pass(60_001);
    expect(await request.finish()).toBe(200);
  });
});
