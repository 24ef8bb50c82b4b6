import { beforeEach, describe, expect, it } from "vitest";
import { become, env, mcp, rpc, send } from "../../../test/workerd/gateway-fixture.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { getOrigin } from "../registry/origins.ts";
import { askHub } from "../releases/hub-client.ts";
import { ADMIN_TOKEN, freshDatabase, registry } from "./fixture.ts";

// The admin API and MCP together, through the whole Worker: real hubs, real publishers, real policy cache.

beforeEach(freshDatabase);

const bindings = { ADMIN_TOKEN };

async function admin(method: string, path: string, body?: unknown) {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" };
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const response = await send(`/admin/api/v1${path}`, init, bindings);
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever the answer holds.
  return { status: response.status, headers: response.headers, body: (text === "" ? null : JSON.parse(text)) as any };
}

const uniqueHost = (kind: string) => `${kind}-${crypto.randomUUID().slice(0, 8)}.example`;

/** An active origin, and a client with a token and a grant to it. */
async function onboard() {
  const host = uniqueHost("good");
  const origin = `https://${host}`;
  const originId: string = (await admin("POST", "/origins", { origin })).body.id;
  await admin("POST", `/origins/${originId}/activate`);
  const client = await admin("POST", "/clients", { name: "desk", rpm: null, grants: [originId] });
  const clientId: string = client.body.id;
  const { id: tokenId, token } = (await admin("POST", `/clients/${clientId}/tokens`, {})).body;
  const status = async () => (await rpc(mcp(origin), "tools/list", { token, bindings })).status;
  return { host, origin, originId, clientId, tokenId: tokenId as string, token: token as string, status };
}

describe("onboarding", () => {
  it("goes from a new origin to a tool's result", async () => {
    const { origin, token, clientId } = await onboard();
    const params = { name: "sum_numbers", arguments: { a: 2, b: 40 } };
    const response = await rpc(mcp(origin), "tools/call", { token, params, bindings });
    expect(response.headers.get("X-Gw-Client")).toBe(clientId);
    expect(await response.json()).toMatchObject({ result: { structuredContent: { result: 42 } } });
  });

  it("probes the real publisher, again after every change of it", async () => {
    const host = uniqueHost("good");
    const { id } = (await admin("POST", "/origins", { origin: `https://${host}` })).body;
    const first = (await admin("POST", `/origins/${id}/probe`)).body;
    expect(first).toMatchObject({
      error: null,
      skills: [
        { name: "sum_numbers", publicName: "sum_numbers", toolSha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        {},
      ],
    });
    await become(host, "bad");
    const second = (await admin("POST", `/origins/${id}/probe`)).body;
    expect(second).toMatchObject({
      error: null,
      skills: [],
      rejected: expect.arrayContaining([expect.objectContaining({ name: "sum_numbers", code: "hash_mismatch" })]),
    });
    await become(host, "down");
    const third = await admin("POST", `/origins/${id}/probe`);
    expect(third.status).toBe(200);
    expect(third.body.error.code).toBe("discovery_failed");
    expect(JSON.stringify(third.body)).not.toContain("hunter2");
    await become(host, "prose");
    expect((await admin("POST", `/origins/${id}/probe`)).body.error.code).toBe("no_skills");
  });

  it("a pending origin is closed to everybody", async () => {
    const { token } = await onboard();
    const origin = `https://${uniqueHost("good")}`;
    await admin("POST", "/origins", { origin });
    expect((await rpc(mcp(origin), "tools/list", { token, bindings })).status).toBe(403);
  });
});

describe("a change of policy is in force at once in the isolate that made it", () => {
  it("suspending, activating and revoking an origin", async () => {
    const { originId, status } = await onboard();
    expect(await status()).toBe(200);
    for (const [step, expected] of [
      ["suspend", 403],
      ["activate", 200],
      ["revoke", 403],
    ] as const) {
      await admin("POST", `/origins/${originId}/${step}`, step === "revoke" ? { reason: "It is over." } : {});
      expect(await status()).toBe(expected);
    }
  });

  it("suspending a client, taking its grant, blocking it", async () => {
    const { originId, clientId, status } = await onboard();
    for (const [change, expected] of [
      [{}, 200],
      [{ status: "suspended" }, 401],
      [{ status: "active" }, 200],
      [{ grants: [] }, 403],
      [{ grants: [originId] }, 200],
      [{ rpm: 0 }, 429],
      [{ rpm: null }, 200],
      [{ grants: "all" }, 200],
    ] as const) {
      await admin("PATCH", `/clients/${clientId}`, change);
      expect(await status()).toBe(expected);
    }
  });

  it("revoking a token, while the client's other token goes on", async () => {
    const { origin, clientId, tokenId, status } = await onboard();
    const second = (await admin("POST", `/clients/${clientId}/tokens`, {})).body;
    expect(await status()).toBe(200);
    await admin("DELETE", `/clients/${clientId}/tokens/${tokenId}`);
    expect(await status()).toBe(401);
    expect((await rpc(mcp(origin), "tools/list", { token: second.token, bindings })).status).toBe(200);
  });
});

describe("a change of policy", () => {
  it("is in force before the witness of the audit log has answered", async () => {
    const { originId, status } = await onboard();
    let answer = (): void => {};
    const note = () => new Promise<void>((resolve) => (answer = resolve));
    const silent = { idFromName: () => "id", get: () => ({ note }) };
    expect(await status()).toBe(200);
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ reason: "It leaks." }) };
    let isAnswered = false;
    const suspending = send(`/admin/api/v1/origins/${originId}/suspend`, init, { ...bindings, AUDIT_HEAD: silent });
    void suspending.then(() => (isAnswered = true));
    await expect.poll(status).toBe(403);
    expect(isAnswered).toBe(false);
    answer();
    expect((await suspending).status).toBe(200);
  });

  it("about a version reaches the origin's hub with it, whoever asks the hub next", async () => {
    const { origin, originId, status } = await onboard();
    expect(await status()).toBe(200);
    const { items } = (await admin("GET", `/origins/${originId}/skills`)).body;
    const { scope, name, toolSha256 } = items[0];
    const [before] = await policyVersions(origin, originId);
    const { probedAt } = (await admin("GET", `/origins/${originId}`)).body;
    for (const step of ["reject", "approve"]) {
      await admin("POST", `/origins/${originId}/${step}`, { skills: [{ scope, name, toolSha256 }], probedAt });
      const [followed, decided] = await policyVersions(origin, originId);
      expect(followed).toBe(decided);
    }
    expect((await policyVersions(origin, originId))[0]).toBe((before ?? 0) + 2);
  });
});

/** What the hub follows, and what is decided. */
async function policyVersions(origin: string, id: string): Promise<readonly number[]> {
  const answer = await askHub(env, origin as CanonicalOrigin, null);
  return [answer.ok ? answer.policyVersion : -1, (await getOrigin(registry, id)).policyVersion];
}

describe("mounted in the gateway", () => {
  it("answers with the gateway's request id, which the audit names", async () => {
    const { headers, body } = await admin("POST", "/origins", { origin: `https://${uniqueHost("good")}` });
    const [row] = (await admin("GET", "/audit")).body.items;
    expect(row).toMatchObject({ subject: body.id, requestId: headers.get("X-Request-Id") });
  });

  it("answers problems below its own address, and 405 with Allow", async () => {
    expect((await admin("GET", "/nothing")).body).toMatchObject({ status: 404, code: "not_found" });
    const { status, headers } = await admin("PUT", "/origins", {});
    expect({ status, allow: headers.get("Allow") }).toEqual({ status: 405, allow: "POST, GET, HEAD" });
    expect(headers.get("Cache-Control")).toBe("no-store");
  });

  it("exists on ADMIN_HOST alone where that is set", async () => {
    const elsewhere = { ...bindings, ADMIN_HOST: "admin.example" };
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const status = async (host: string) =>
      (await send(`https://${host}/admin/api/v1/origins`, { headers }, elsewhere)).status;
    expect([await status("gate.example"), await status("admin.example")]).toEqual([404, 200]);
  });

  it("a client's token opens nothing here", async () => {
    const { token } = await onboard();
    const response = await send("/admin/api/v1/clients", { headers: { Authorization: `Bearer ${token}` } }, bindings);
    expect(response.status).toBe(401);
  });
});
