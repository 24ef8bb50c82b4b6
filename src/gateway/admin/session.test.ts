import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN, type Answer, call, freshDatabase, newOperator, testEnv } from "./fixture.ts";

afterEach(() => {
  vi.useRealTimers();
});

beforeEach(freshDatabase);

const ORIGIN = "https://gate.example";
const FROM_CONSOLE = { Origin: ORIGIN, "Sec-Fetch-Site": "same-origin" };

const signIn = (token: string, headers: Record<string, string> = {}) =>
  call("POST", "/session", { token }, { token: null, headers });

/** What a browser sends after a sign-in. */
function browser({ headers, body }: Answer) {
  const Cookie = headers.get("Set-Cookie")?.split(";")[0] ?? "";
  return {
    Cookie,
    read: (path = "/session") => call("GET", path, undefined, { token: null, headers: { Cookie } }),
    send: (method: string, path: string, sent?: unknown, more: Record<string, string> = {}) =>
      call(method, path, sent, {
        token: null,
        headers: { Cookie, "X-CSRF-Token": body.csrfToken, ...FROM_CONSOLE, ...more },
      }),
  };
}

const lastAudit = async () => (await call("GET", "/audit?limit=1")).body.items[0];

describe("a session", () => {
  it("is opened by an operator's token, in a cookie that scripts and other sites do not get", async () => {
    const { id, token, tokenId } = await newOperator("reviewer");
    const answer = await signIn(token, FROM_CONSOLE);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      operator: { id, name: "A reviewer", role: "reviewer" },
      csrfToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      accessLogout: null,
      expiresAt: expect.any(Number),
    });
    expect(answer.body.expiresAt - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
    const cookie = answer.headers.get("Set-Cookie") ?? "";
    expect(cookie).toMatch(
      /^__Host-skillgate-session=[0-9a-f]{64}; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(await lastAudit()).toMatchObject({ action: "session.create", actor: id, detail: { tokenId } });

    const { read, send } = browser(answer);
    expect((await read()).body).toEqual(answer.body);
    const made = await send("POST", "/origins", { origin: "https://a.example" });
    expect(made.status).toBe(201);
    expect(await lastAudit()).toMatchObject({ action: "origin.create", actor: id });
    expect((await send("POST", "/clients", { name: "x", rpm: 1, grants: "all" })).body.code).toBe("role_forbidden");
  });

  it("is opened by ADMIN_TOKEN, and ends when another one is set", async () => {
    const answer = await signIn(ADMIN_TOKEN);
    expect(answer.body.operator).toEqual({ id: null, name: "ADMIN_TOKEN", role: "admin" });
    const { read, Cookie } = browser(answer);
    expect((await read()).status).toBe(200);
    const bindings = { ...testEnv, ADMIN_TOKEN: "another-admin-token-0123" };
    const later = await call("GET", "/session", undefined, { token: null, headers: { Cookie }, bindings });
    expect(later.status).toBe(401);
  });

  it("keeps no secret in the database, and none in the audit log", async () => {
    const { token } = await newOperator("admin");
    const answer = await signIn(token);
    const secret = browser(answer).Cookie.split("=")[1] ?? "";
    const dump: string[] = [];
    for (const table of ["operator_sessions", "operator_tokens", "operators", "audit_log"]) {
      dump.push(JSON.stringify((await testEnv.DB.prepare(`SELECT * FROM ${table}`).all()).results));
    }
    for (const hidden of [secret, token, answer.body.csrfToken]) expect(dump.join()).not.toContain(hidden);
  });

  it("ends with sign-out, and its cookie is taken away", async () => {
    const { read, send } = browser(await signIn((await newOperator("viewer")).token));
    const answer = await send("DELETE", "/session");
    expect(answer.status).toBe(204);
    expect(answer.headers.get("Set-Cookie")).toContain("__Host-skillgate-session=; Max-Age=0; Path=/");
    expect((await read()).status).toBe(401);
    expect(await lastAudit()).toMatchObject({ action: "session.end" });
  });

  it("ends with its token, its operator's suspension and its time; a new role holds at once", async () => {
    const { id, token, tokenId } = await newOperator("admin");
    const { read, send } = browser(await signIn(token));
    await call("PATCH", `/operators/${id}`, { role: "viewer" });
    expect((await send("POST", "/origins", { origin: "https://a.example" })).body.code).toBe("role_forbidden");
    await call("PATCH", `/operators/${id}`, { status: "suspended" });
    expect((await read()).status).toBe(401);
    await call("PATCH", `/operators/${id}`, { status: "active" });
    expect((await read()).status).toBe(200);
    await call("DELETE", `/operators/${id}/tokens/${tokenId}`);
    expect((await read()).status).toBe(401);
    const next = browser(await signIn(ADMIN_TOKEN));
    await testEnv.DB.prepare("UPDATE operator_sessions SET expires_at = ?")
      .bind(Date.now() - 1)
      .run();
    expect((await next.read()).status).toBe(401);
  });

  it("lasts no longer than its token", async () => {
    const { id } = await newOperator("viewer");
    const expiresAt = Date.now() + 60_000;
    const { token } = (await call("POST", `/operators/${id}/tokens`, { expiresAt })).body;
    expect((await signIn(token)).body.expiresAt).toBe(expiresAt);
  });

  it("has a cookie with a plain name where a loopback address without TLS serves the console", async () => {
    const request = { token: null, headers: {}, base: "http://127.0.0.1:8787" };
    const answer = await call("POST", "/session", { token: ADMIN_TOKEN }, request);
    expect(answer.headers.get("Set-Cookie")).toMatch(/^skillgate-session=[0-9a-f]{64};.* HttpOnly; SameSite=Strict$/);
    const elsewhere = await call(
      "POST",
      "/session",
      { token: ADMIN_TOKEN },
      { ...request, base: "http://gate.example" },
    );
    expect(elsewhere.headers.get("Set-Cookie")).toMatch(/^__Host-skillgate-session=/);
  });

  it("is told apart from a bearer token, which needs no proof of the page", async () => {
    const { token, id } = await newOperator("viewer");
    const { body } = await call("GET", "/session", undefined, { token });
    expect(body).toEqual({
      operator: { id, name: "A viewer", role: "viewer" },
      csrfToken: null,
      accessLogout: null,
      expiresAt: expect.any(Number),
    });
    expect((await call("GET", "/session")).body).toMatchObject({ operator: { id: null }, expiresAt: null });
  });

  it("counts for nothing beside a bearer token that is wrong", async () => {
    const { Cookie } = browser(await signIn(ADMIN_TOKEN));
    const answer = await call("GET", "/session", undefined, { token: "wrong-token-0123456789", headers: { Cookie } });
    expect(answer.status).toBe(401);
  });
});

describe("[code:csrf] a change by cookie is refused", () => {
  it.each<[string, Record<string, string | undefined>]>([
    ["without the session's CSRF token", { "X-CSRF-Token": undefined }],
    ["with another one", { "X-CSRF-Token": "0".repeat(64) }],
    ["from another site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }],
    ["from another host of the same site", { "Sec-Fetch-Site": "same-site", Origin: "https://x.gate.example" }],
    [
      "from another origin, in a browser without fetch metadata",
      { "Sec-Fetch-Site": undefined, Origin: "https://evil.example" },
    ],
    ["where no browser says which page asks", { "Sec-Fetch-Site": undefined, Origin: undefined }],
  ])("%s", async (_, changed) => {
    const opened = await signIn(ADMIN_TOKEN);
    const all = { Cookie: browser(opened).Cookie, "X-CSRF-Token": opened.body.csrfToken, ...FROM_CONSOLE, ...changed };
    const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >;
    const answer = await call("POST", "/clients", { name: "x", rpm: 1, grants: "all" }, { token: null, headers });
    expect(answer.body).toMatchObject({ status: 403, code: "csrf" });
    expect((await call("GET", "/clients")).body.items).toEqual([]);
  });

  it("signing in from another site too", async () => {
    const answer = await signIn(ADMIN_TOKEN, { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" });
    expect(answer.body).toMatchObject({ status: 403, code: "csrf" });
    expect(answer.headers.get("Set-Cookie")).toBeNull();
  });
});

describe("signing in", () => {
  it("[code:unauthorized] fails alike for every wrong token", async () => {
    const expired = await newOperator("admin");
    await testEnv.DB.prepare("UPDATE operator_tokens SET expires_at = 1").run();
    for (const token of ["x", "wrong-token-0123456789", expired.token, `${expired.token}0`]) {
      const answer = await signIn(token);
      expect(answer.body).toMatchObject({ status: 401, code: "unauthorized" });
      expect(answer.headers.get("Set-Cookie")).toBeNull();
    }
  });

  it("[code:rate_limited] is throttled by address together with the rest of the API", async () => {
    // Failures are counted by the minute, and must not come upon the next one.
    vi.useFakeTimers({ toFake: ["Date"] });
    const request = {
      token: null,
      headers: { "CF-Connecting-IP": "203.0.113.9" },
      bindings: { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" },
    };
    for (let i = 0; i < 3; i++) expect((await call("POST", "/session", { token: "wrong" }, request)).status).toBe(401);
    expect((await call("POST", "/session", { token: ADMIN_TOKEN }, request)).body.code).toBe("rate_limited");
    expect((await call("GET", "/session", undefined, { ...request, token: ADMIN_TOKEN })).body.code).toBe(
      "rate_limited",
    );
  });

  it("asking without a credential guesses nothing, and is not throttled", async () => {
    const request = { token: null, bindings: { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" } };
    for (let i = 0; i < 5; i++) expect((await call("GET", "/session", undefined, request)).status).toBe(401);
  });

  it("[code:bad_request] [code:too_large] reads little of what strangers send", async () => {
    expect((await call("POST", "/session", {}, { token: null })).body.code).toBe("bad_request");
    expect((await signIn("x".repeat(513))).body.code).toBe("bad_request");
    expect((await signIn("x".repeat(5_000))).body.code).toBe("too_large");
  });
});
