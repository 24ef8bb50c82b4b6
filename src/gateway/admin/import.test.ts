import { beforeEach, describe, expect, it } from "vitest";
import { encodeBase64 } from "../../core/attestation/base64.ts";
import { sha256Hex } from "../../core/integrity.ts";
import { tokenSha256 } from "../auth/token.ts";
import { MAX_IMPORTED_TOKENS } from "../registry/tokens.ts";
import { trustVersion } from "../registry/trust-version.ts";
import { call, freshDatabase, register, registry, verifiedChain } from "./fixture.ts";

const KEY = encodeBase64(Uint8Array.from({ length: 32 }, (_, i) => i + 1));
const hashOf = (token: string) => tokenSha256(token);

const imported = async (body: unknown, query = "") => (await call("POST", `/import${query}`, body)).body;
const count = async () => {
  const lists = ["/clients", "/origins", "/reviewers", "/audit"];
  return Promise.all(lists.map(async (path) => (await call("GET", path)).body.items.length));
};

async function everything() {
  return {
    clients: {
      [(await hashOf("first")).toUpperCase()]: { client_id: "desk", rpm: 60.9 },
      [await hashOf("second")]: { client_id: "desk", rpm: 30 },
      [await hashOf("third")]: { client_id: "batch" },
    },
    allowedOrigins: ["https://A.example/", "https://a.example", "https://b.example"],
    reviewers: { "human:ada": { public_key: KEY, registered_at: "2026-07-02" } },
  };
}

beforeEach(freshDatabase);

describe("moving in", () => {
  it("shows first and changes nothing; then does just that, once", async () => {
    const wanted = await everything();
    const shown = await imported(wanted, "?dryRun=true");
    expect(shown).toMatchObject({
      dryRun: true,
      clients: [
        { name: "desk", status: "created", id: null, rpm: 30, newTokens: 2 },
        { name: "batch", status: "created", id: null, rpm: null, newTokens: 1 },
      ],
      origins: [
        { name: "https://a.example", status: "created" },
        { name: "https://b.example", status: "created" },
      ],
      reviewers: [{ name: "human:ada", status: "created", code: null, message: null }],
    });
    expect(await count()).toEqual([0, 0, 0, 0]);

    const done = await imported(wanted);
    expect(done.clients).toMatchObject([{ id: expect.stringMatching(/^cli_/), newTokens: 2 }, { newTokens: 1 }]);
    expect(await count()).toEqual([2, 2, 1, 1]);
    const [desk] = (await call("GET", "/clients")).body.items;
    expect(desk).toMatchObject({ status: "active", dailyQuota: null, grants: "all" });
    const tokens = (await call("GET", `/clients/${done.clients[0].id}/tokens`)).body.items;
    expect(tokens).toMatchObject([{ status: "active", imported: true, expiresAt: null }, { imported: true }]);
    expect((await call("GET", "/origins")).body.items).toMatchObject([
      { status: "pending", pin: "hold" },
      { status: "pending" },
    ]);
    expect((await call("GET", "/reviewers")).body.items).toMatchObject([
      { registeredAt: Date.parse("2026-07-02T00:00:00Z") },
    ]);
    expect(await trustVersion(registry)).toBe(1);
    const [row] = (await call("GET", "/audit")).body.items;
    expect(row).toMatchObject({ action: "import", detail: { tokens: 3 } });
    expect(JSON.stringify(row)).not.toContain(await hashOf("first"));
    expect(await verifiedChain()).toMatchObject({ status: "intact", unnoted: [] });

    const again = await imported(wanted);
    expect([...again.clients, ...again.origins, ...again.reviewers].map(({ status }) => status)).toEqual(
      Array.from({ length: 5 }, () => "exists"),
    );
    expect(await count()).toEqual([2, 2, 1, 1]);
  });

  it("gives a client that moved in before its further tokens", async () => {
    const first = await imported({ clients: { [await hashOf("one")]: { client_id: "desk" } } });
    const clients = { [await hashOf("one")]: { client_id: "desk" }, [await hashOf("two")]: { client_id: "desk" } };
    expect((await imported({ clients })).clients).toMatchObject([
      { status: "exists", id: first.clients[0].id, newTokens: 1 },
    ]);
  });

  it("takes AUTH_TOKEN as a client, unless CLIENTS was set, which made the old gateway ignore it", async () => {
    const authTokenSha256 = await hashOf("secret");
    expect((await imported({ authTokenSha256 }, "?dryRun=true")).clients).toMatchObject([
      { name: "AUTH_TOKEN", newTokens: 1 },
    ]);
    expect((await imported({ authTokenSha256, clients: {} })).clients).toMatchObject([
      { status: "refused", code: "unused" },
    ]);
  });

  it("keeps what is registered already as it is", async () => {
    const id = await register("https://a.example");
    const active = await call("POST", "/reviewers", {
      attester: "human:ada",
      key: { kind: "ed25519", publicKey: KEY },
    });
    const { origins, reviewers } = await imported(await everything());
    expect(origins[0]).toMatchObject({ status: "exists", id });
    expect(reviewers).toMatchObject([{ status: "exists", id: active.body.id }]);
  });

  it("refuses each bad member by its name, and moves the others in", async () => {
    const good = await hashOf("good");
    const { clients, origins, reviewers } = await imported({
      clients: {
        [good]: { client_id: "good", rpm: -5 },
        nonsense: { client_id: "x" },
        [await hashOf("1")]: null,
        [await hashOf("2")]: { rpm: 5 },
        [await hashOf("3")]: { client_id: "a\nb" },
        [await hashOf("4")]: { client_id: "much", rpm: 1e300 },
      },
      allowedOrigins: ["https://good.example", "http://10.0.0.1", "", "https://bound.example"],
      reviewers: {
        "human:good": { public_key: KEY },
        "human:twice": { public_key: KEY },
        ada: { public_key: KEY },
        "human:a": 5,
        "human:b": { public_key: "AAAA" },
        "human:c": { public_key: encodeBase64(new Uint8Array(32).fill(7)), registered_at: "2026-02-30" },
        "human:d": { public_key: encodeBase64(new Uint8Array(32).fill(8)), registered_at: "2999-01-01" },
      },
    });
    const codes = (items: { name: string; code: string | null }[]) => items.map(({ name, code }) => [name, code]);
    const short = async (token: string) => `${(await hashOf(token)).slice(0, 8)}…`;
    expect(codes(clients)).toEqual([
      ["good", null],
      ["nonsense", "bad_client"],
      [await short("1"), "bad_client"],
      [await short("2"), "bad_client"],
      [await short("3"), "bad_client"],
      [await short("4"), "bad_client"],
    ]);
    expect(clients[0].rpm).toBe(0);
    expect(codes(origins)).toEqual([
      ["https://good.example", null],
      ["http://10.0.0.1", "bad_origin"],
      ["", "bad_origin"],
      ["https://bound.example", "service_binding_unconfirmed"],
    ]);
    expect(codes(reviewers)).toEqual([
      ["human:good", null],
      ["human:twice", "already_exists"],
      ["ada", "bad_reviewer"],
      ["human:a", "bad_reviewer"],
      ["human:b", "bad_reviewer"],
      ["human:c", "bad_reviewer"],
      ["human:d", "bad_reviewer"],
    ]);
    for (const item of [...clients, ...origins, ...reviewers]) {
      if (item.status === "refused") expect(item).toMatchObject({ id: null, message: expect.stringMatching(/\.$/) });
    }
  });

  it("[budget:imported tokens] takes 50 tokens of a client and 1,000 in all", async () => {
    const hashes = await Promise.all(
      Array.from({ length: MAX_IMPORTED_TOKENS + 1 }, (_, i) => sha256Hex(new TextEncoder().encode(`${i}`))),
    );
    const many = Object.fromEntries(hashes.slice(0, 51).map((hash) => [hash, { client_id: "one" }]));
    expect((await imported({ clients: many })).clients).toMatchObject([{ status: "refused", code: "too_many_tokens" }]);
    const clients = Object.fromEntries(hashes.map((hash, i) => [hash, { client_id: `client ${i}` }]));
    const answer = await imported({ clients });
    const refused = answer.clients.filter(({ status }: { status: string }) => status === "refused");
    expect([answer.clients.length, refused.length]).toEqual([MAX_IMPORTED_TOKENS + 1, 1]);
  });

  it.each([
    [{ clients: [] }, "clients must be a JSON object."],
    [{ clients: "{}" }, "clients must be a JSON object."],
    [{ authTokenSha256: "x" }, "authTokenSha256 must be 64 lower-case hexadecimal digits."],
    [{ allowedOrigins: "https://a.example" }, "allowedOrigins must be a list of origins."],
    [{ allowedOrigins: [5] }, "allowedOrigins.0 must be a string."],
    [{ reviewers: null }, "reviewers must be a JSON object."],
    [{ CLIENTS: {} }, "CLIENTS is not known here."],
  ])("[code:bad_request] is refused with %j", async (body, detail) => {
    expect(await imported(body)).toMatchObject({ status: 400, detail });
    expect((await call("POST", "/import?dryRun=yes", {})).body.detail).toBe("dryRun must be true or false.");
  });
});
