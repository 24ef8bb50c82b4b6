import { drizzle } from "drizzle-orm/d1";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { junkFailures, unknownFailures } from "../../src/gateway/auth/failures.ts";
import { forgetPolicy } from "../../src/gateway/auth/policy.ts";
import { tokenSha256 } from "../../src/gateway/auth/token.ts";
import { clients, clientTokens } from "../../src/gateway/registry/schema.ts";
import { env, migrate, rpc } from "./gateway-fixture.ts";

beforeAll(migrate);
afterEach(() => {
  vi.useRealTimers();
});
beforeEach(async () => {
  junkFailures.clear();
  unknownFailures.clear();
  await env.DB.prepare("DELETE FROM client_tokens WHERE imported").run();
  forgetPolicy();
});

const from = { "CF-Connecting-IP": "203.0.113.99" };
const bindings = { AUTH_FAILURES_PER_MINUTE: "5" };

/** Authenticated requests without an origin are answered 400, the others 401 or 429. */
const status = async (token: string) => (await rpc("/mcp", "ping", { token, headers: from, bindings })).status;

let made = 0;

async function moveIn(token: string, revokedAt: number | null = null): Promise<void> {
  made += 1;
  const id = `cli_imported_${made}_${crypto.randomUUID().slice(0, 8)}`;
  const db = drizzle(env.DB);
  await db.insert(clients).values({ id, name: "old", status: "active", grantAll: true, createdAt: 0, updatedAt: 0 });
  const row = { id: `tok_${id}`, clientId: id, createdAt: 0, revokedAt, imported: true };
  await db.insert(clientTokens).values({ ...row, tokenSha256: await tokenSha256(token) });
  forgetPolicy();
}

describe("tokens that another gateway issued", () => {
  it.each(["plain", "sg_looks_like_ours", "with spaces in it", "{json}", "x".repeat(512)])(
    "count: %s",
    async (token) => {
      await moveIn(token);
      expect(await status(token)).toBe(400);
      expect(await status(token)).toBe(400);
      expect(await status(`${token}x`)).toBe(401);
    },
  );

  it("count no more once revoked", async () => {
    await moveIn("revoked", 1);
    expect(await status("revoked")).toBe(401);
  });

  it("open no door: 40 guesses read the database once for all, and are refused past the limit; the token still counts", async () => {
    // Failures are counted by the minute, and must not come upon the next one.
    vi.useFakeTimers({ toFake: ["Date"] });
    await moveIn("honest");
    const prepare = vi.spyOn(env.DB, "prepare");
    const guesses = await Promise.all(Array.from({ length: 40 }, (_, i) => status(`guess ${i}`)));
    expect(guesses.filter((one) => one === 401).length).toBe(5);
    expect(guesses.filter((one) => one === 429).length).toBe(35);
    // What others left to be written behind their answers is no read of tokens.
    expect(prepare.mock.calls.filter(([query]) => query.includes("client_tokens")).length).toBe(1);
    prepare.mockRestore();
    expect(await status("honest")).toBe(400);
  });

  it("[code:policy_unavailable] are not called wrong while nobody can know them", async () => {
    const down = { ...bindings, DB: env.EMPTY_DB };
    expect((await rpc("/mcp", "ping", { token: "perhaps", headers: from, bindings: down })).status).toBe(503);
    expect((await rpc("/mcp", "ping", { headers: from, bindings: down })).status).toBe(401);
  });
});
