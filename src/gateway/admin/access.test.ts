import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { adminFailures } from "../auth/failures.ts";
import { createToken } from "../auth/token.ts";
import { ROLES, type Role } from "../registry/operators.ts";
import { createAdminApp } from "./app.ts";
import { ADMIN_TOKEN, type AdminRequest, adminGateway, call, freshDatabase, newOperator, testEnv } from "./fixture.ts";
import { type Access, accessTable } from "./roles.ts";

/** Every route × role × credential, from the table of routes itself: a new route is in it, and says what it needs. */
const ACCESS = accessTable(createAdminApp());
const ROUTES: readonly (readonly [route: string, access: Access])[] = [
  ...ACCESS,
  ["GET /openapi.json", "viewer"],
  ["GET /docs", "viewer"],
];

const DIGITS = "0123456789abcdef01234567";
const HASH = DIGITS.repeat(3).slice(0, 64);
/** Ids that nothing has, by what the path is about. */
const IDS: Readonly<Record<string, string>> = {
  origins: `org_${DIGITS}`,
  clients: `cli_${DIGITS}`,
  reviewers: `rev_${DIGITS}`,
  revocations: `rvk_${DIGITS}`,
  operators: `opr_${DIGITS}`,
  attestations: HASH,
  sites: `sit_${DIGITS}`,
};
const INNER_IDS: Readonly<Record<string, string>> = {
  toolSha256: HASH,
  seq: "999999",
  version: "999999",
  "operators tokenId": `opt_${DIGITS}`,
  "clients tokenId": `tok_${DIGITS}`,
};

function fill(path: string): string {
  const family = path.split("/")[1] ?? "";
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = name === "id" ? IDS[family] : (INNER_IDS[`${family} ${name}`] ?? INNER_IDS[name]);
    if (id === undefined) throw new Error(`${path}: this test knows no value for {${name}}; add one.`);
    return id;
  });
}

interface Operators {
  readonly tokens: Readonly<Record<Role, string>>;
  readonly expired: string;
  readonly revoked: string;
  readonly suspended: string;
  /** The cookie of a session that was opened with a token that then expired. */
  readonly endedSession: string;
}

let operators: Operators;

beforeAll(async () => {
  await freshDatabase();
  const tokens = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, (await newOperator(role)).token])),
  ) as Record<Role, string>;
  const expired = await newOperator("admin");
  const opened = await call("POST", "/session", { token: expired.token }, { token: null });
  const endedSession = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  await testEnv.DB.prepare("UPDATE operator_tokens SET expires_at = 1 WHERE id = ?").bind(expired.tokenId).run();
  const revoked = await newOperator("admin");
  await call("DELETE", `/operators/${revoked.id}/tokens/${revoked.tokenId}`);
  const suspended = await newOperator("admin");
  await call("PATCH", `/operators/${suspended.id}`, { status: "suspended" });
  operators = { tokens, expired: expired.token, revoked: revoked.token, suspended: suspended.token, endedSession };
});

beforeEach(async () => {
  adminFailures.clear();
  // One of the routes retires ADMIN_TOKEN.
  await testEnv.DB.prepare("DELETE FROM console_state").run();
});

it("every route of the API is in the table", () => {
  const served = adminGateway()
    .routes.filter(({ method, path }) => method !== "ALL" && path.startsWith("/admin/api/v1/"))
    .map(({ method, path }) => `${method} ${path.slice("/admin/api/v1".length).replace(/:(\w+)/g, "{$1}")}`);
  expect([...new Set(served)].sort()).toEqual(ROUTES.map(([route]) => route).sort());
});

describe.each(ROUTES)("%s", (route, access) => {
  const [method = "", pattern = ""] = route.split(" ");
  const body = ["GET", "DELETE"].includes(method) ? undefined : {};
  const send = (request: AdminRequest) => call(method, fill(pattern), body, request);

  const refusal = async () => {
    const refused: Record<string, AdminRequest> = {
      "no credential": { token: null },
      "a wrong token": { token: "wrong-admin-token-0123456789" },
      "the beginning of ADMIN_TOKEN": { token: ADMIN_TOKEN.slice(0, -1) },
      "more than ADMIN_TOKEN": { token: `${ADMIN_TOKEN}x` },
      "a client's token": { token: createToken() },
      "an operator's token that does not exist": { token: createToken("sgo") },
      "an expired token": { token: operators.expired },
      "a revoked token": { token: operators.revoked },
      "the token of a suspended operator": { token: operators.suspended },
      "another scheme": { token: null, headers: { Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` } },
      "a cookie that is no session": { token: null, headers: { Cookie: `__Host-skillgate-session=${HASH}` } },
      "the session of an expired token": { token: null, headers: { Cookie: operators.endedSession } },
      "a JWT while Access is not set up": { token: null, headers: { "Cf-Access-Jwt-Assertion": "a.b.c" } },
      "ADMIN_TOKEN while it is not set": { bindings: { ...testEnv, ADMIN_TOKEN: undefined } },
      "ADMIN_TOKEN while it is empty": { bindings: { ...testEnv, ADMIN_TOKEN: "" } },
    };
    for (const [credential, request] of Object.entries(refused)) {
      const answer = await send(request);
      expect(answer.status, credential).toBe(401);
      expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.body).toMatchObject({ status: 401, code: "unauthorized", title: answer.body.detail });
    }
  };
  // Who needs no sign-in is refused nothing.
  if (access !== "anyone") it("[code:unauthorized] answers every credential that counts for nothing alike", refusal);

  it("[code:role_forbidden] is for its role and the ones above", async () => {
    for (const role of ROLES) {
      const { status, body: said } = await send({ token: operators.tokens[role] });
      const isAllowed = access === "anyone" || ROLES.indexOf(role) >= ROLES.indexOf(access);
      if (isAllowed) {
        // Nothing of the sort exists, or the body says nothing.
        expect([200, 201, 204, 400, 404, 409], `${role}: ${JSON.stringify(said)}`).toContain(status);
      } else {
        expect(said).toMatchObject({ status: 403, code: "role_forbidden", detail: expect.stringContaining(access) });
      }
    }
  });
});

describe("an id of another owner", () => {
  const nested = ROUTES.filter(([route]) => (route.match(/\{/g) ?? []).length > 1).map(([route]) => route);

  /** What the two owners of each kind have, made by the API. */
  const MAKERS: Readonly<Record<string, () => Promise<{ readonly owner: string; readonly inner: string }>>> = {
    clients: async () => {
      const owner = (await call("POST", "/clients", { name: "x", rpm: null, grants: "all" })).body.id;
      return { owner, inner: (await call("POST", `/clients/${owner}/tokens`)).body.id };
    },
    operators: async () => {
      const { id, tokenId } = await newOperator("viewer");
      return { owner: id, inner: tokenId };
    },
    sites: async () => {
      const owner = (await call("POST", "/sites", { name: crypto.randomUUID() })).body.id;
      const inner = String(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
      const insert = testEnv.DB.prepare(
        "INSERT INTO site_versions (site_id, version, content, published_at, published_by) VALUES (?, ?, '{}', 1, 'x')",
      );
      await insert.bind(owner, inner).run();
      return { owner, inner };
    },
    origins: async () => {
      const origin = `https://${crypto.randomUUID()}.example`;
      const owner = (await call("POST", "/origins", { origin })).body.id;
      const inner = (crypto.randomUUID() + crypto.randomUUID()).replaceAll("-", "");
      const insert = testEnv.DB.prepare(
        "INSERT INTO skills (origin_id, scope, name, tool_sha256, first_seen_at, last_seen_at) VALUES (?, '', 'x', ?, 1, 1)",
      );
      await insert.bind(owner, inner).run();
      return { owner, inner };
    },
  };

  it.each(nested)("%s answers as for one that does not exist", async (route) => {
    const [method = "", pattern = ""] = route.split(" ");
    const family = pattern.split("/")[1] ?? "";
    const make = MAKERS[family];
    if (make === undefined) throw new Error(`${route}: this test cannot make two owners of this kind; add how.`);
    const [mine, others] = [await make(), await make()];
    const path = (inner: string) => `${pattern.replace("{id}", mine.owner).replace(/\{\w+\}/, inner)}?name=x`;
    const inner = /\{(?!id)(\w+)\}/.exec(pattern)?.[1] ?? "";
    const unknown = await call(method, path(INNER_IDS[`${family} ${inner}`] ?? INNER_IDS[inner] ?? ""));
    const foreign = await call(method, path(others.inner));
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, requestId: "" }).toEqual({ ...unknown.body, requestId: "" });
  });
});
