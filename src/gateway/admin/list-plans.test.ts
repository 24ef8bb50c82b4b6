import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../registry/page.ts";
import { call, freshDatabase, testEnv } from "./fixture.ts";
import { cursorOfList } from "./paging.ts";

// How quick a list is on a table of any size is what SQLite says it will do for a page: walk an index that has the list's order, from where
// the page begins. A clock would say less.

const ROWS = 10_000;
const PAGE = 50;
/** The 200th page begins after this row, counted from 0. */
const BEFORE_LAST = ROWS - PAGE - 1;

const id = (prefix: string, n: number) => `${prefix}_${String(n).padStart(24, "0")}`;
const hash = (n: number) => String(n).padStart(64, "0");
const skill = (n: number) => `s${String(n).padStart(6, "0")}`;
const ORIGIN = id("org", 0);
const CLIENT = id("cli", 0);
const OPERATOR = id("opr", 0);
const ORIGIN_URL = "https://o0.example";

/** SQL of the values of each column, where `n` counts from 0. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  origins: {
    ...{ id: "printf('org_%024d', n)", origin: "'https://o' || n || '.example'", status: "'active'" },
    ...{ created_at: "n", updated_at: "n", probed_at: "5" },
  },
  clients: {
    ...{ id: "printf('cli_%024d', n)", name: "'client ' || n", status: "'active'" },
    ...{ grant_all: "1", created_at: "n", updated_at: "n" },
  },
  client_tokens: {
    ...{ id: "printf('tok_%024d', n)", client_id: `'${CLIENT}'`, token_sha256: "printf('%064d', n)", created_at: "n" },
  },
  operators: {
    ...{ id: "printf('opr_%024d', n)", name: "'operator ' || n", role: "'viewer'", status: "'active'" },
    ...{ created_at: "n", updated_at: "n" },
  },
  operator_tokens: {
    ...{ id: "printf('opt_%024d', n)", operator_id: `'${OPERATOR}'`, token_sha256: "printf('%064d', n)" },
    ...{ created_at: "n", expires_at: "n" },
  },
  reviewers: {
    ...{ id: "printf('rev_%024d', n)", attester: "'human:r' || n", kind: "'ed25519'", public_key: "'x'" },
    ...{ registered_at: "n" },
  },
  revocations: {
    ...{ id: "printf('rvk_%024d', n)", kind: "'hash'", subject: "printf('%064d', n)", reason: "'bad'" },
    ...{ revoked_at: "n", revoked_by: "'x'" },
  },
  attestations: {
    ...{ id: "printf('%064d', n)", origin: `'${ORIGIN_URL}'`, skill: "'s'", tool_sha256: `'${hash(7)}'` },
    ...{ attester: "'human:ada'", signed_on: "'2026-01-01'", valid_until: "'2099-01-01'" },
    ...{ entry: `'{"signature":"x"}'`, stored_at: "n", stored_by: "'x'" },
  },
  skills: {
    ...{ origin_id: `'${ORIGIN}'`, scope: "''", name: "printf('s%06d', n)", tool_sha256: "printf('%064d', n)" },
    ...{ first_seen_at: "n", last_seen_at: "5" },
  },
  verdicts: {
    ...{ origin_id: `'${ORIGIN}'`, scope: "''", name: "printf('s%06d', n)", tool_sha256: "printf('%064d', n)" },
    ...{ verdict: "'attested'", at: "n" },
  },
  usage_hourly: {
    ...{ hour: "n", client_id: `'${CLIENT}'`, origin_id: `'${ORIGIN}'`, tool: "'t'", calls: "1", gas: "1" },
    ...Object.fromEntries(
      [...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000], "more"].map((edge) => [
        `ms_${edge}`,
        "0",
      ]),
    ),
  },
  audit_log: {
    ...{ seq: "n + 1", at: "n", actor: "'admin-token'", action: "'client.create'", subject: "'x'", detail: "'{}'" },
    ...{ request_id: "'x'", prev_hash: "'p' || n", hash: "'h'" },
  },
};

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The database, and what it was asked since. */
function watched(): { readonly DB: D1Database; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const watch = (text: string) => {
    const statement = testEnv.DB.prepare(text);
    return new Proxy(statement, {
      get(target, member) {
        if (member !== "bind") return Reflect.get(target, member).bind(target);
        return (...values: unknown[]) => {
          asked.push({ text, values });
          return target.bind(...values);
        };
      },
    });
  };
  const DB = new Proxy(testEnv.DB, {
    get: (target, member) => (member === "prepare" ? watch : Reflect.get(target, member).bind(target)),
  });
  return { DB, asked };
}

/** What SQLite will do for a statement, a line each. */
async function planOf({ text, values }: Asked): Promise<readonly string[]> {
  const { results } = await testEnv.DB.prepare(`EXPLAIN QUERY PLAN ${text}`)
    .bind(...values)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** `audit_log` is a list in the order of its own rows; an index of some rows alone is named for them. */
const IS_SLOW =
  /TEMP B-TREE|AUTOMATIC|^SCAN (?!.* USING (?:COVERING )?INDEX|audit_log$|json_each|wanted VIRTUAL|CONSTANT)/;

async function page(path: string, key: unknown) {
  const { DB, asked } = watched();
  const first = `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}`;
  const url = `https://gate.example/admin/api/v1${first}`;
  const query = key === null ? first : `${first}&cursor=${await cursorOfList({ req: { url } }, encodeCursor(key))}`;
  const { status, body } = await call("GET", query, undefined, { bindings: { ...testEnv, DB } });
  expect(status, JSON.stringify(body)).toBe(200);
  const reads = asked.filter(({ text }) => /^\s*(?:select|with)/i.test(text));
  const plans = await Promise.all(reads.map(planOf));
  return { items: body.items, plan: plans.flat(), reads };
}

/** Rows, and entries of indexes, that statements read. */
async function rowsRead(reads: readonly Asked[]): Promise<number> {
  const answers = await Promise.all(
    reads.map(({ text, values }) =>
      testEnv.DB.prepare(text)
        .bind(...values)
        .all(),
    ),
  );
  return answers.reduce((sum, { meta }) => sum + meta.rows_read, 0);
}

beforeAll(async () => {
  await freshDatabase();
  const fill = ([table, columns]: readonly [string, Readonly<Record<string, string>>]) =>
    testEnv.DB.prepare(
      `WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < ${ROWS - 1})
       INSERT INTO ${table} (${Object.keys(columns).join(", ")}) SELECT ${Object.values(columns).join(", ")} FROM counted`,
    );
  await testEnv.DB.batch(Object.entries(TABLES).map(fill));
});

// Its rows are no other file's.
afterAll(freshDatabase);

const created = (prefix: string) => [BEFORE_LAST, id(prefix, BEFORE_LAST)];
/** Newest first: of 10,000 rows the one before the last page is the 51st oldest. */
const newestFirst = (prefix: string) => [PAGE, id(prefix, PAGE)];
const stored = [BEFORE_LAST, hash(BEFORE_LAST)];
const expiring = ["2099-01-01", hash(BEFORE_LAST)];
const version = ["", skill(BEFORE_LAST), hash(BEFORE_LAST)];
const queued = [PAGE, ORIGIN, "", skill(PAGE), hash(PAGE)];

describe("a page of 10,000 rows is read from an index in the list's order", () => {
  it.each<readonly [path: string, cursor: unknown]>([
    ["/origins", created("org")],
    ["/origins?status=active", created("org")],
    ["/origins?q=example", created("org")],
    ["/clients", created("cli")],
    ["/clients?status=active", created("cli")],
    ["/clients?q=client", created("cli")],
    ["/operators", created("opr")],
    ["/operators?status=active", created("opr")],
    ["/operators?role=viewer&q=operator", created("opr")],
    ["/reviewers", created("rev")],
    ["/reviewers?status=active", created("rev")],
    ["/revocations", newestFirst("rvk")],
    ["/revocations?inForce=true", newestFirst("rvk")],
    [`/clients/${CLIENT}/tokens`, created("tok")],
    [`/operators/${OPERATOR}/tokens`, created("opt")],
    ["/attestations", stored],
    ["/attestations?state=in_force", expiring],
    ["/attestations?revoked=false", stored],
    [`/attestations?origin=${ORIGIN_URL}`, stored],
    ["/attestations?attester=human:ada", stored],
    [`/attestations?toolSha256=${hash(7)}`, stored],
    ["/attestations?sort=expiry", expiring],
    ["/attestations?sort=expiry&state=in_force&expiresFrom=2026-01-01&expiresBefore=2100-01-01", expiring],
    [`/attestations?sort=expiry&origin=${ORIGIN_URL}&attester=human:ada`, expiring],
    ["/attestations?sort=expiry&attester=human:ada", expiring],
    [`/attestations?sort=expiry&toolSha256=${hash(7)}`, expiring],
    [`/origins/${ORIGIN}/skills`, version],
    [`/origins/${ORIGIN}/skills?current=true`, version],
    [`/origins/${ORIGIN}/skills?current=true&state=waiting&q=s`, version],
    ["/skills", queued],
    ["/skills?state=waiting&current=true", queued],
    [`/origins/${ORIGIN}/verdicts`, [PAGE, "", skill(PAGE), hash(PAGE)]],
    ["/audit", PAGE + 1],
    ["/audit?actor=admin-token", PAGE + 1],
    ["/audit?action=client.create", PAGE + 1],
    ["/audit?action=client", PAGE + 1],
    ["/audit?subject=x", PAGE + 1],
    ["/audit?from=1&to=20000", null],
    ["/audit?actor=admin-token&action=client.create&from=1", null],
  ])("%s", async (path, key) => {
    const first = await page(path, null);
    expect(first.items.length).toBe(PAGE);
    expect(first.plan.filter((line) => IS_SLOW.test(line))).toEqual([]);
    if (key === null) return;
    const last = await page(path, key);
    expect(last.items.length).toBe(PAGE);
    expect(last.plan.filter((line) => IS_SLOW.test(line))).toEqual([]);
  });

  // A sum has no order in any table; it reads the hours that are asked for, and no others.
  it.each<readonly [query: string, column: string]>([
    ...["by=hour", "by=client", "by=origin", "by=tool"].map((query) => [query, "hour"] as const),
    [`by=hour&client=${CLIENT}`, "client_id"],
    [`by=tool&client=${CLIENT}`, "client_id"],
    [`by=hour&origin=${ORIGIN}`, "origin_id"],
    [`by=client&origin=${ORIGIN}`, "origin_id"],
  ])("sums of usage and its errors %s search the hours that they are of, by %s", async (query, column) => {
    const { plan } = await page(`/usage?${query}&from=0&to=${48 * 3_600_000}`, null);
    expect(plan.filter((line) => /^SCAN (?!json_each|list_subquery|CONSTANT|sums|\()/.test(line))).toEqual([]);
    for (const table of ["usage_hourly", "usage_errors"]) {
      const searches = plan.filter((line) => line.startsWith(`SEARCH ${table} `));
      expect(searches, plan.join("\n")).toHaveLength(1);
      expect(searches[0]).toMatch(new RegExp(`\\b${column}[=>]\\?.*hour<\\?`));
    }
    // Hours are read in the order of an index: a page of them ends where it is full.
    if (query.startsWith("by=hour")) {
      const hourly = plan.slice(plan.findIndex((line) => line.startsWith("SEARCH usage_hourly")))[1];
      expect(hourly).toMatch(/^SEARCH usage_errors/);
    }
  });
});

describe("a filter that few of 10,000 rows match reads not many more than these", () => {
  /** Rows that a list may read for each that it shows, and for its look-ups. */
  const READ_FOR_EACH = 8;
  const READ_BESIDE = 120;

  beforeAll(async () => {
    // Of every kind the oldest three, which lists that begin with the newest come to last.
    const few = "WHERE rowid IN (SELECT rowid FROM";
    const updates = [
      "UPDATE skills SET approved_at = 1, approved_by = 'x'",
      `UPDATE skills SET approved_at = NULL ${few} skills ORDER BY name LIMIT 3)`,
      `UPDATE skills SET approved_at = NULL, rejected_at = 1 ${few} skills ORDER BY name LIMIT 3 OFFSET 3)`,
      `UPDATE origins SET status = 'suspended' ${few} origins ORDER BY id DESC LIMIT 3)`,
      `INSERT INTO client_origins (client_id, origin_id) SELECT '${CLIENT}', id FROM origins ORDER BY id DESC LIMIT 3`,
      `UPDATE clients SET status = 'suspended' ${few} clients ORDER BY id DESC LIMIT 3)`,
      `UPDATE operators SET status = 'suspended', role = 'admin' ${few} operators ORDER BY id DESC LIMIT 3)`,
      `UPDATE reviewers SET retired_at = 1 ${few} reviewers ORDER BY id DESC LIMIT 3)`,
      `UPDATE reviewers SET revoked_at = 1 ${few} reviewers ORDER BY id DESC LIMIT 3 OFFSET 3)`,
      `UPDATE revocations SET lifted_at = 1 ${few} revocations ORDER BY id LIMIT 3)`,
      `UPDATE attestations SET valid_until = '2020-01-01' ${few} attestations ORDER BY id DESC LIMIT 3)`,
      `UPDATE attestations SET attester = 'human:bob' ${few} attestations ORDER BY id DESC LIMIT 3)`,
      `UPDATE attestations SET origin = 'https://o1.example' ${few} attestations ORDER BY id DESC LIMIT 3)`,
      `UPDATE attestations SET tool_sha256 = '${hash(8)}' ${few} attestations ORDER BY id DESC LIMIT 3)`,
      `INSERT INTO revocations (id, kind, subject, reason, revoked_at, revoked_by)
       SELECT 'rvk_' || id, 'attestation', id, 'bad', 1, 'x' FROM attestations ORDER BY id DESC LIMIT 3 OFFSET 3`,
      // A day has a thousand rows.
      "UPDATE audit_log SET at = seq * 86400",
      "UPDATE audit_log SET action = 'client.token.create', actor = 'opr_1' WHERE seq <= 3",
      "UPDATE audit_log SET action = 'client.token.revoke' WHERE seq BETWEEN 4 AND 6",
      "UPDATE audit_log SET actor = 'opr_2' WHERE seq > 3",
    ];
    await testEnv.DB.batch(updates.map((statement) => testEnv.DB.prepare(statement)));
  });

  const sparse: readonly (readonly [path: string, items: number, beside?: number])[] = [
    ["/skills?state=waiting", 3],
    ["/skills?state=waiting&current=true", 3],
    ["/skills?state=rejected&current=true", 3],
    ["/origins?status=suspended", 3],
    [`/origins?ids=${id("org", 9_998)},${id("org", 5)}`, 2],
    [`/origins?ids=${id("org", 9_998)},${id("org", 5)}&status=suspended`, 1],
    [`/origins?grantedTo=${CLIENT}`, 3],
    ["/clients?status=suspended", 3],
    ["/operators?status=suspended", 3],
    ["/operators?role=admin", 3],
    ["/reviewers?status=retired", 3],
    ["/reviewers?status=revoked", 3],
    ["/revocations?inForce=false", 3],
    ["/attestations?state=expired", 3],
    ["/attestations?state=expired&sort=stored", 3],
    ["/attestations?expiresBefore=2021-01-01", 3],
    ["/attestations?expiresBefore=2021-01-01&sort=stored", 3],
    ["/attestations?state=revoked", 3],
    ["/attestations?revoked=true&sort=expiry", 3],
    ["/attestations?attester=human:bob", 3],
    ["/attestations?origin=https://o1.example&attester=human:bob", 3],
    ["/attestations?origin=https://o1.example&attester=human:ada", 0],
    [`/attestations?toolSha256=${hash(8)}&attester=human:ada`, 0],
    [`/attestations?toolSha256=${hash(8)}&origin=${ORIGIN_URL}`, 0, 20_100],
    ["/audit?actor=opr_1", 3],
    ["/audit?action=client.token.create", 3],
    ["/audit?action=client.token", 6],
    ["/audit?action=client.token&actor=opr_1", 3],
    ["/audit?action=client.create&actor=opr_1", 0],
    ["/audit?actor=opr_2&action=client.token", 3],
    ["/audit?action=site", 0],
    // What a day before and a day after has is read, too.
    [`/audit?from=${86_400_000}&to=${86_400_000 + 172_800}`, 3, 2_200],
    [`/audit?action=client&from=${10 * 86_400_000}`, 1, 1_200],
    ["/audit?action=client.token&from=86400&to=172800", 2],
  ];
  const cases = sparse.map(([path, items, beside = READ_BESIDE]) => ({ path, items, beside }));
  it.each(cases)("$path", async ({ path, items, beside }) => {
    const { items: found, reads, plan } = await page(path, null);
    expect(found.length).toBe(items);
    expect(await rowsRead(reads), plan.join("\n")).toBeLessThanOrEqual(beside + READ_FOR_EACH * items);
  });
});
