import { beforeEach, describe, expect, it } from "vitest";
import { tokenSha256 } from "../auth/token.ts";
import { MAX_USABLE_TOKENS } from "../registry/tokens.ts";
import { call, freshDatabase, newClient, register, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

describe("clients", () => {
  it("are created active, with a trimmed name and an id that is safe as a header value", async () => {
    const { status, body } = await call("POST", "/clients", { name: "  Ünïcode 🙂 desk ", rpm: 60, grants: "all" });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^cli_[0-9a-f]{24}$/),
      name: "Ünïcode 🙂 desk",
      status: "active",
      rpm: 60,
      dailyQuota: null,
      grants: "all",
      createdAt: expect.any(Number),
      updatedAt: body.createdAt,
    });
    expect((await call("GET", `/clients/${body.id}`)).body).toEqual(body);
    expect((await call("GET", "/clients")).body).toEqual({ items: [body], nextCursor: null });
  });

  it("are granted single origins, each once, in a fixed order", async () => {
    const a = await register("https://a.example");
    const b = await register("https://b.example");
    const { body } = await call("POST", "/clients", { name: "x", rpm: null, grants: [b, a, b] });
    expect(body.grants).toEqual([a, b].sort());
    const none = await call("POST", "/clients", { name: "y", rpm: null, grants: [] });
    expect(none.body.grants).toEqual([]);
    expect((await call("GET", "/clients")).body.items.map((item: { grants: unknown }) => item.grants)).toContainEqual(
      body.grants,
    );
  });

  it("[code:unknown_origin] are not granted what is not registered, and then do not exist", async () => {
    const known = await register("https://a.example");
    const missing = `org_${"0".repeat(24)}`;
    const answer = await call("POST", "/clients", { name: "x", rpm: null, grants: [known, missing] });
    expect(answer.body).toMatchObject({ status: 400, code: "unknown_origin", id: missing });
    expect((await call("GET", "/clients")).body.items).toEqual([]);
  });

  it("[budget:grants] take 500 grants and no 501st", async () => {
    const ids = Array.from({ length: 500 }, (_, i) => `org_${i.toString(16).padStart(24, "0")}`);
    const insert = testEnv.DB.prepare(
      "INSERT INTO origins (id, origin, status, created_at, updated_at) VALUES (?1, ?1, 'pending', 1, 1)",
    );
    await testEnv.DB.batch(ids.map((id) => insert.bind(id)));
    const full = await call("POST", "/clients", { name: "x", rpm: null, grants: ids });
    expect(full.status).toBe(201);
    expect((await call("GET", `/clients/${full.body.id}`)).body.grants).toEqual(ids);
    const over = await call("POST", "/clients", { name: "x", rpm: null, grants: [...ids, ids[0]] });
    expect(over.body.detail).toBe('grants must be "all" or a list of at most 500 origin ids.');
  });

  it.each<readonly [unknown, string, string]>([
    [{ rpm: 1, grants: "all" }, "name", "must be a string"],
    [{ name: 5, rpm: 1, grants: "all" }, "name", "must be a string"],
    [{ name: "  ", rpm: 1, grants: "all" }, "name", "must not be empty"],
    [{ name: "x".repeat(101), rpm: 1, grants: "all" }, "name", "must have at most 100 characters"],
    [{ name: "a\nb", rpm: 1, grants: "all" }, "name", "must not contain control or text-direction characters"],
    [{ name: "a\u202eb", rpm: 1, grants: "all" }, "name", "must not contain control or text-direction characters"],
    [{ name: "a\ud800b", rpm: 1, grants: "all" }, "name", "must not contain control or text-direction characters"],
    ...["\u200b", "\u200b \u2060", "\u0301\u0302", "\u3164", "\u2800", "\u{e0041}", "\ufe0f\u200d"].map(
      (name) => [{ name, rpm: 1, grants: "all" }, "name", "must have a visible character"] as const,
    ),
    [{ name: "a", grants: "all" }, "rpm", "must be null or a whole number from 0 to 1000000"],
    [{ name: "a", rpm: "1", grants: "all" }, "rpm", "must be null or a whole number from 0 to 1000000"],
    [{ name: "a", rpm: -1, grants: "all" }, "rpm", "must be null or a whole number from 0 to 1000000"],
    [{ name: "a", rpm: 1.5, grants: "all" }, "rpm", "must be null or a whole number from 0 to 1000000"],
    [{ name: "a", rpm: 1_000_001, grants: "all" }, "rpm", "must be null or a whole number from 0 to 1000000"],
    [
      { name: "a", rpm: 1, dailyQuota: -1, grants: "all" },
      "dailyQuota",
      "must be null or a whole number from 0 to 1000000000",
    ],
    [{ name: "a", rpm: 1 }, "grants", 'must be "all" or a list of at most 500 origin ids'],
    [{ name: "a", rpm: 1, grants: "some" }, "grants", 'must be "all" or a list of at most 500 origin ids'],
    [{ name: "a", rpm: 1, grants: ["x"] }, "grants.0", "must be the id of an origin"],
    [{ name: "a", rpm: 1, grants: "all", rmp: 2 }, "rmp", "is not known here"],
  ])("[code:bad_request] %j names %s", async (body, field, message) => {
    const answer = await call("POST", "/clients", body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: "bad_request",
      detail: `${field} ${message}.`,
      errors: [{ field, message }],
    });
  });

  it("[code:bad_request] names every wrong member, and never repeats a value", async () => {
    const { body } = await call("POST", "/clients", { name: "", rpm: "secret-value", grants: 7 });
    expect(body.errors.map((error: { field: string }) => error.field)).toEqual(["name", "rpm", "grants"]);
    expect(JSON.stringify(body)).not.toContain("secret-value");
  });

  it.each(["[]", "null", "5", '"x"'])("[code:bad_request] refuse the body %s", async (raw) => {
    const answer = await call("POST", "/clients", undefined, { raw, headers: { "Content-Type": "application/json" } });
    expect(answer.body).toMatchObject({ status: 400, code: "bad_request" });
  });

  it("change only in the members given", async () => {
    const origin = await register("https://a.example");
    const id = await newClient("before");
    const first = await call("PATCH", `/clients/${id}`, { rpm: 0, status: "suspended" });
    expect(first.body).toMatchObject({ name: "before", rpm: 0, status: "suspended", grants: "all" });
    const second = await call("PATCH", `/clients/${id}`, { name: "after", grants: [origin], dailyQuota: 9 });
    expect(second.body).toMatchObject({ name: "after", rpm: 0, status: "suspended", grants: [origin], dailyQuota: 9 });
    const third = await call("PATCH", `/clients/${id}`, {
      grants: "all",
      rpm: null,
      dailyQuota: null,
      status: "active",
    });
    expect(third.body).toMatchObject({ rpm: null, status: "active", grants: "all", dailyQuota: null });
    expect((await call("GET", `/clients/${id}`)).body).toEqual(third.body);
  });

  it("leave no audit row when a change changes nothing", async () => {
    const id = await newClient("same");
    const before = (await call("GET", `/clients/${id}`)).body;
    for (const change of [{}, { name: " same " }, { rpm: null, grants: "all", status: "active" }]) {
      expect((await call("PATCH", `/clients/${id}`, change)).body).toEqual(before);
    }
    expect((await call("GET", "/audit")).body.items.length).toBe(1);
  });

  it("[code:unknown_origin] keep their grants when a change names an unknown origin", async () => {
    const origin = await register("https://a.example");
    const { body } = await call("POST", "/clients", { name: "x", rpm: null, grants: [origin] });
    const change = await call("PATCH", `/clients/${body.id}`, { name: "y", grants: [`org_${"0".repeat(24)}`] });
    expect(change.body.code).toBe("unknown_origin");
    expect((await call("GET", `/clients/${body.id}`)).body).toEqual(body);
  });
});

describe("tokens", () => {
  it("are shown once, and stored in no table but as their SHA-256", async () => {
    const client = await newClient();
    const { status, body } = await call("POST", `/clients/${client}/tokens`, {});
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^tok_[0-9a-f]{24}$/),
      token: expect.stringMatching(/^sg_/),
      clientId: client,
      status: "active",
      createdAt: expect.any(Number),
      expiresAt: null,
      revokedAt: null,
      imported: false,
      kind: "client",
      label: null,
      lastUsedAt: null,
    });
    const dump = await everything();
    const hash = await tokenSha256(body.token);
    expect(dump.filter((cell) => cell.includes(hash))).toEqual([hash]);
    const secret = body.token.split("_")[1];
    expect(dump.filter((cell) => cell.includes(secret))).toEqual([]);

    const shown = (await call("GET", `/clients/${client}/tokens`)).body;
    const { token: _, ...rest } = body;
    expect(shown).toEqual({ items: [rest], nextCursor: null });
    const audit = JSON.stringify((await call("GET", "/audit")).body);
    expect(audit).not.toContain(secret);
    expect(audit).not.toContain(hash);
  });

  it("need no body", async () => {
    const client = await newClient();
    expect((await call("POST", `/clients/${client}/tokens`)).status).toBe(201);
  });

  it("expire at the moment given", async () => {
    const client = await newClient();
    const expiresAt = Date.now() + 60_000;
    const { body } = await call("POST", `/clients/${client}/tokens`, { expiresAt });
    expect(body.expiresAt).toBe(expiresAt);
    await testEnv.DB.prepare("UPDATE client_tokens SET expires_at = 1 WHERE id = ?").bind(body.id).run();
    expect((await call("GET", `/clients/${client}/tokens`)).body.items).toMatchObject([
      { id: body.id, status: "expired" },
    ]);
  });

  it.each([0, 1, -5, 1.5, "tomorrow", 99_999_999_999_999, true])(
    "[code:bad_request] do not expire at %j",
    async (expiresAt) => {
      const { body } = await call("POST", `/clients/${await newClient()}/tokens`, { expiresAt });
      expect(body).toMatchObject({ status: 400, code: "bad_request", errors: [{ field: "expiresAt" }] });
    },
  );

  it("are revoked; again changes nothing", async () => {
    const client = await newClient();
    const { id } = (await call("POST", `/clients/${client}/tokens`, {})).body;
    expect((await call("DELETE", `/clients/${client}/tokens/${id}`)).status).toBe(204);
    const [revoked] = (await call("GET", `/clients/${client}/tokens`)).body.items;
    expect(revoked).toMatchObject({ status: "revoked", revokedAt: expect.any(Number) });
    const rows = (await call("GET", "/audit")).body.items.length;
    const again = await call("DELETE", `/clients/${client}/tokens/${id}`);
    expect({ status: again.status, body: again.body }).toEqual({ status: 204, body: null });
    expect((await call("GET", `/clients/${client}/tokens`)).body.items).toEqual([revoked]);
    expect((await call("GET", "/audit")).body.items.length).toBe(rows);
  });

  it("[code:not_found] of another client are not there", async () => {
    const mine = await newClient("mine");
    const other = await newClient("other");
    const { id } = (await call("POST", `/clients/${other}/tokens`, {})).body;
    const answer = await call("DELETE", `/clients/${mine}/tokens/${id}`);
    const unknown = await call("DELETE", `/clients/${mine}/tokens/tok_${"0".repeat(24)}`);
    expect(answer.body).toMatchObject({ status: 404, code: "not_found", detail: unknown.body.detail });
    expect((await call("GET", `/clients/${other}/tokens`)).body.items).toMatchObject([{ status: "active" }]);
  });

  it("[code:too_many_tokens] [budget:tokens] are at most 50 usable ones; a revoked one makes room", async () => {
    const client = await newClient();
    const insert = testEnv.DB.prepare(
      "INSERT INTO client_tokens (id, client_id, token_sha256, created_at, expires_at) VALUES (?1, ?2, ?1, 1, ?3)",
    );
    const fill = Array.from({ length: MAX_USABLE_TOKENS - 1 }, (_, i) =>
      insert.bind(`tok_${i.toString(16).padStart(24, "0")}`, client, null),
    );
    await testEnv.DB.batch([...fill, insert.bind("tok_expired", client, 5)]);
    const last = await call("POST", `/clients/${client}/tokens`, {});
    expect(last.status).toBe(201);
    expect((await call("POST", `/clients/${client}/tokens`, {})).body).toMatchObject({
      status: 409,
      code: "too_many_tokens",
    });
    await call("DELETE", `/clients/${client}/tokens/${last.body.id}`);
    expect((await call("POST", `/clients/${client}/tokens`, {})).status).toBe(201);
  });

  it("[code:not_found] need a client", async () => {
    for (const method of ["GET", "POST"]) {
      expect((await call(method, `/clients/cli_${"0".repeat(24)}/tokens`)).body.code).toBe("not_found");
    }
  });
});

/** Every cell of every table, as text. */
async function everything(): Promise<string[]> {
  const tables = await testEnv.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
    name: string;
  }>();
  const cells: string[] = [];
  for (const { name } of tables.results.filter((table) => !table.name.startsWith("_cf"))) {
    const { results } = await testEnv.DB.prepare(`SELECT * FROM "${name}"`).all();
    cells.push(...results.flatMap((row) => Object.values(row).map(String)));
  }
  return cells;
}
