import { beforeAll, describe, expect, it } from "vitest";
import { createToken } from "../../src/gateway/auth/token.ts";
import { expectPlain, expectRpc } from "./expect-refusal.ts";
import { addClient, addOrigin, mcp, migrate, rpc, send } from "./gateway-fixture.ts";

beforeAll(migrate);

const post = (body: BodyInit, token: string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}`, ...headers },
  body,
});

describe("400", () => {
  it.each(["", "{", "nonsense", "{'a':1}", '{"jsonrpc":"2.0","id":1,', "\u0000"])(
    "[code:bad_json] for the body %j",
    async (body) => {
      const { token } = await addClient();
      await expectPlain(await send("/mcp?origin=https://a.example", post(body, token)), 400, "bad_json");
    },
  );

  it("[code:bad_json] for a body that is not UTF-8", async () => {
    const { token } = await addClient();
    const body = Uint8Array.of(0x22, 0xff, 0x22);
    await expectPlain(await send("/mcp?origin=https://a.example", post(body, token)), 400, "bad_json");
  });

  it.each([
    "http://shop.example",
    "https://127.0.0.1",
    "https://user:pw@shop.example",
    "https://shop.example/?a=1",
    "ftp://shop.example",
    "shop.example",
    "https://gate.example",
    "https://localhost",
    "data:x",
  ])("[code:bad_origin] for ?origin=%s", async (origin) => {
    const { token } = await addClient();
    await expectRpc(await rpc(mcp(origin), "ping", { token }), 400, "bad_origin");
  });

  it.each([
    "/mcp/shop.example%2Fbase",
    "/mcp/https://shop.example",
    "/mcp/user@shop.example",
    "/mcp/127.0.0.1",
    "/mcp/%c0%af",
    "/mcp/shop.example/%",
    "/mcp/shop.example/a%2Fb",
  ])("[code:bad_origin] for %s", async (path) => {
    const { token } = await addClient();
    await expectRpc(await rpc(path, "ping", { token }), 400, "bad_origin");
  });

  it("[code:origin_conflict] when query and path, or two queries, differ", async () => {
    const { token } = await addClient();
    for (const path of [
      "/mcp/a.example?origin=https://b.example",
      "/mcp?origin=https://a.example&origin=https://b.example",
    ]) {
      await expectRpc(await rpc(path, "ping", { token }), 400, "origin_conflict");
    }
  });

  it.each(["/mcp", "/mcp/", "/mcp?origin=", "/mcp?ORIGIN=https://a.example"])(
    "[code:missing_origin] for %s",
    async (path) => {
      const { token } = await addClient();
      await expectRpc(await rpc(path, "ping", { token }), 400, "missing_origin");
    },
  );

  it("[code:bad_header] for a header that no MCP client sends", async () => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    const headers = { "Mcp-Name": "n".repeat(9_000) };
    const response = await rpc(mcp(origin), "ping", { token, headers });
    await expectPlain(response, 400, "bad_header");
  });
});

it("[code:not_found] for an address that only becomes /mcp when decoded", async () => {
  const { token } = await addClient();
  const { status } = await rpc("/%6dcp/shop.example", "ping", { token });
  expect(status).toBe(404);
});

it("checks in one order: each repaired fault shows the next one", async () => {
  const client = await addClient();
  const blocked = await addClient({ rpm: 0 });
  const pending = await addOrigin("down", "pending");
  const down = await addOrigin("down");
  const good = await addOrigin();
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const json = { ...bearer(client.token), "Content-Type": "application/json" };
  const steps: [code: string, path: string, method: string, headers: Record<string, string>, body?: string][] = [
    ["browser_origin", "/mcp", "PUT", { Origin: "https://evil.example" }],
    ["method_not_allowed", "/mcp", "PUT", {}, "{"],
    ["unauthorized", "/mcp", "POST", { "Mcp-Name": "n".repeat(9_000) }, "{"],
    ["rate_limited", "/mcp", "POST", { ...bearer(blocked.token), "Mcp-Name": "n".repeat(9_000) }, "{"],
    ["bad_header", "/mcp", "POST", { ...bearer(client.token), "Mcp-Name": "n".repeat(9_000) }, "{"],
    ["unsupported_media_type", "/mcp", "POST", bearer(client.token), "{".repeat(1_048_577)],
    ["too_large", "/mcp", "POST", json, "{".repeat(1_048_577)],
    ["bad_json", "/mcp", "POST", json, "{"],
    ["missing_origin", "/mcp", "POST", json, ping],
    ["bad_origin", "/mcp?origin=x", "POST", json, ping],
    ["origin_conflict", `${mcp(pending.origin)}&origin=https://b.example`, "POST", json, ping],
    ["origin_forbidden", mcp(pending.origin), "POST", json, ping],
    ["discovery_failed", mcp(down.origin), "POST", json, ping],
    ["none", mcp(good.origin), "POST", json, ping],
  ];
  const codes = [];
  for (const [, path, method, headers, body] of steps) {
    const response = await send(path, { method, headers, ...(body === undefined ? {} : { body }) });
    const answer = (await response.json()) as { error?: string | { data: { code: string } } };
    codes.push(typeof answer.error === "object" ? answer.error.data.code : (answer.error ?? "none"));
  }
  expect(codes).toEqual(steps.map(([code]) => code));
});

describe("addresses that try to be another", () => {
  it.each([
    ["/mcp//shop.example", "bad_origin"],
    ["/mcp/shop.example//", "bad_origin"],
    ["/mcp/shop.example:0x50", "bad_origin"],
    ["/mcp/shop.example.", "bad_origin"],
    ["/mcp/shop.example:", "bad_origin"],
    ["/mcp/[::1]", "bad_origin"],
    ["/mcp/[::ffff:7f00:1]:8080", "bad_origin"],
    ["/mcp/0x7f.1", "bad_origin"],
    ["/mcp/2130706433", "bad_origin"],
    ["/mcp/gate.example", "bad_origin"],
    ["/mcp/GATE.example:8443", "bad_origin"],
    ["/mcp/gate.example./x", "bad_origin"],
    ["/mcp/shop.example/a%2fb", "bad_origin"],
    ["/mcp/shop.example/a%5Cb", "bad_origin"],
    ["/mcp/shop.example/a%252fb", "bad_origin"],
    ["/mcp/shop%2eexample", "bad_origin"],
    ["/mcp/%73hop.example", "bad_origin"],
    ["/mcp/shop.example%00.evil.example", "bad_origin"],
    ["/mcp?origin=https%253A%252F%252Fshop.example", "bad_origin"],
    ["/mcp?origin=https://shop.example%00", "bad_origin"],
    ["/mcp?origin=https://shop.example%0d%0aX-Evil:1", "bad_origin"],
    ["/mcp?origin=https://gate.example@shop.example", "bad_origin"],
    ["/mcp?origin=https:%5C%5Cshop.example", "bad_origin"],
    ["/mcp?origin=https://shop.example%23", "bad_origin"],
    ["/mcp?origin=%20https://shop.example", "bad_origin"],
    [`/mcp?origin=https://shop.example/${"a".repeat(2_048)}`, "bad_origin"],
    ["/mcp/shop.example/../evil.example?origin=https://shop.example", "origin_conflict"],
    ["/mcp/shop.example/%2e%2e/evil.example?origin=https://shop.example", "origin_conflict"],
    ["/mcp/shop.example\\base?origin=https://shop.example", "origin_conflict"],
    ["/mcp/shop.example/..", "missing_origin"],
    ["/mcp/http://127.0.0.1:80", "bad_origin"],
  ])("%s is [code:%s]", async (path, code) => {
    const { token } = await addClient();
    await expectRpc(await rpc(path, "ping", { token }), 400, code);
  });

  it("[code:origin_forbidden] no header chooses the origin, the host or the client", async () => {
    const { token } = await addClient({ grants: [] });
    const { origin } = await addOrigin();
    const other = await addClient();
    const headers = {
      "X-Forwarded-Host": "127.0.0.1",
      "X-Forwarded-For": "127.0.0.1",
      "X-Original-URL": "/admin/api/v1/origins",
      "X-HTTP-Method-Override": "GET",
      "X-Gw-Client": other.id,
      "X-Admin-Token": "x",
    };
    const response = await rpc(mcp(origin), "ping", { token, headers });
    expect(response.headers.get("X-Gw-Client")).not.toBe(other.id);
    await expectRpc(response, 403, "origin_forbidden");
  });

  it("[code:unauthorized] two tokens in one header are none", async () => {
    const { token } = await addClient();
    for (const authorization of [`Bearer ${token}, Bearer ${token}`, `Bearer ${token} x`, `Bearer\t${token}`, token]) {
      await expectPlain(await rpc("/mcp", "ping", { headers: { Authorization: authorization } }), 401, "unauthorized");
    }
  });
});

describe("401", () => {
  it("[code:unauthorized] is one and the same answer for missing, malformed, unknown, expired, revoked and suspended", async () => {
    const { origin } = await addOrigin();
    const expired = await addClient({ expiresAt: 1 });
    const revoked = await addClient({ revokedAt: 1 });
    const suspended = await addClient({ status: "suspended" });
    const answers = new Set<string>();
    for (const authorization of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      "Basic abc",
      "Bearer junk",
      `Bearer ${createToken()}`,
      `Bearer ${expired.token}`,
      `Bearer ${revoked.token}`,
      `Bearer ${suspended.token}`,
    ]) {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const response = await rpc(mcp(origin), "ping", { headers });
      expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect(response.headers.has("X-Gw-Client")).toBe(false);
      const body = await expectPlain(response, 401, "unauthorized");
      const kept = [...response.headers].filter(([name]) => name !== "x-request-id");
      answers.add(JSON.stringify([kept, body]));
    }
    expect(answers.size).toBe(1);
  });
});

describe("403", () => {
  it("[code:origin_forbidden] is byte-identical for unknown, not granted, pending, suspended and revoked origins", async () => {
    const granted = await addOrigin();
    const { token } = await addClient({ grants: [granted.id] });
    const all = await addClient();
    const bodies = new Set<string>();
    const origins: [string, string][] = [
      ["https://never-registered.example", token],
      ["https://never-registered.example", all.token],
      [(await addOrigin()).origin, token],
    ];
    for (const status of ["pending", "suspended", "revoked"] as const) {
      origins.push([(await addOrigin("good", status)).origin, all.token]);
    }
    for (const [origin, bearer] of origins) {
      const response = await rpc(mcp(origin), "ping", { token: bearer });
      await expectRpc(response.clone(), 403, "origin_forbidden");
      const kept = [...response.headers].filter(([name]) => !["x-request-id", "x-gw-client"].includes(name));
      bodies.add(JSON.stringify([kept, await response.text()]));
    }
    expect(bodies.size).toBe(1);
    expect((await rpc(mcp(granted.origin), "ping", { token })).status).toBe(200);
  });

  it("[code:browser_origin] for a page of a web origin that is not allowed, before anything else", async () => {
    for (const method of ["POST", "OPTIONS", "GET"]) {
      const response = await send("/mcp", { method, headers: { Origin: "https://evil.example" } });
      await expectPlain(response, 403, "browser_origin");
      expect(response.headers.has("Access-Control-Allow-Origin")).toBe(false);
    }
  });

  it("[code:browser_origin] when DNS rebinding makes Host and Origin agree", async () => {
    const response = await send("http://evil.example/mcp", {
      method: "POST",
      headers: { Origin: "http://evil.example" },
    });
    await expectPlain(response, 403, "browser_origin");
  });
});

describe("404, 405, 413, 415", () => {
  it.each(["/nothing", "/mcpx", "/.well-known/oauth-protected-resource", "/%00", "//"])(
    "[code:not_found] for %s",
    async (path) => {
      await expectPlain(await send(`https://gate.example${path}`), 404, "not_found");
    },
  );

  it.each([
    ["GET", "POST, OPTIONS"],
    ["DELETE", "GET, POST, OPTIONS"],
    ["PUT", "GET, POST, OPTIONS"],
    ["PATCH", "GET, POST, OPTIONS"],
    ["OPTIONS", "GET, POST, OPTIONS"],
  ])(
    "[10.2-get-mcp] [code:method_not_allowed] for %s /mcp that asks for no stream, with Allow: %s",
    async (method, allow) => {
      for (const path of ["/mcp", "/mcp/shop.example"]) {
        const response = await send(path, { method });
        expect(response.headers.get("Allow")).toBe(allow);
        await expectPlain(response, 405, "method_not_allowed");
      }
    },
  );

  it("[code:method_not_allowed] for HEAD /mcp and for POST to pages that are read", async () => {
    expect((await send("/mcp", { method: "HEAD" })).status).toBe(405);
    for (const path of ["/", "/healthz", "/readyz"]) {
      const response = await send(path, { method: "POST" });
      expect(response.headers.get("Allow")).toBe("GET, HEAD");
      await expectPlain(response, 405, "method_not_allowed");
    }
  });

  const padded = (bytes: number): string => {
    const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    return message + " ".repeat(bytes - message.length);
  };

  it.each([
    [1_048_575, 200],
    [1_048_576, 200],
    [1_048_577, 413],
  ])("[budget:request-body] a body of %i bytes is answered %i", async (bytes, status) => {
    const { token } = await addClient();
    const { origin } = await addOrigin();
    expect((await send(mcp(origin), post(padded(bytes), token))).status).toBe(status);
  });

  it("[code:too_large] for a streamed body without a length, without reading it to its end", async () => {
    const { token } = await addClient();
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(32));
        if (sent > 64 * 1_048_576) controller.close();
      },
    });
    const response = await send("/mcp?origin=https://a.example", post(body, token));
    await expectPlain(response, 413, "too_large");
    expect(sent).toBeLessThan(3 * 1_048_576);
  });

  it("does not read the body of a caller it does not know", async () => {
    const response = await send("/mcp", post("x".repeat(2_000_000), "junk"));
    await expectPlain(response, 401, "unauthorized");
  });

  it.each([
    [{ "Content-Type": "text/plain" }],
    [{ "Content-Type": "" }],
    [{ "Content-Type": "application/jsonp" }],
    [{ "Content-Type": "application/json; charset=utf-16" }],
    [{ "Content-Encoding": "gzip" }],
  ])("[code:unsupported_media_type] for %j", async (headers) => {
    const { token } = await addClient();
    await expectPlain(await send("/mcp", post("{}", token, headers)), 415, "unsupported_media_type");
  });

  it.each(["application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"'])(
    "takes %s",
    async (type) => {
      const { token } = await addClient();
      const { origin } = await addOrigin();
      const response = await send(
        mcp(origin),
        post('{"jsonrpc":"2.0","id":1,"method":"ping"}', token, { "Content-Type": type }),
      );
      expect(response.status).toBe(200);
    },
  );
});
