import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { discover } from "../../src/core/discovery/discover.ts";
import { adder, sha256Of } from "../../src/core/discovery/fixture/publisher.ts";
import type { Release } from "../../src/core/discovery/release.ts";
import { createFetchOrigin } from "../../src/core/fetch/fetch-origin.ts";
import { DEFAULT_DISCOVERY_LIMITS, DEFAULT_SANDBOX_LIMITS } from "../../src/core/limits.ts";
import { type CanonicalOrigin, parseOrigin } from "../../src/core/origin.ts";
import { selectEngineKind } from "../../src/core/sandbox/engine.ts";
import { Sandbox } from "../../src/core/sandbox/sandbox.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const MIB = 1024 * 1024;
let server: Server;
let origin: CanonicalOrigin;
let sandbox: Sandbox;
let sent = 0;
let answered: string[] = [];
const handlers = new Map<string, Handler>();

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "/";
    answered.push(path);
    response.on("error", () => {});
    const handler = handlers.get(path);
    if (handler === undefined) response.writeHead(404).end();
    else handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  origin = parseOrigin(`http://127.0.0.1:${port}`, { allowLoopbackHttp: true, ownHosts: [] });
  const kind = selectEngineKind("auto");
  const wasm = readFileSync(new URL(`../../src/core/sandbox/generated/quickjs-${kind}.wasm`, import.meta.url));
  sandbox = new Sandbox({ engine: { kind, module: new WebAssembly.Module(wasm) }, limits: DEFAULT_SANDBOX_LIMITS });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const text =
  (body: string): Handler =>
  (_request, response) =>
    response.end(body);

/** Sends 64 KiB chunks until the reader hangs up or `bytes` are out. */
const flood =
  (bytes: number, headers: Record<string, string> = {}): Handler =>
  (_request, response) => {
    response.writeHead(200, headers);
    const chunk = Buffer.alloc(65_536, 32);
    let left = bytes;
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length;
        sent += chunk.length;
        if (!response.write(chunk)) {
          response.once("drain", more);
          return;
        }
      }
      response.end();
    };
    more();
  };

/** One `bad` skill whose tool.js is answered by `handler`, and a `good` one beside it. */
async function discoverWith(handler: Handler, fetchTimeoutMs = 2_000): Promise<Release> {
  handlers.clear();
  answered = [];
  sent = 0;
  const line = async (name: string) =>
    `- [${name}](): x <!-- skill: ${JSON.stringify({ tool: `/${name}.js`, tool_sha256: await sha256Of(adder(name)) })} -->`;
  handlers.set("/llms.txt", text(`## Skills\n${await line("bad")}\n${await line("good")}\n`));
  handlers.set("/good.js", text(adder("good")));
  handlers.set("/bad.js", handler);
  const limits = { ...DEFAULT_DISCOVERY_LIMITS, fetchTimeoutMs };
  return discover({ origin, fetch, sandbox, limits, now: Date.now });
}

it.each<[string, Handler, string]>([
  ["a body of 100 MB in chunks", flood(100 * MIB), "too_large"],
  ["a declared length of 100 MB", flood(100 * MIB, { "content-length": String(100 * MIB) }), "too_large"],
  ["a connection that is reset before the headers", (request) => request.socket.destroy(), "fetch_failed"],
  [
    "a connection that is reset in the body",
    (request, response) => {
      response.write("regis");
      setTimeout(() => request.socket.destroy(), 20);
    },
    "fetch_failed",
  ],
  [
    "a body shorter than declared",
    (_request, response) => {
      response.writeHead(200, { "content-length": "500" });
      response.write("short");
      setTimeout(() => response.socket?.end(), 20);
    },
    "fetch_failed",
  ],
  ["headers that never come", () => {}, "timeout"],
  ["a body that never ends", (_request, response) => response.write("regis"), "timeout"],
  [
    "a body that drips for ever",
    (_request, response) => {
      const drip = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(drip));
    },
    "timeout",
  ],
  [
    "a redirect to itself",
    (_request, response) => response.writeHead(302, { location: "/bad.js" }).end(),
    "too_many_redirects",
  ],
  [
    "a redirect to another port",
    (_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/x" }).end(),
    "redirect_outside_origin",
  ],
  [
    "a redirect to another name of the same host",
    (_request, response) =>
      response.writeHead(307, { location: `http://localhost:${new URL(origin).port}/good.js` }).end(),
    "redirect_outside_origin",
  ],
  ["no HTTP", (request) => request.socket.end("hello\r\n\r\n"), "fetch_failed"],
  ["half of another script", text(adder("bad").slice(0, 20)), "hash_mismatch"],
])("[10.1-G] %s costs the origin that skill alone", async (_fault, handler, code) => {
  const release = await discoverWith(handler, code === "timeout" ? 200 : 5_000);
  expect(release.skills.map(({ name }) => name)).toEqual(["good"]);
  expect(release.rejected).toMatchObject([{ name: "bad", code }]);
});

it("[10.2-download-cap] hangs up on a body once it is larger than the limit", async () => {
  await discoverWith(flood(100 * MIB));
  expect(sent).toBeLessThan(16 * MIB);
});

it("reads a compressed body whose length is not the declared one", async () => {
  const { gzipSync } = await import("node:zlib");
  const zipped = gzipSync(adder("bad"));
  const release = await discoverWith((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-length": String(zipped.length) }).end(zipped);
  });
  expect(release.skills.map(({ name }) => name)).toEqual(["bad", "good"]);
});

it("a compression bomb stops at the limit", async () => {
  const { gzipSync } = await import("node:zlib");
  const bomb = gzipSync(Buffer.alloc(50 * MIB));
  const release = await discoverWith((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-length": String(bomb.length) }).end(bomb);
  });
  expect(release.rejected).toMatchObject([{ name: "bad", code: "too_large" }]);
});

it("host.fetchOrigin cuts a flood, sends what it was given and survives a reset", async () => {
  handlers.clear();
  handlers.set("/flood", flood(100 * MIB));
  handlers.set("/reset", (request) => request.socket.destroy());
  handlers.set("/echo", (request, response) => {
    const { "user-agent": agent, "content-type": type, cookie, authorization } = request.headers;
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => response.end(JSON.stringify([request.method, body, agent, type, cookie, authorization])));
  });
  sent = 0;
  const fetchOrigin = createFetchOrigin({ origin, fetch, limits: DEFAULT_SANDBOX_LIMITS });
  const { signal } = new AbortController();
  expect(await fetchOrigin("/flood", undefined, signal)).toMatchObject({ status: 200, bytes: 65_536, truncated: true });
  expect(sent).toBeLessThan(16 * MIB);
  await expect(fetchOrigin("/reset", undefined, signal)).rejects.toThrow(/^fetchOrigin failed: /);
  const echo = await fetchOrigin("/echo", { method: "POST", body: "é" }, signal);
  expect(JSON.parse(echo.body)).toEqual(["POST", "é", "Skillgate/0.1.0", "application/json", null, null]);
});
