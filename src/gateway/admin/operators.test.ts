import { beforeEach, describe, expect, it } from "vitest";
import { MAX_OPERATOR_TOKENS } from "../registry/operator-tokens.ts";
import { ADMIN_TOKEN, call, freshDatabase, newOperator, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

const lastAudit = async () => (await call("GET", "/audit?limit=1")).body.items[0];
const DAY_MS = 24 * 3_600_000;

describe("operators", () => {
  it("are created, read, listed and changed, each with an audit row", async () => {
    const wanted = { name: "Ada", role: "reviewer", accessEmail: "Ada@Example.com" };
    const { status, body } = await call("POST", "/operators", wanted);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^opr_[0-9a-f]{24}$/),
      ...{ name: "Ada", role: "reviewer", status: "active", accessEmail: "ada@example.com" },
      ...{ createdAt: expect.any(Number), updatedAt: expect.any(Number) },
    });
    expect(await lastAudit()).toMatchObject({ action: "operator.create", subject: body.id, actor: "admin-token" });
    expect((await call("GET", `/operators/${body.id}`)).body).toEqual(body);
    const changed = (await call("PATCH", `/operators/${body.id}`, { role: "admin", accessEmail: null })).body;
    expect(changed).toMatchObject({ name: "Ada", role: "admin", accessEmail: null });
    expect(await lastAudit()).toMatchObject({
      action: "operator.update",
      detail: { role: "admin", accessEmail: null },
    });
    await newOperator("viewer");
    expect((await call("GET", "/operators?role=admin&status=active")).body.items).toEqual([changed]);
    expect((await call("GET", "/operators")).body.items.length).toBe(2);
  });

  it("[code:already_exists] have e-mail addresses of their own", async () => {
    const ada = { name: "Ada", role: "admin", accessEmail: "ada@example.com" };
    const { id } = (await call("POST", "/operators", ada)).body;
    const answer = await call("POST", "/operators", { ...ada, name: "Eve", accessEmail: "ADA@example.com" });
    expect(answer.body).toMatchObject({ status: 409, code: "already_exists", id });
    expect((await call("PATCH", `/operators/${id}`, { accessEmail: "ada@example.com" })).status).toBe(200);
  });

  it.each([
    [{ role: "viewer" }, "name"],
    [{ name: "x", role: "owner" }, "role"],
    [{ name: "x", role: "viewer", accessEmail: "no address" }, "accessEmail"],
    [{ name: "a\u202eb", role: "viewer" }, "name"],
    [{ name: "\u200b\u2060", role: "viewer" }, "name"],
    [{ name: "x", role: "viewer", admin: true }, "admin"],
  ])("[code:bad_request] %j names %s", async (body, field) => {
    const answer = await call("POST", "/operators", body);
    expect(answer.body).toMatchObject({ status: 400, code: "bad_request", errors: [{ field }] });
  });
});

describe("a live stream", () => {
  it("is not opened for an operator who was suspended after being let in, though the streams' end came before it", async () => {
    const { id, token } = await newOperator("viewer");
    const { LIVE_FEED } = testEnv;
    const feed = LIVE_FEED.get(LIVE_FEED.idFromName("all"));
    let cancelled = false;
    const slow = {
      async fetch(...request: Parameters<typeof feed.fetch>) {
        await call("PATCH", `/operators/${id}`, { status: "suspended" });
        const { body, headers } = await feed.fetch(...request);
        await body?.cancel();
        const cancel = () => {
          cancelled = true;
        };
        return new Response(new ReadableStream({ cancel }), { headers });
      },
    };
    const bindings = { ...testEnv, LIVE_FEED: { idFromName: () => "all", get: () => slow } };
    expect(await call("GET", "/events", undefined, { token, bindings })).toMatchObject({
      status: 401,
      body: { code: "unauthorized" },
    });
    expect(cancelled).toBe(true);
  });
});

describe("inspection tokens of an operator", () => {
  it.each([{ status: "suspended" }, { role: "reviewer" }])("end with %j", async (change) => {
    const client = (await call("POST", "/clients", { name: "desk", rpm: null, grants: "all" })).body.id;
    const [ada, bob] = [await newOperator("admin"), await newOperator("admin")];
    for (const { token } of [ada, bob]) await call("POST", `/clients/${client}/inspection-tokens`, {}, { token });
    await call("POST", `/clients/${client}/tokens`, {}, { token: ada.token });
    const states = async () =>
      (await call("GET", `/clients/${client}/tokens`)).body.items.map(
        ({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`,
      );
    await call("PATCH", `/operators/${ada.id}`, { name: "Ada" });
    expect(await states()).toEqual(["inspection active", "inspection active", "client active"]);
    await call("PATCH", `/operators/${ada.id}`, change);
    expect((await states()).sort()).toEqual(["client active", "inspection active", "inspection revoked"]);
    await call("POST", `/clients/${client}/inspection-tokens`);
    await call("POST", "/bootstrap/retire", {}, { token: bob.token });
    const left = (await call("GET", `/clients/${client}/tokens`, undefined, { token: bob.token })).body.items;
    expect(left.filter(({ status }: { status: string }) => status === "revoked")).toHaveLength(2);
  });
});

describe("operators' tokens", () => {
  it("are shown once, expire in 90 days unless told otherwise, and show their last use", async () => {
    const { id } = await newOperator("viewer");
    const { body } = await call("POST", `/operators/${id}/tokens`);
    expect(body.token).toMatch(/^sgo_[0-9a-z]{32}_[0-9a-z]{7}$/);
    expect(Math.round((body.expiresAt - Date.now()) / DAY_MS)).toBe(90);
    expect((await call("GET", "/origins", undefined, { token: body.token })).status).toBe(200);
    const { token: _, ...rest } = body;
    await expect
      .poll(async () => (await call("GET", `/operators/${id}/tokens`)).body.items[1])
      .toEqual({ ...rest, lastUsedAt: expect.any(Number) });
  });

  it("[code:bad_request] do not outlive a year", async () => {
    const { id } = await newOperator("viewer");
    for (const expiresAt of [0, Date.now() - 1, Date.now() + 367 * DAY_MS, null, 1.5]) {
      const answer = await call("POST", `/operators/${id}/tokens`, { expiresAt });
      expect(answer.body).toMatchObject({ code: "bad_request", errors: [{ field: "expiresAt" }] });
    }
    expect((await call("POST", `/operators/${id}/tokens`, { expiresAt: Date.now() + 365 * DAY_MS })).status).toBe(201);
  });

  it("are revoked at once; again changes nothing", async () => {
    const { id, token, tokenId } = await newOperator("viewer");
    for (let i = 0; i < 2; i++) expect((await call("DELETE", `/operators/${id}/tokens/${tokenId}`)).status).toBe(204);
    expect((await call("GET", "/origins", undefined, { token })).status).toBe(401);
    const revokes = (await call("GET", "/audit?action=operator.token.revoke")).body.items;
    expect(revokes.length).toBe(1);
  });

  it(`[code:too_many_tokens] are at most ${MAX_OPERATOR_TOKENS} usable ones`, async () => {
    const { id } = await newOperator("viewer");
    const insert = testEnv.DB.prepare(
      "INSERT INTO operator_tokens (id, operator_id, token_sha256, created_at, expires_at) VALUES (?1, ?2, ?1, 1, ?3)",
    );
    const later = Date.now() + DAY_MS;
    const fill = Array.from({ length: MAX_OPERATOR_TOKENS - 1 }, (_, i) => insert.bind(`opt_${i}`, id, later));
    await testEnv.DB.batch([...fill, insert.bind("opt_expired", id, 1)]);
    expect((await call("POST", `/operators/${id}/tokens`)).body.code).toBe("too_many_tokens");
  });
});

describe("retiring ADMIN_TOKEN", () => {
  it("[code:bad_state] needs an admin who signs in without it", async () => {
    expect((await call("POST", "/bootstrap/retire")).body).toMatchObject({ status: 409, code: "bad_state" });
    const { token, id } = await newOperator("admin");
    const opened = await call("POST", "/session", { token: ADMIN_TOKEN }, { token: null });
    const Cookie = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
    const retired = await call("POST", "/bootstrap/retire", undefined, { token });
    expect(retired.body).toEqual({ retiredAt: expect.any(Number) });
    expect((await call("POST", "/bootstrap/retire", undefined, { token })).body).toEqual(retired.body);
    expect((await call("GET", "/session")).status).toBe(401);
    expect((await call("GET", "/session", undefined, { token: null, headers: { Cookie } })).status).toBe(401);
    expect((await call("POST", "/session", { token: ADMIN_TOKEN }, { token: null })).status).toBe(401);
    expect((await call("GET", "/bootstrap", undefined, { token })).body).toEqual(retired.body);
    const [row] = (await call("GET", "/audit?limit=1", undefined, { token })).body.items;
    expect(row).toMatchObject({ action: "bootstrap.retire", actor: id });
    // As SECURITY.md says.
    await testEnv.DB.prepare("UPDATE console_state SET bootstrap_retired_at = NULL").run();
    expect((await call("GET", "/session")).status).toBe(200);
  });

  it("[code:last_admin] keeps the last admin's way in", async () => {
    const { id, token, tokenId } = await newOperator("admin");
    const other = await newOperator("admin");
    const viewer = await newOperator("viewer");
    const as = { token };
    await call("POST", "/bootstrap/retire", undefined, as);
    // Another admin is left.
    expect((await call("PATCH", `/operators/${other.id}`, { status: "suspended" }, as)).status).toBe(200);
    for (const change of [{ role: "reviewer" }, { status: "suspended" }]) {
      expect((await call("PATCH", `/operators/${id}`, change, as)).body).toMatchObject({
        status: 409,
        code: "last_admin",
        id,
      });
    }
    expect((await call("DELETE", `/operators/${id}/tokens/${tokenId}`, undefined, as)).body.code).toBe("last_admin");
    // What takes nothing of an admin's is free.
    expect((await call("DELETE", `/operators/${viewer.id}/tokens/${viewer.tokenId}`, undefined, as)).status).toBe(204);
    expect((await call("PATCH", `/operators/${id}`, { name: "Ada" }, as)).status).toBe(200);
    // An e-mail address is a way in where Access is in use.
    await call("PATCH", `/operators/${id}`, { accessEmail: "ada@example.com" }, as);
    const bindings = { ...testEnv, ACCESS_TEAM_DOMAIN: "team.cloudflareaccess.com", ACCESS_AUD: "a".repeat(64) };
    expect((await call("DELETE", `/operators/${id}/tokens/${tokenId}`, undefined, { token, bindings })).status).toBe(
      204,
    );
  });

  it("[code:last_admin] holds also where two admins suspend each other at the same time", async () => {
    const [ada, bob] = [await newOperator("admin"), await newOperator("admin")];
    await call("POST", "/bootstrap/retire", undefined, { token: ada.token });
    const suspend = (id: string, token: string) =>
      call("PATCH", `/operators/${id}`, { status: "suspended" }, { token });
    const answers = await Promise.all([suspend(bob.id, ada.token), suspend(ada.id, bob.token)]);
    const statuses = answers.map(({ status }) => status).sort();
    // The second may come too late even to be heard.
    expect([JSON.stringify([200, 401]), JSON.stringify([200, 409])]).toContain(JSON.stringify(statuses));
    const left = await testEnv.DB.prepare("SELECT count(*) AS n FROM operators WHERE status = 'active'").first("n");
    expect(left).toBe(1);
  });
});
