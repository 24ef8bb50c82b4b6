import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { adminFailures } from "../auth/failures.ts";
import { ADMIN_TOKEN, call, freshDatabase, testEnv } from "./fixture.ts";

beforeAll(async () => {
  await freshDatabase();
  // Failures are counted by the minute, and must not come upon the next one.
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterAll(() => {
  vi.useRealTimers();
});
beforeEach(() => adminFailures.clear());

describe("sign-in", () => {
  it("takes the scheme in any case", async () => {
    const headers = { Authorization: `bEARER ${ADMIN_TOKEN}` };
    expect((await call("GET", "/origins", undefined, { token: null, headers })).status).toBe(200);
  });

  it("takes a token with characters that client tokens do not have", async () => {
    const token = "p%ss$word,with!signs?";
    expect(
      (await call("GET", "/origins", undefined, { token, bindings: { ...testEnv, ADMIN_TOKEN: token } })).status,
    ).toBe(200);
  });

  it("[code:bad_setting] answers nobody with an ADMIN_TOKEN of 15 characters", async () => {
    const token = "x".repeat(15);
    const answer = await call("GET", "/origins", undefined, { token, bindings: { ...testEnv, ADMIN_TOKEN: token } });
    expect(answer.status).toBe(503);
  });

  it("[code:rate_limited] throttles failed sign-ins of one address and of no other", async () => {
    const bindings = { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" };
    const from = (address: string, token = ADMIN_TOKEN) =>
      call("GET", "/origins", undefined, { token, bindings, headers: { "CF-Connecting-IP": address } });
    for (let i = 0; i < 3; i++) expect((await from("203.0.113.7", "wrong-token")).status).toBe(401);
    const throttled = await from("203.0.113.7");
    expect(throttled.status).toBe(429);
    expect(throttled.body.code).toBe("rate_limited");
    expect(Number(throttled.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect((await from("203.0.113.8")).status).toBe(200);
  });

  it("counts every guess at a session, and none by a session that ended", async () => {
    const bindings = { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" };
    const opened = await call("POST", "/session", { token: ADMIN_TOKEN }, { token: null });
    const session = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
    await testEnv.DB.prepare("UPDATE operator_sessions SET revoked_at = 1").run();
    const by = async (cookie: string) =>
      (await call("GET", "/origins", undefined, { token: null, bindings, headers: { Cookie: cookie } })).status;
    // A console that was left open.
    for (let i = 0; i < 8; i++) expect(await by(session)).toBe(401);
    expect((await call("GET", "/origins", undefined, { bindings })).status).toBe(200);
    const guesses = [0, 1, 2, 3].map((n) => `__Host-skillgate-session=${String(n).repeat(64)}`);
    expect(await Promise.all(guesses.slice(0, 3).map(by))).toEqual([401, 401, 401]);
    expect(await by(guesses[3] ?? "")).toBe(429);
    expect(await by(session)).toBe(429);
  });

  it("successful sign-ins are never throttled", async () => {
    const bindings = { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" };
    for (let i = 0; i < 6; i++) expect((await call("GET", "/audit", undefined, { bindings })).status).toBe(200);
  });
});
