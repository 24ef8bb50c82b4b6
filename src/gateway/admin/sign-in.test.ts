import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { adminFailures } from "../auth/failures.ts";
import { createToken } from "../auth/token.ts";
import { ADMIN_TOKEN, type AdminRequest, adminGateway, call, freshDatabase, testEnv } from "./fixture.ts";

beforeAll(freshDatabase);
beforeEach(() => adminFailures.clear());

/** Every route with ids that do not exist: `404` shows that sign-in let the request through. */
const ID = "0123456789abcdef01234567";
const HASH = ID.repeat(3).slice(0, 64);
const ROUTES: readonly (readonly [method: string, path: string, body: unknown, signedIn: number])[] = [
  ["GET", "/openapi.json", undefined, 200],
  ["POST", "/origins", {}, 400],
  ["GET", "/origins", undefined, 200],
  ["GET", `/origins/org_${ID}`, undefined, 404],
  ["GET", `/origins/org_${ID}/skills`, undefined, 404],
  ["PATCH", `/origins/org_${ID}`, {}, 404],
  ["GET", `/origins/org_${ID}/skills/${HASH}/source?name=x`, undefined, 404],
  ["GET", `/origins/org_${ID}/skills/${HASH}/diff?name=x`, undefined, 404],
  ["GET", `/origins/org_${ID}/verdicts`, undefined, 404],
  ["POST", `/origins/org_${ID}/approve`, {}, 400],
  ["POST", `/origins/org_${ID}/reject`, {}, 400],
  ["POST", `/origins/org_${ID}/probe`, undefined, 404],
  ["POST", `/origins/org_${ID}/activate`, undefined, 404],
  ["POST", `/origins/org_${ID}/suspend`, undefined, 404],
  ["POST", `/origins/org_${ID}/revoke`, {}, 400],
  ["POST", "/clients", {}, 400],
  ["GET", "/clients", undefined, 200],
  ["GET", `/clients/cli_${ID}`, undefined, 404],
  ["PATCH", `/clients/cli_${ID}`, {}, 404],
  ["POST", `/clients/cli_${ID}/tokens`, {}, 404],
  ["GET", `/clients/cli_${ID}/tokens`, undefined, 404],
  ["DELETE", `/clients/cli_${ID}/tokens/tok_${ID}`, undefined, 404],
  ["POST", "/reviewers", {}, 400],
  ["GET", "/reviewers", undefined, 200],
  ["GET", `/reviewers/rev_${ID}`, undefined, 404],
  ["POST", `/reviewers/rev_${ID}/retire`, {}, 400],
  ["POST", `/reviewers/rev_${ID}/revoke`, {}, 400],
  ["POST", "/attestations", [], 200],
  ["GET", "/attestations", undefined, 200],
  ["GET", "/attestations/export?origin=https://a.example", undefined, 200],
  ["GET", `/attestations/${HASH}`, undefined, 404],
  ["POST", `/attestations/${HASH}/revoke`, {}, 400],
  ["POST", "/revocations", {}, 400],
  ["GET", "/revocations", undefined, 200],
  ["POST", `/revocations/rvk_${ID}/lift`, {}, 400],
  ["GET", "/trust-root", undefined, 200],
  ["PUT", "/trust-root", {}, 400],
  ["DELETE", "/trust-root", undefined, 200],
  ["POST", "/import?dryRun=true", {}, 200],
  ["GET", "/audit", undefined, 200],
  ["GET", "/audit/verify", undefined, 200],
  ["GET", "/nothing", undefined, 404],
  ["PUT", "/origins", {}, 405],
];

it("the table of routes is complete", async () => {
  const routes = adminGateway()
    .routes.filter(({ method, path }) => method !== "ALL" && path.startsWith("/admin/api/v1/"))
    .map(({ method, path }) => `${method} ${path.replace("/admin/api/v1", "")}`);
  const ids: Record<string, string> = {
    origins: `org_${ID}`,
    clients: `cli_${ID}`,
    reviewers: `rev_${ID}`,
    revocations: `rvk_${ID}`,
    attestations: HASH,
  };
  const fill = (route: string) =>
    route
      .replace(":id", ids[route.split("/")[1] ?? ""] ?? "")
      .replace(":tokenId", `tok_${ID}`)
      .replace(":toolSha256", HASH);
  const listed = ROUTES.map(([method, path]) => `${method} ${path.split("?")[0]}`);
  for (const route of new Set(routes)) expect(listed).toContain(fill(route));
});

describe.each(ROUTES)("%s %s", (method, path, body, signedIn) => {
  const refusals: Record<string, AdminRequest> = {
    "no token": { token: null },
    "a wrong token": { token: "wrong-admin-token-0123456789" },
    "the beginning of the token": { token: ADMIN_TOKEN.slice(0, -1) },
    "more than the token": { token: `${ADMIN_TOKEN}x` },
    "a client's token": { token: createToken() },
    "another scheme": { token: null, headers: { Authorization: `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}` } },
    "the token while ADMIN_TOKEN is not set": { bindings: { ...testEnv, ADMIN_TOKEN: undefined } },
    "the token while ADMIN_TOKEN is empty": { bindings: { ...testEnv, ADMIN_TOKEN: "" } },
  };
  for (const [credential, request] of Object.entries(refusals)) {
    it(`[code:unauthorized] refuses ${credential}`, async () => {
      const answer = await call(method, path, body, request);
      expect(answer.status).toBe(401);
      expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.body).toMatchObject({ status: 401, code: "unauthorized" });
    });
  }

  it("lets the right token in", async () => {
    expect((await call(method, path, body)).status).toBe(signedIn);
  });
});

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

  it("successful sign-ins are never throttled", async () => {
    const bindings = { ...testEnv, AUTH_FAILURES_PER_MINUTE: "3" };
    for (let i = 0; i < 6; i++) expect((await call("GET", "/audit", undefined, { bindings })).status).toBe(200);
  });
});
