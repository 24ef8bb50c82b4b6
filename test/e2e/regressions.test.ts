import { request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AdminClient } from "../../src/dev/stack/admin-client.ts";
import { onboardOrigin } from "../../src/dev/stack/onboarding.ts";
import { type Stack, startStack } from "../../src/dev/stack.ts";
import { Caller } from "./caller.ts";
import { skill, startTestPublisher, type TestPublisher, type TestPublisherOptions } from "./test-publisher.ts";

/**
 * Faults that another gateway of the kind had and mended, each with its id. `test/node/coverage.test.ts` says which ids there are, and
 * why some have no test yet.
 */
let stack: Stack;
let caller: Caller;
let admin: AdminClient;
const publishers: TestPublisher[] = [];

beforeAll(async () => {
  // The longest call that may be set: only gas can stop an endless one. A pool of two: whoever calls beside two others must wait.
  const vars = { CALL_TIMEOUT_MS: "300000", FETCH_TIMEOUT_MS: "1000", WASM_POOL_SIZE: "2", MAX_BODY_BYTES: "16384" };
  stack = await startStack({ port: 0, onboard: ["demo"], vars });
  caller = new Caller(stack);
  admin = new AdminClient(stack.url, stack.adminToken);
});

afterEach(async () => {
  for (const publisher of publishers.splice(0)) await publisher.stop();
});

afterAll(async () => {
  caller?.close();
  await stack?.stop();
});

async function activated(options: TestPublisherOptions) {
  const publisher = await startTestPublisher(options);
  publishers.push(publisher);
  const { probe } = await onboardOrigin(admin, publisher.origin);
  return { publisher, origin: publisher.origin, probe };
}

const listed = async (origin: string) =>
  (await caller.send(origin, "tools/list")).body?.result?.tools?.map(({ name }) => name);

describe("a call", () => {
  it("[10.4-T12B] is cut by gas however Date is frozen and however long it may take, and its neighbours work on", async () => {
    const { origin } = await activated({
      skills: [skill("frozen", "Date.now = () => 0; while (true) {}"), skill("good", "return 1;")],
    });
    expect(await caller.failure(origin, "frozen")).toContain("gas exhausted");
    expect(await caller.value(origin, "good")).toBe(1);
  });

  it("[10.4-T12] of a tool that wants what only browsers have is a tool error", async () => {
    const { origin } = await activated({ skills: [skill("params", "return String(new URLSearchParams('a=1'));")] });
    expect(await caller.failure(origin, "params")).toContain("URLSearchParams");
  });

  it.each([["[1,2]"], ["42"], ["null"], ['"text"'], ["false"]])(
    "[10.4-T13] that returns %s gives the value as text, and wrapped as structured content",
    async (json) => {
      const { origin } = await activated({ skills: [skill("give", `return ${json};`)] });
      expect(await caller.call(origin, "give")).toMatchObject({
        content: [{ type: "text", text: json }],
        structuredContent: { result: JSON.parse(json) },
      });
    },
  );

  it("[10.4-T17] may not send a body with GET, and waits no longer than the limit for an answer that never comes", async () => {
    const { origin } = await activated({
      skills: [
        skill("get_body", "return host.fetchOrigin('/', { body: 'x' }).status;"),
        skill("silent", "return host.fetchOrigin('/').status;"),
      ],
      api: () => {},
    });
    expect(await caller.failure(origin, "get_body")).toContain("body not allowed with GET");
    expect(await caller.failure(origin, "silent")).toContain("fetchOrigin timeout");
  });

  it("[10.4-T19] among many at once is never a server error, and costs no discovery of its own", async () => {
    const body = "let n = 0; for (let i = 0; i < 3; i++) n += (await host.fetchOrigin('/' + i)).status; return n;";
    const { origin, publisher } = await activated({ skills: [skill("busy", body)] });
    const discoveries = publisher.requests.get("/llms.txt") ?? 0;
    const values = await Promise.all(Array.from({ length: 10 }, () => caller.value(origin, "busy")));
    expect(values).toEqual(Array(10).fill(600));
    expect(publisher.requests.get("/llms.txt")).toBe(discoveries);
  });

  it("[10.4-8624718] that waits for another's instance gets it, whatever request had it before", async () => {
    const { origin } = await activated({ skills: [skill("fetch", "return (await host.fetchOrigin('/')).status;")] });
    const calls = Array.from({ length: 32 }, (_, a) =>
      a % 2 === 0 ? caller.value(origin, "fetch") : caller.value(stack.origins.demo, "sum_numbers", { a, b: 0 }),
    );
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 32 }, (_, a) => (a % 2 === 0 ? 200 : a)));
  });
});

describe("discovery", () => {
  it("[10.4-T10] takes tool_sha256 for the tool's hash and sha256 for the recipe's", async () => {
    const recipe = "---\nname: both\ndescription: A test.\n---\nA recipe.\n";
    const { origin, probe } = await activated({ skills: [skill("both", "return 1;", { recipe })] });
    expect(probe.rejected).toEqual([]);
    const answer = await caller.send(origin, "resources/list");
    expect(answer.body?.result?.resources?.map(({ uri }) => uri)).toEqual(["skill://both"]);
  });

  it("[10.4-T22] [10.4-T23] finds a memory after the skills; one with a wrong hash is left out, and the skills stay", async () => {
    const memory = { snapshot: "/memory.bin", snapshot_sha256: "0".repeat(64), format: "minimemory-okf-v1" };
    const { origin, probe } = await activated({
      skills: [skill("recall", "return host.memorySearch('x');")],
      moreLines: ["", `<!-- skills-memory: ${JSON.stringify(memory)} -->`],
    });
    expect(probe.rejected).toMatchObject([{ subject: "memory", code: "hash_mismatch" }]);
    expect(await listed(origin)).toEqual(["recall"]);
    expect(await caller.failure(origin, "recall")).not.toBe("");
  });

  it("[10.4-T42] rejects a tool of 100 MB, announced or not, without reading it; the others load", async () => {
    const chunk = Buffer.alloc(65_536, " ");
    let written = 0;
    const { origin, probe } = await activated({
      skills: [
        skill("announced", "return 1;", { toolUrl: "/announced" }),
        skill("endless", "return 1;", { toolUrl: "/endless" }),
        skill("good", "return 1;"),
      ],
      api: (request, response) => {
        if (request.url === "/announced") response.setHeader("Content-Length", 100_000_000);
        const more = () => {
          while (written < 200_000_000 && !response.destroyed) {
            written += chunk.length;
            if (!response.write(chunk)) return;
          }
        };
        response.on("drain", more);
        more();
      },
    });
    expect(probe.rejected.map(({ name, code }) => [name, code])).toEqual([
      ["announced", "too_large"],
      ["endless", "too_large"],
    ]);
    expect(await listed(origin)).toEqual(["good"]);
    // What the sockets' buffers took, and no more.
    expect(written).toBeLessThan(40_000_000);
  });

  it("[10.4-fa5eda3] takes skills from their own section alone", async () => {
    const line = `- [outside](): A test. <!-- skill: {"tool":"/tools/outside.js","tool_sha256":"${"0".repeat(64)}"} -->`;
    const { origin, probe } = await activated({
      skills: [skill("inside", "return 1;")],
      moreLines: ["- [prose](https://example.com): no skill", "", "## Other", "", line],
    });
    expect(probe.rejected).toEqual([]);
    expect(await listed(origin)).toEqual(["inside"]);
  });

  it("[10.4-555416d] [10.4-b283e85] keeps the base path of a project site, for its files and for what its tools fetch", async () => {
    const { origin, publisher } = await activated({
      base: "/REPO",
      skills: [skill("fetch", "return JSON.parse(host.fetchOrigin('/api/x').body).path;")],
    });
    expect(origin).toMatch(/\/REPO$/);
    expect(await caller.value(origin, "fetch")).toBe("/REPO/api/x");
    expect([...publisher.requests.keys()].filter((path) => !path.startsWith("/REPO/"))).toEqual([]);

    const byPath = await fetch(`${stack.url}/mcp/${origin.slice("http://".length)}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${stack.clientToken}`, "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "fetch" } }),
    });
    expect(await byPath.json()).toMatchObject({ result: { structuredContent: { result: "/REPO/api/x" } } });
  });
});

describe("the gateway", () => {
  it.each([[undefined], ["Bearer "], ["Bearer sg_wrong"], ["Basic eDp5"]])(
    "[10.4-T15] [10.4-T28] answers the authorization %s with 401 before anything else",
    async (authorization) => {
      const answer = await fetch(`${stack.url}/mcp?origin=nonsense`, {
        method: "POST",
        headers: {
          "Content-Type": "text/plain",
          ...(authorization === undefined ? {} : { Authorization: authorization }),
        },
        body: "not JSON",
      });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    },
  );

  it("[10.4-c29c809] counts bytes, not characters, and says its own name", async () => {
    // Over the limit in bytes, not in characters, and small enough to be sent whole before the refusal closes the connection.
    const params = { name: "sum_numbers", arguments: { note: "é".repeat(10_000) } };
    expect((await caller.send(stack.origins.demo, "tools/call", params)).status).toBe(413);
    const hello = await caller.send(stack.origins.demo, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    expect(hello.body?.result).toMatchObject({ serverInfo: { name: "skillgate" } });
  });
});

describe("a live stream of an operator", () => {
  it("does not end for others that nobody reads any more", async () => {
    const open = (signal: AbortSignal) =>
      fetch(`${stack.url}/admin/api/v1/events`, { headers: { Authorization: `Bearer ${stack.adminToken}` }, signal });
    const watching = new AbortController();
    const watched = await open(watching.signal);
    for (let load = 0; load < 10; load++) {
      const page = new AbortController();
      const stream = await open(page.signal);
      await stream.body?.getReader().read();
      page.abort();
    }
    await admin.createClient("seen");
    let text = "";
    for await (const chunk of watched.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes("client.create")) break;
    }
    expect(text).toContain("client.create");
    expect(text).not.toContain("displaced");
  });
});

describe("a request whose Host header is no host", () => {
  // Of these an URL cannot be made: the first looks like an IPv4 address and is none.
  it.each(["gate.127.0.0.1", "a.1.2.3.4.5", "1.2.3.999"])("is refused as such at every address: %s", async (host) => {
    const paths = [
      "/",
      "/mcp/127.0.0.1:1",
      "/s/x/llms.txt",
      "/admin/",
      "/admin/api/v1/origins?limit=1",
      "/metrics",
      "/demo/",
    ];
    for (const path of paths) {
      const isCall = path.startsWith("/mcp");
      const { status, body } = await answerTo(
        path,
        { Host: host, Origin: "http://a.example" },
        isCall ? "POST" : "GET",
      );
      expect([path, status, JSON.stringify(body)]).toEqual([path, 400, expect.stringContaining("bad_header")]);
    }
  });
});

async function answerTo(path: string, headers: Record<string, string>, method: string) {
  const own = { Authorization: `Bearer ${stack.clientToken}`, ...headers };
  return new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
    const ask = request({ host: "127.0.0.1", port: stack.port, path, method, headers: own }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode, body: JSON.parse(text) }));
    });
    ask.on("error", reject).end();
  });
}
