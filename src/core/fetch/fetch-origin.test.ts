import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../limits.ts";
import { parseOrigin } from "../origin.ts";
import { createFetchOrigin } from "./fetch-origin.ts";
import type { OriginFetcher } from "./origin-fetch.ts";

const origin = parseOrigin("https://publisher.example/base", { allowLoopbackHttp: false, ownHosts: [] });

function capability(answer: (request: Request) => Response | Promise<Response>, limits = {}, traceparent?: string) {
  const seen: Request[] = [];
  const fetch: OriginFetcher = async (url, init) => {
    const request = new Request(url, init);
    seen.push(request.clone());
    return answer(request);
  };
  const fetchOrigin = createFetchOrigin({
    origin,
    fetch,
    limits: { ...DEFAULT_SANDBOX_LIMITS, ...limits },
    traceparent,
  });
  const call = (path: unknown, opts?: Json) => fetchOrigin(path as string, opts, new AbortController().signal);
  const failure = (path: unknown, opts?: Json) =>
    call(path, opts).then(
      () => "no failure",
      (error: Error) => error.message,
    );
  return { call, failure, seen };
}

const echo = async (request: Request) =>
  Response.json([request.method, await request.text(), request.headers.get("content-type")]);

describe("path", () => {
  it.each<[unknown, string]>([
    ["/a", "/base/a"],
    ["/base/a", "/base/a"],
    ["a/b", "/base/a/b"],
    ["?q=1", "/base/?q=1"],
    ["", "/base/"],
    [undefined, "/base/undefined"],
    [7, "/base/7"],
    ["https://publisher.example/base/x", "/base/x"],
    ["HTTPS://PUBLISHER.example:443/base/x", "/base/x"],
  ])("%j is %s", async (path, expected) => {
    const { call, seen } = capability(() => new Response(""));
    await call(path);
    expect(seen[0]?.url).toBe(`https://publisher.example${expected}`);
  });

  it.each([
    "//evil.example/a",
    "\\\\evil.example",
    "/\\evil.example",
    "https://evil.example/",
    "http://publisher.example/base/a",
    "https://publisher.example@evil.example/",
    "https://publisher.example/other",
    "../../other",
    "data:text/plain,x",
    "file:///etc/passwd",
    "javascript:1",
  ])("[10.1-E] %s is refused before anything is asked", async (path) => {
    const { failure, seen } = capability(() => new Response("secret"));
    expect(await failure(path)).toMatch(/^(outside the origin|invalid URL): /);
    expect(seen).toEqual([]);
  });

  it("[10.1-E] does not follow a redirect out of the origin", async () => {
    const { failure, seen } = capability(() => Response.redirect("https://evil.example/secret"));
    expect(await failure("/redir")).toBe(
      "outside the origin: the response redirects to another place, which is not followed",
    );
    expect(seen).toHaveLength(1);
  });

  it("follows a redirect inside of it", async () => {
    const { call } = capability((request) =>
      request.url.endsWith("/old")
        ? new Response(null, { status: 301, headers: { location: "new" } })
        : new Response("here", { status: 203 }),
    );
    expect(await call("/old")).toMatchObject({ status: 203, body: "here" });
  });
});

describe("options", () => {
  it.each<[Json | undefined, string, string, string | null]>([
    [undefined, "GET", "", null],
    [null, "GET", "", null],
    ["POST", "GET", "", null],
    [[], "GET", "", null],
    [{}, "GET", "", null],
    [{ method: 5 }, "GET", "", null],
    [{ method: "get", contentType: "text/plain" }, "GET", "", null],
    [{ method: "post" }, "POST", "", null],
    [{ method: "POST", body: null }, "POST", "", null],
    [{ method: "POST", body: "{}" }, "POST", "{}", "application/json"],
    [{ method: "POST", body: "", contentType: "" }, "POST", "", "application/json"],
    [{ method: "POST", body: "x", contentType: "text/plain; charset=utf-8" }, "POST", "x", "text/plain; charset=utf-8"],
    [{ method: "POST", body: "x", contentType: 7, headers: { cookie: "a=b" } }, "POST", "x", "application/json"],
  ])("%j asks with %s, %j and %j", async (opts, method, body, contentType) => {
    const { call, seen } = capability(echo);
    const answer = await call("/a", opts);
    expect(JSON.parse(answer.body)).toEqual([method, body, contentType]);
    expect(seen[0]?.headers.get("cookie")).toBeNull();
  });

  it.each<[Json, string]>([
    [{ method: "PUT" }, "method not allowed: PUT"],
    [{ method: "" }, "method not allowed: "],
    [{ method: "delete" }, "method not allowed: DELETE"],
    [{ method: "POST", body: {} }, "body must be a string"],
    [{ method: "POST", body: 5 }, "body must be a string"],
    [{ body: "x" }, "body not allowed with GET"],
    [
      { method: "POST", body: "x", contentType: "a\r\nx: y" },
      "contentType must be at most 256 printable ASCII characters",
    ],
    [{ method: "POST", body: "x", contentType: "é" }, "contentType must be at most 256 printable ASCII characters"],
    [
      { method: "POST", body: "x", contentType: "a".repeat(257) },
      "contentType must be at most 256 printable ASCII characters",
    ],
  ])("%j is refused: %s", async (opts, message) => {
    const { failure, seen } = capability(echo);
    expect(await failure("/a", opts)).toBe(message);
    expect(seen).toEqual([]);
  });

  it("[10.2-body-bytes] [budget:fetch-request] a body has at most 16,384 bytes, however many characters they are", async () => {
    const { call, failure } = capability(echo);
    for (const [body, fits] of [
      ["x".repeat(16_383), true],
      ["x".repeat(16_384), true],
      ["x".repeat(16_385), false],
      ["é".repeat(8_192), true],
      [`${"é".repeat(8_192)}x`, false],
      ["😀".repeat(4_096), true],
      ["😀".repeat(4_097), false],
    ] as const) {
      if (fits) expect(JSON.parse((await call("/a", { method: "POST", body })).body)[1]).toBe(body);
      else expect(await failure("/a", { method: "POST", body })).toBe("body exceeds 16384 bytes");
    }
  });
});

describe("response", () => {
  it("[budget:fetch-response] is kept up to 65,536 bytes, and says when it was cut", async () => {
    for (const [length, kept] of [
      [65_535, 65_535],
      [65_536, 65_536],
      [65_537, 65_536],
    ] as const) {
      const { call } = capability(
        () => new Response("x".repeat(length), { headers: { "content-length": `${length}` } }),
      );
      const answer = await call("/a");
      expect(answer).toMatchObject({ status: 200, bytes: kept, truncated: length > 65_536, contentLength: length });
      expect(answer.body).toHaveLength(kept);
    }
  });

  it("[10.2-truncation] is cut on a code point, whatever the chunks", async () => {
    const bytes = new TextEncoder().encode("é😀".repeat(40));
    for (const size of [1, 2, 3, 7, 1_000]) {
      const { call } = capability(
        () =>
          new Response(
            new ReadableStream({
              start(controller) {
                for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
                controller.close();
              },
            }),
          ),
        { fetchResponseBytes: 100 },
      );
      const answer = await call("/a");
      expect(answer).toEqual({
        status: 200,
        body: `${"é😀".repeat(16)}é`,
        bytes: 98,
        truncated: true,
        contentLength: null,
      });
    }
  });

  it("of any status is the tool's to judge", async () => {
    for (const status of [204, 304, 404, 500]) {
      const { call } = capability(() => new Response(null, { status }));
      expect(await call("/a")).toMatchObject({ status, body: "", truncated: false, bytes: 0 });
    }
  });
});

describe("failures", () => {
  it("[10.2-stalled-body] [budget:fetch-timeout] a stalled body ends with the time limit", async () => {
    const stalled = () => new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array([65])) }));
    const { failure } = capability(stalled, { fetchTimeoutMs: 20 });
    expect(await failure("/a")).toBe("fetchOrigin timeout: no complete answer within 20 ms");
    const quick = capability(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return new Response("in time");
      },
      { fetchTimeoutMs: 5_000 },
    );
    expect((await quick.call("/a")).body).toBe("in time");
  });

  it("tell the guest nothing of the host", async () => {
    const { failure } = capability(() => Promise.reject(new Error("ECONNREFUSED 10.0.0.1 /srv/app.js:7")));
    expect(await failure("/a")).toBe(
      "fetchOrigin failed: The origin could not be reached, or it closed the connection.",
    );
  });

  it("end with the call", async () => {
    const controller = new AbortController();
    const fetch: OriginFetcher = () => new Promise<Response>(() => {});
    const fetchOrigin = createFetchOrigin({ origin, fetch, limits: DEFAULT_SANDBOX_LIMITS });
    const pending = fetchOrigin("/a", undefined, controller.signal);
    controller.abort();
    await expect(pending).rejects.toThrow("cancelled");
  });
});

describe("the caller's traceparent", () => {
  const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  it("goes with every request where it is given, over redirects too, and beside a content type", async () => {
    const { call, seen } = capability(
      (request) =>
        request.url.endsWith("/a")
          ? new Response(null, { status: 307, headers: { location: "/base/b" } })
          : new Response(""),
      {},
      TRACE,
    );
    await call("/a");
    await call("/c", { method: "POST", body: "x", contentType: "text/x" });
    expect(seen.map(({ headers }) => headers.get("traceparent"))).toEqual([TRACE, TRACE, TRACE]);
    expect(seen[2]?.headers.get("content-type")).toBe("text/x");
  });

  it("is not sent otherwise, nor can a guest set it", async () => {
    const { call, seen } = capability(() => new Response(""));
    await call("/a", { traceparent: TRACE, headers: { traceparent: TRACE } });
    expect(seen[0]?.headers.has("traceparent")).toBe(false);
  });
});
