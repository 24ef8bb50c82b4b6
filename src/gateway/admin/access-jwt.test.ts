import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type AccessRequest, accessGateway, call, freshDatabase, testEnv } from "./fixture.ts";

const TEAM = "team.cloudflareaccess.com";
const AUD = "0123456789abcdef".repeat(4);
const bindings = { ...testEnv, ACCESS_TEAM_DOMAIN: TEAM, ACCESS_AUD: AUD };
type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

let key: Pair;
let other: Pair;
let keys: object;
let fetched = 0;
let id: string;
let send: (method: string, path: string, request: AccessRequest) => Promise<Response>;

beforeAll(async () => {
  key = await generateKeyPair("RS256", { extractable: true });
  other = await generateKeyPair("RS256");
  keys = { keys: [{ ...(await exportJWK(key.publicKey)), kid: "k1", alg: "RS256", use: "sig" }] };
});

beforeEach(async () => {
  await freshDatabase();
  fetched = 0;
  send = accessGateway(async (url) => {
    fetched += 1;
    expect(String(url)).toBe(`https://${TEAM}/cdn-cgi/access/certs`);
    return Response.json(keys);
  }, bindings);
  id = (await call("POST", "/operators", { name: "Ada", role: "reviewer", accessEmail: "ada@example.com" })).body.id;
});

/** @param claims beside those of a good one; undefined takes one away. */
async function jwt(
  claims: { readonly [Name in keyof JWTPayload]: unknown } = {},
  { privateKey }: Pair = key,
  header: object = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: `https://${TEAM}`, aud: [AUD], email: "Ada@Example.com", exp: now + 3_600, iat: now, ...claims };
  return new SignJWT(all as JWTPayload).setProtectedHeader({ alg: "RS256", kid: "k1", ...header }).sign(privateKey);
}

const session = async (assertion: string) => {
  const answer = await send("GET", "/session", { assertion });
  return { status: answer.status, body: (await answer.json()) as { csrfToken: string } };
};

describe("a JWT of Cloudflare Access", () => {
  it("lets in the operator with its e-mail address; the team's keys are fetched once", async () => {
    const assertion = await jwt();
    const { status, body } = await session(assertion);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      operator: { id, name: "Ada", role: "reviewer" },
      csrfToken: expect.any(String),
      accessLogout: "/cdn-cgi/access/logout",
    });
    await session(await jwt());
    expect(fetched).toBe(1);
  });

  it("[code:csrf] changes nothing without the proof of the page", async () => {
    const assertion = await jwt();
    const { body } = await session(assertion);
    const propose = (headers: Record<string, string>) =>
      send("POST", "/origins", { assertion, headers, body: { origin: "https://a.example" } });
    expect((await propose({})).status).toBe(403);
    expect((await propose({ "X-CSRF-Token": body.csrfToken, "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
    expect((await propose({ "X-CSRF-Token": body.csrfToken, "Sec-Fetch-Site": "same-origin" })).status).toBe(201);
  });

  it.each<[string, () => Promise<string>]>([
    ["of another application", () => jwt({ aud: ["f".repeat(64)] })],
    ["of another team", () => jwt({ iss: "https://evil.cloudflareaccess.com" })],
    ["that expired", () => jwt({ exp: Math.floor(Date.now() / 1000) - 60 })],
    ["without an end", () => jwt({ exp: undefined })],
    ["without an e-mail address, as of a service", () => jwt({ email: undefined })],
    ["of somebody who is no operator", () => jwt({ email: "eve@example.com" })],
    ["signed with another key", () => jwt({}, other)],
    ["of an unknown key", () => jwt({}, other, { kid: "k2" })],
    ["without a signature", async () => `${btoa('{"alg":"none"}')}.${(await jwt()).split(".")[1]}.`],
    [
      "keyed with the public key as a secret",
      async () => {
        const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(key.publicKey)));
        const claims = { iss: `https://${TEAM}`, aud: AUD, email: "ada@example.com", exp: 9_999_999_999 };
        return new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
      },
    ],
    ["that is none", async () => "x.y.z"],
    ["that is too long", async () => `${await jwt()}${"x".repeat(20_000)}`],
  ])("[code:unauthorized] lets nobody in %s", async (_, make) => {
    const errors = [{ field: "Cf-Access-Jwt-Assertion", message: expect.stringContaining("ACCESS_AUD") }];
    expect(await session(await make())).toMatchObject({ status: 401, body: { code: "unauthorized", errors } });
  });

  it("lets a suspended operator out at once", async () => {
    const assertion = await jwt();
    await call("PATCH", `/operators/${id}`, { status: "suspended" });
    expect((await session(assertion)).status).toBe(401);
  });

  it("[code:policy_unavailable] is not judged while the team's keys cannot be had", async () => {
    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    for (const answer of [
      () => new Response("down", { status: 500 }),
      () => Response.json({ keys: "none" }),
      () => new Response("x".repeat(100_000)),
      () => {
        throw new TypeError("unreachable");
      },
    ]) {
      send = accessGateway(async () => answer(), bindings);
      expect(await session(await jwt())).toMatchObject({ status: 503, body: { code: "policy_unavailable" } });
    }
    quiet.mockRestore();
  });

  it("is not looked at beside a bearer token", async () => {
    const answer = await send("GET", "/session", {
      assertion: await jwt(),
      headers: { Authorization: "Bearer wrong-token-0123456789" },
    });
    expect(answer.status).toBe(401);
  });
});
