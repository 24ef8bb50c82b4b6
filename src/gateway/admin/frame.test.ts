import { beforeEach, describe, expect, it } from "vitest";
import { call, found, freshDatabase, newClient, newOperator, publishers, register, testEnv } from "./fixture.ts";

beforeEach(freshDatabase);

const CLIENT = { name: "desk", rpm: 5, grants: "all" };
const idempotent = (key: string) => ({ headers: { "Idempotency-Key": key } });
const ifMatch = (etag: string | null) => ({ headers: { "If-Match": etag ?? "" } });
const auditRows = async () => (await call("GET", "/audit")).body.items.length;

describe("If-Match", () => {
  it("[code:precondition_failed] refuses a change of what changed since it was read", async () => {
    const path = `/clients/${await newClient()}`;
    const read = await call("GET", path);
    const etag = read.headers.get("ETag");
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    const first = await call("PATCH", path, { rpm: 1 }, ifMatch(etag));
    expect(first.status).toBe(200);
    const lost = await call("PATCH", path, { rpm: 2 }, ifMatch(etag));
    expect(lost.body).toMatchObject({ status: 412, code: "precondition_failed" });
    expect(lost.headers.get("ETag")).toBe(first.headers.get("ETag"));
    expect((await call("GET", path)).body.rpm).toBe(1);
    expect((await call("PATCH", path, { rpm: 2 }, ifMatch(first.headers.get("ETag")))).status).toBe(200);
  });

  it.each([
    ["*", 200],
    ['"other", ETAG', 200],
    ["W/ETAG", 200],
    ['"other"', 412],
    ["", 412],
  ])("understands %s", async (template, status) => {
    const path = `/clients/${await newClient()}`;
    const etag = (await call("GET", path)).headers.get("ETag") ?? "";
    const answer = await call("PATCH", path, { rpm: 7 }, ifMatch(template.replace("ETAG", etag)));
    expect(answer.status).toBe(status);
  });

  it("lets one of many changes at once through", async () => {
    const path = `/clients/${await newClient()}`;
    const etag = (await call("GET", path)).headers.get("ETag");
    const answers = await Promise.all([1, 2, 3, 4, 5].map((rpm) => call("PATCH", path, { rpm }, ifMatch(etag))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412]);
  });

  it("guards the steps of an origin too, and its tag is not moved by calls", async () => {
    publishers.set("https://a.example", found(["sum", "a"]));
    const id = await register("https://a.example");
    const registered = await call("GET", `/origins/${id}`);
    await call("POST", `/origins/${id}/probe`);
    const stale = await call("POST", `/origins/${id}/activate`, {}, ifMatch(registered.headers.get("ETag")));
    expect(stale.body.code).toBe("precondition_failed");
    const probed = await call("GET", `/origins/${id}`);
    await testEnv.DB.prepare("UPDATE origins SET last_called_at = 5").run();
    const active = await call("POST", `/origins/${id}/activate`, {}, ifMatch(probed.headers.get("ETag")));
    expect(active.body).toMatchObject({ status: "active", lastCalledAt: 5 });
    const again = await call("POST", `/origins/${id}/revoke`, { reason: "x" }, ifMatch(probed.headers.get("ETag")));
    expect(again.body.code).toBe("precondition_failed");
  });

  it("guards an activation that has to probe first", async () => {
    publishers.set("https://a.example", found(["sum", "a"]));
    const id = await register("https://a.example");
    const { headers } = await call("GET", `/origins/${id}`);
    expect((await call("POST", `/origins/${id}/activate`, {}, ifMatch('"other"'))).body.code).toBe(
      "precondition_failed",
    );
    expect((await call("GET", `/origins/${id}`)).body.probedAt).toBeNull();
    const activated = await call("POST", `/origins/${id}/activate`, {}, ifMatch(headers.get("ETag")));
    expect(activated.body.status).toBe("active");
  });
});

describe("Idempotency-Key", () => {
  it("answers the same request as before, and creates once", async () => {
    const first = await call("POST", "/clients", CLIENT, idempotent("k-1"));
    const again = await call("POST", "/clients", CLIENT, idempotent("k-1"));
    expect(first.status).toBe(201);
    expect(first.headers.get("Idempotent-Replayed")).toBeNull();
    expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    expect(again.headers.get("ETag")).toBe(first.headers.get("ETag"));
    expect((await call("GET", "/clients")).body.items.length).toBe(1);
    expect(await auditRows()).toBe(1);
  });

  it("creates once where many ask at the same time", async () => {
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => call("POST", "/clients", CLIENT, idempotent("k-1"))));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await call("GET", "/clients")).body.items.length).toBe(1);
  });

  it("[code:idempotency_mismatch] is refused for another request", async () => {
    await call("POST", "/clients", CLIENT, idempotent("k-1"));
    for (const [path, body] of [
      ["/clients", { ...CLIENT, rpm: 6 }],
      ["/origins", { origin: "https://a.example" }],
    ] as const) {
      const answer = await call("POST", path, body, idempotent("k-1"));
      expect(answer.body).toMatchObject({ status: 422, code: "idempotency_mismatch" });
    }
  });

  it("is each operator's own, and forgotten after a day", async () => {
    const { token } = await newOperator("admin");
    await call("POST", "/clients", CLIENT, idempotent("k-1"));
    expect(
      (await call("POST", "/clients", CLIENT, { ...idempotent("k-1"), token })).headers.get("Idempotent-Replayed"),
    ).toBeNull();
    await testEnv.DB.prepare("UPDATE idempotency_keys SET created_at = ?")
      .bind(Date.now() - 25 * 3_600_000)
      .run();
    const later = await call("POST", "/clients", { ...CLIENT, rpm: 9 }, idempotent("k-1"));
    expect(later.body.rpm).toBe(9);
    expect(await testEnv.DB.prepare("SELECT count(*) AS n FROM idempotency_keys").first("n")).toBe(1);
  });

  it("[code:already_exists] never keeps a secret: a repeat is told the id", async () => {
    const path = `/clients/${await newClient()}/tokens`;
    const first = await call("POST", path, undefined, idempotent("k-2"));
    expect(first.body.token).toMatch(/^sg_/);
    const again = await call("POST", path, undefined, idempotent("k-2"));
    expect(again.body).toMatchObject({ status: 409, code: "already_exists", id: first.body.id });
    const kept = JSON.stringify((await testEnv.DB.prepare("SELECT * FROM idempotency_keys").all()).results);
    expect(kept).not.toContain(first.body.token.split("_")[1]);
    expect((await call("GET", path)).body.items.length).toBe(1);
  });

  it("is not spent on a request that failed", async () => {
    expect((await call("POST", "/origins", { origin: "nonsense" }, idempotent("k-3"))).status).toBe(400);
    expect((await call("POST", "/origins", { origin: "https://a.example" }, idempotent("k-3"))).status).toBe(201);
  });

  it("[code:bad_request] has 1 to 255 visible characters", async () => {
    expect((await call("POST", "/clients", CLIENT, idempotent("x".repeat(255)))).status).toBe(201);
    for (const key of ["x".repeat(256), "a b"]) {
      const { body } = await call("POST", "/clients", CLIENT, idempotent(key));
      expect(body).toMatchObject({ code: "bad_request", errors: [{ field: "idempotency-key" }] });
    }
  });
});
