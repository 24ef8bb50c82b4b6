import { beforeEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN, call, freshDatabase, register, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

/** The platform's own D1 client in front of a service that answers 500 to everything. */
function brokenDatabase(): D1Database {
  const Client = testEnv.DB.constructor as new (service: unknown) => D1Database;
  return new Client(testEnv.BROKEN_D1);
}

/** D1 that answers reads and fails in the middle of a write. */
function failingWrites(): D1Database {
  const broken = brokenDatabase();
  return new Proxy(testEnv.DB, {
    get(target, name) {
      if (name === "batch") return () => broken.batch([broken.prepare("SELECT 1")]);
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function quietly<T>(work: () => Promise<T>): Promise<{ answer: T; lines: string }> {
  const errors = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    const answer = await work();
    return { answer, lines: errors.mock.calls.flat().join("\n") };
  } finally {
    errors.mockRestore();
  }
}

describe("[code:policy_unavailable] with D1 down", () => {
  const bindings = () => ({ ...testEnv, ADMIN_TOKEN, DB: brokenDatabase() });

  it.each([
    ["GET", "/origins", undefined],
    ["GET", "/clients", undefined],
    ["GET", "/audit", undefined],
    ["POST", "/origins", { origin: "https://a.example" }],
    ["POST", "/clients", { name: "a", rpm: null, grants: "all" }],
  ])("%s %s is a problem with Retry-After, and says nothing of what failed", async (method, path, body) => {
    const { answer, lines } = await quietly(() => call(method, path, body, { bindings: bindings() }));
    expect(answer.body).toMatchObject({ status: 503, code: "policy_unavailable" });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("Retry-After")).toBe("5");
    expect(answer.headers.get("Content-Type")).toContain("application/problem+json");
    expect(JSON.stringify(answer.body)).not.toMatch(/1105|D1_|select|insert/i);
    expect(lines).toContain(answer.body.requestId);
  });

  it("a write that was not confirmed says so", async () => {
    const body = { origin: "https://a.example" };
    const { answer } = await quietly(() =>
      call("POST", "/origins", body, { bindings: { ...testEnv, DB: failingWrites() } }),
    );
    expect(answer.body).toMatchObject({ status: 503, code: "policy_unavailable" });
    expect(answer.body.detail).toContain("may have been made, or not");
    expect((await call("GET", "/origins")).body.items).toEqual([]);
  });

  it("nobody is let in whose credential may have been taken back, and what cannot be one is refused as ever", async () => {
    const { answer } = await quietly(() => call("GET", "/openapi.json", undefined, { bindings: bindings() }));
    expect(answer.body).toMatchObject({ status: 503, code: "policy_unavailable" });
    const refused = await call("GET", "/origins", undefined, { bindings: bindings(), token: "wrong-token-0123456789" });
    expect(refused.body).toMatchObject({ status: 401, code: "unauthorized" });
    expect((await register("https://b.example")).startsWith("org_")).toBe(true);
  });
});
