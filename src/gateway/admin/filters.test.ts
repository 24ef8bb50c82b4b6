import { beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../registry/page.ts";
import { call, freshDatabase, newClient, newOperator, register, testEnv } from "./fixture.ts";
import { cursorOfList } from "./paging.ts";

const ids: Record<string, string> = {};

beforeAll(async () => {
  await freshDatabase();
  ids.a = await register("https://a.example");
  ids.b = await register("https://b.example/Base_100");
  await call("POST", `/origins/${ids.b}/revoke`, { reason: "gone" });
  ids.desk = await newClient("Support Desk");
  ids.shop = await newClient("shop");
  await call("PATCH", `/clients/${ids.shop}`, { status: "suspended" });
  const { token, id } = await newOperator("admin");
  ids.ada = id;
  await call("POST", "/revocations", { kind: "hash", subject: "a".repeat(64), reason: "bad" }, { token });
  ids.lifted = (await call("POST", "/revocations", { kind: "hash", subject: "b".repeat(64), reason: "bad" })).body.id;
  await call("POST", `/revocations/${ids.lifted}/lift`, { reason: "good" });
  const insert = testEnv.DB.prepare(
    `INSERT INTO attestations (id, origin, skill, tool_sha256, attester, signed_on, valid_until, entry, stored_at, stored_by)
     VALUES (?1, ?2, ?1, ?3, ?4, '2026-01-01', ?5, '{"signature":"x"}', ?6, 'x')`,
  );
  await testEnv.DB.batch([
    insert.bind("1", "https://a.example", "a".repeat(64), "human:ada", "2026-12-03", 1),
    insert.bind("2", "https://a.example", "b".repeat(64), "human:bob", "2026-12-01", 2),
    insert.bind("3", "https://b.example", "a".repeat(64), "human:ada", "2026-12-02", 3),
  ]);
});

const list = async (path: string) => {
  const { status, body } = await call("GET", path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.items;
};

describe("filters", () => {
  it.each([
    ["/origins?status=pending", () => [ids.a]],
    ["/origins?q=BASE_", () => [ids.b]],
    ["/origins?q=%25", () => []],
    ["/origins?q=example&status=active", () => []],
    ["/clients?status=suspended", () => [ids.shop]],
    ["/clients?q=support%20d", () => [ids.desk]],
    ["/clients?q='%20OR%201", () => []],
    ["/operators?q=A%20ADM", () => [ids.ada]],
    ["/operators?q=a%20adm&role=viewer", () => []],
    ["/revocations?inForce=false", () => [ids.lifted]],
  ])("%s", async (path, wanted) => {
    expect((await list(path)).map(({ id }: { id: string }) => id)).toEqual(wanted());
  });

  it("of revocations in force, and of reviewers by status", async () => {
    expect((await list("/revocations?inForce=true")).map(({ subject }: { subject: string }) => subject)).toEqual([
      "a".repeat(64),
    ]);
    for (const status of ["active", "retired", "revoked"])
      expect(await list(`/reviewers?status=${status}`)).toEqual([]);
  });

  it("of attestations, and their order by the last day over pages", async () => {
    const firsts = (items: { skill: string }[]) => items.map(({ skill }) => skill).join("");
    expect(firsts(await list("/attestations?sort=stored"))).toBe("123");
    expect(firsts(await list("/attestations?sort=expiry"))).toBe("231");
    expect(firsts(await list("/attestations?expiresBefore=2026-12-03"))).toBe("23");
    expect(firsts(await list("/attestations?attester=human:ada&sort=expiry"))).toBe("31");
    expect(firsts(await list(`/attestations?toolSha256=${"a".repeat(64)}&origin=https://a.example`))).toBe("1");
    expect(firsts(await list("/attestations?expiresFrom=2026-12-02&expiresBefore=2026-12-03"))).toBe("3");
    const first = (await call("GET", "/attestations?sort=expiry&limit=2")).body;
    expect(firsts(await list(`/attestations?sort=expiry&limit=2&cursor=${first.nextCursor}`))).toBe("1");
    const otherOrder = await call("GET", `/attestations?sort=stored&cursor=${first.nextCursor}`);
    expect(otherOrder.body).toMatchObject({ code: "bad_cursor", errors: [{ field: "cursor" }] });
  });

  it("of attestations by what they are today: in force, else revoked, else expired", async () => {
    const skills = async (query: string) =>
      (await list(`/attestations?${query}`)).map(({ skill }: { skill: string }) => skill).join("");
    const until = testEnv.DB.prepare(
      "UPDATE attestations SET valid_until = ?1 WHERE id IN (SELECT value FROM json_each(?2))",
    );
    await testEnv.DB.batch([until.bind("2099-12-31", '["1", "2"]'), until.bind("2020-12-31", '["3"]')]);
    const revoke = testEnv.DB.prepare(
      "INSERT INTO revocations (id, kind, subject, reason, revoked_at, revoked_by) VALUES (?1, 'attestation', ?2, 'bad', 1, 'x')",
    );
    await testEnv.DB.batch([revoke.bind("rvk_1", "2"), revoke.bind("rvk_2", "3")]);
    expect(await skills("state=in_force")).toBe("1");
    expect(await skills("state=revoked")).toBe("23");
    expect(await skills("state=expired")).toBe("");
    expect(await skills("revoked=false")).toBe("1");
    expect(await skills("revoked=true&expiresBefore=2021-01-01")).toBe("3");
    await testEnv.DB.prepare("UPDATE revocations SET lifted_at = 2 WHERE id = 'rvk_2'").run();
    expect(await skills("state=expired")).toBe("3");
    expect(await skills("state=revoked&sort=expiry")).toBe("2");
    await testEnv.DB.prepare("DELETE FROM revocations WHERE id IN ('rvk_1', 'rvk_2')").run();
  });

  it.each([
    ["/attestations?state=valid", "state"],
    ["/attestations?revoked=1", "revoked"],
    ["/attestations?expiresFrom=today", "expiresFrom"],
    ["/skills?current=false", "current"],
    [`/origins/org_${"0".repeat(24)}/skills?state=new`, "state"],
    ["/operators?q=", "q"],
    ["/origins?status=gone", "status"],
    ["/origins?q=", "q"],
    ["/origins?q=a&q=b", "q"],
    ["/attestations?expiresBefore=2026-02-30", "expiresBefore"],
    ["/attestations?sort=name", "sort"],
    ["/revocations?inForce=1", "inForce"],
    ["/audit?from=yesterday", "from"],
    ["/audit?to=99999999999999999", "to"],
    ["/audit.ndjson?limit=5", "limit"],
  ])("[code:bad_request] %s", async (path, field) => {
    expect((await call("GET", path)).body).toMatchObject({ code: "bad_request", errors: [{ field }] });
  });
});

describe("whatever is asked", () => {
  const LISTS = [
    "/origins",
    "/clients",
    "/operators",
    "/reviewers",
    "/revocations",
    "/attestations",
    "/skills",
    "/audit",
  ];
  const CURSORS = [
    ...[
      1,
      "1",
      null,
      [],
      {},
      [1],
      [1, "x"],
      ["1", "x"],
      [1.5, "x"],
      [1, "x", "y"],
      [1, "", "", "", ""],
      [2 ** 53, "x"],
    ],
    ...[
      [1, "\u20ac"],
      ["", "\u20ac", "b"],
      ["", "a", "b"],
      [[1], "x"],
      [1, "\u0000"],
      [-1, "\ud800"],
      "x".repeat(2_000),
    ],
  ];

  it.each(LISTS)("%s takes no cursor but its own kind, and fails for none", async (path) => {
    for (const key of CURSORS) {
      const cursor = await cursorOfList(
        { req: { url: `https://gate.example/admin/api/v1${path}` } },
        encodeCursor(key),
      );
      const { status, body } = await call("GET", `${path}?cursor=${encodeURIComponent(cursor)}`);
      expect([200, 400], `${JSON.stringify(key)}: ${JSON.stringify(body)}`).toContain(status);
      if (status === 400) expect(body.errors).toMatchObject([{ field: "cursor" }]);
    }
    // The euro sign, written as an escape: a key that comes out of the cursor, and does not fit into one byte a character.
    const url = `https://gate.example/admin/api/v1${path}`;
    const escaped = await cursorOfList({ req: { url } }, btoa('[1,"\\u20ac"]'));
    expect((await call("GET", `${path}?cursor=${escaped}`)).body.code).toBe("bad_cursor");
    for (const text of ["%00", "%E2%80%AE", "..", "bnVsbA=="])
      expect((await call("GET", `${path}?cursor=${text}`)).body.code).toBe("bad_cursor");
  });

  it("[code:bad_cursor] a cursor is taken by the list that gave it alone, with the filters that it was asked with", async () => {
    await register("https://d.example");
    const { nextCursor } = (await call("GET", "/origins?q=EXAMPLE&status=pending&limit=1")).body;
    const taken = async (path: string) => {
      const { status, body } = await call("GET", `${path}${path.includes("?") ? "&" : "?"}cursor=${nextCursor}`);
      if (status !== 200)
        expect(body).toMatchObject({ status: 400, code: "bad_cursor", errors: [{ field: "cursor" }] });
      return status === 200;
    };
    expect(nextCursor).toBeTruthy();
    expect(await taken("/origins?q=EXAMPLE&status=pending")).toBe(true);
    expect(await taken("/origins?limit=7&status=pending&q=EXAMPLE")).toBe(true);
    const others = ["/origins", "/origins?q=EXAMPLE", "/origins?q=example&status=pending", "/clients", "/operators"];
    for (const other of [...others, "/clients?q=EXAMPLE&status=active", `/clients/${ids.desk}/tokens`]) {
      expect([other, await taken(other)]).toEqual([other, false]);
    }
  });

  it.each(["org_%00", "org_%E2%80%AE", "%F0%9F%92%A9", "%ff", "..%2f..%2fclients", `org_${"0".repeat(3_000)}`])(
    "an id like %s is none",
    async (id) => {
      for (const path of [`/origins/${id}`, `/origins/${id}/skills`, `/clients/${id}/tokens`, `/operators/${id}`]) {
        const { status, body } = await call("GET", path);
        expect([400, 404], `${path}: ${JSON.stringify(body)}`).toContain(status);
      }
    },
  );
});

describe("the review queue", () => {
  it("has the versions of all origins by state, those that are published now where that is asked", async () => {
    const insert = testEnv.DB.prepare(
      `INSERT INTO skills (origin_id, scope, name, tool_sha256, first_seen_at, last_seen_at, approved_at, rejected_at)
       VALUES (?1, '', ?2, ?3, ?4, ?5, ?6, ?7)`,
    );
    const other = await register("https://c.example");
    await testEnv.DB.batch([
      testEnv.DB.prepare("UPDATE origins SET probed_at = 9"),
      insert.bind(ids.a, "old", "1".repeat(64), 1, 5, null, null),
      insert.bind(ids.a, "new", "2".repeat(64), 2, 9, null, null),
      insert.bind(other, "sum", "3".repeat(64), 3, 9, null, null),
      insert.bind(other, "good", "4".repeat(64), 4, 9, 7, null),
      insert.bind(other, "bad", "5".repeat(64), 5, 9, null, 7),
      // Of a revoked origin.
      insert.bind(ids.b, "gone", "6".repeat(64), 6, 9, null, null),
    ]);
    const names = async (query: string) => (await list(`/skills?${query}`)).map(({ name }: { name: string }) => name);
    expect(await names("")).toEqual(["bad", "good", "sum", "new", "old"]);
    expect(await names("state=waiting")).toEqual(["sum", "new", "old"]);
    expect(await names("state=waiting&current=true")).toEqual(["sum", "new"]);
    expect(await names("state=rejected")).toEqual(["bad"]);
    expect(await names("q=O")).toEqual(["good", "old"]);
    const first = (await call("GET", "/skills?state=waiting&limit=1")).body;
    expect(first.items).toMatchObject([{ originId: other, origin: "https://c.example", state: "waiting" }]);
    expect(await names(`state=waiting&cursor=${first.nextCursor}`)).toEqual(["new", "old"]);
  });
});

describe("the audit log", () => {
  const actions = async (query: string) =>
    (await list(`/audit?${query}`)).map(({ action }: { action: string }) => action);

  it("is filtered by actor, action, subject and time", async () => {
    expect(await actions(`actor=${ids.ada}`)).toEqual(["revocation.create"]);
    expect(await actions("action=client.update")).toEqual(["client.update"]);
    expect(await actions("action=client")).toEqual(["client.update", "client.create", "client.create"]);
    expect(await actions("action=clien")).toEqual([]);
    expect(await actions(`subject=${ids.b}`)).toEqual(["origin.revoke", "origin.create"]);
    const { at } = (await call("GET", "/audit/1")).body;
    expect((await actions(`from=${at}`)).length).toBe((await actions("")).length);
    expect(await actions(`to=${at - 1}`)).toEqual([]);
  });

  it("[code:not_found] has an address for every row", async () => {
    const [newest] = await list("/audit?limit=1");
    const { body, headers } = await call("GET", `/audit/${newest.seq}`);
    expect(body).toEqual(newest);
    expect(headers.get("ETag")).not.toBeNull();
    for (const seq of [newest.seq + 1, "0", "01", "-1", "x", "1e1", "9".repeat(30)]) {
      expect((await call("GET", `/audit/${seq}`)).body.code).toBe("not_found");
    }
    expect((await call("GET", "/audit/verify")).body.status).toBe("intact");
  });

  it("says what whoever did it is called today", async () => {
    await call("PATCH", `/operators/${ids.ada}`, { name: "Ada" });
    const names = async (query: string) =>
      (await list(`/audit?${query}&limit=1`)).map(({ actorName }: { actorName: string | null }) => actorName);
    expect(await names(`actor=${ids.ada}`)).toEqual(["Ada"]);
    expect(await names("actor=admin-token")).toEqual(["ADMIN_TOKEN"]);
  });

  it("is exported as one row a line, oldest first, with the same filters", async () => {
    const { body, headers } = await call("GET", "/audit.ndjson");
    expect(headers.get("Content-Type")).toBe("application/x-ndjson; charset=utf-8");
    const rows = body
      .trimEnd()
      .split("\n")
      .map((line: string) => JSON.parse(line));
    expect(rows).toEqual((await list("/audit?limit=200")).reverse());
    const only = (await call("GET", `/audit.ndjson?subject=${ids.b}`)).body;
    expect(only.trimEnd().split("\n").length).toBe(2);
    expect((await call("GET", "/audit.ndjson?actor=nobody")).body).toBeNull();
  });

  it("is exported over the bound of rows in memory", async () => {
    const insert = testEnv.DB.prepare(
      `INSERT INTO audit_log (seq, at, actor, action, subject, detail, request_id, prev_hash, hash)
       SELECT 10000 + value, 1, 'bulk', 'x', 'x', '{}', 'x', 'p' || value, 'h' FROM json_each(?)`,
    );
    await insert.bind(JSON.stringify(Array.from({ length: 1_203 }, (_, i) => i))).run();
    const { body } = await call("GET", "/audit.ndjson?actor=bulk");
    const seqs = body
      .trimEnd()
      .split("\n")
      .map((line: string) => JSON.parse(line).seq);
    expect(seqs).toEqual(Array.from({ length: 1_203 }, (_, i) => 10_000 + i));
  });
});

describe("a filter", () => {
  it("of origins by their ids, and by the client that they are granted to", async () => {
    const own = (await call("POST", "/clients", { name: "own", rpm: null, grants: [ids.b, ids.a] })).body.id;
    const idsOf = async (path: string) => (await list(path)).map(({ id }: { id: string }) => id);
    expect(await idsOf(`/origins?grantedTo=${own}`)).toEqual([ids.a, ids.b]);
    expect(await idsOf(`/origins?grantedTo=${own}&status=revoked`)).toEqual([ids.b]);
    expect(await idsOf(`/origins?grantedTo=${own}&q=a.ex`)).toEqual([ids.a]);
    expect(await idsOf(`/origins?grantedTo=${ids.desk}`)).toEqual([]);
    expect(await idsOf(`/origins?ids=${ids.b},${ids.a},org_${"0".repeat(24)}`)).toEqual([ids.a, ids.b]);
    const { nextCursor } = (await call("GET", `/origins?ids=${ids.b},${ids.a}&limit=1`)).body;
    expect(await idsOf(`/origins?ids=${ids.b},${ids.a}&cursor=${nextCursor}`)).toEqual([ids.b]);
    for (const wrong of ["x", "", `${ids.a},`, Array(101).fill(ids.a).join(",")]) {
      const { body } = await call("GET", `/origins?ids=${wrong}`);
      expect(body).toMatchObject({ code: "bad_request", errors: [{ field: "ids" }] });
    }
  });
});
