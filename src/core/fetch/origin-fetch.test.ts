import { describe, expect, it } from "vitest";
import { readBounded } from "../integrity.ts";
import { parseOrigin } from "../origin.ts";
import { fetchInsideOrigin, OriginFetchError, type OriginRequest, USER_AGENT } from "./origin-fetch.ts";

const origin = parseOrigin("https://publisher.example/base", { allowLoopbackHttp: false, ownHosts: [] });

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** Answers in order, and records what was asked. */
function scripted(...answers: (Response | Error | "never")[]) {
  const seen: Seen[] = [];
  const fetch: OriginRequest["fetch"] = async (url, init) => {
    const request = new Request(url, init);
    expect(init.redirect).toBe("manual");
    const headers = Object.fromEntries(request.headers);
    seen.push({ url, method: request.method, body: await request.text(), headers });
    const answer = answers[seen.length - 1];
    if (answer === "never") return new Promise<Response>(() => {});
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("not scripted");
  };
  return { fetch, seen };
}

function ask(fetch: OriginRequest["fetch"], more: Partial<OriginRequest> = {}): Promise<string> {
  const request = { fetch, origin, url: new URL(`${origin}/a`), redirects: 5, timeoutMs: 5_000, ...more };
  return fetchInsideOrigin(request, async (response, signal) =>
    new TextDecoder().decode(await readBounded(response, 1_000, signal)),
  );
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "ok";
  } catch (error) {
    if (error instanceof OriginFetchError) return error.code;
    throw error;
  }
}

const redirect = (location: string, status = 302) => new Response("ignored", { status, headers: { location } });

describe("redirects", () => {
  it.each<[number, "GET" | "POST", string, string]>([
    [301, "GET", "GET", ""],
    [301, "POST", "GET", ""],
    [302, "POST", "GET", ""],
    [303, "POST", "GET", ""],
    [303, "GET", "GET", ""],
    [307, "POST", "POST", "data"],
    [308, "POST", "POST", "data"],
  ])("%i after %s asks again with %s and the body %j", async (status, method, expected, body) => {
    const { fetch, seen } = scripted(redirect("b?x=1", status), new Response("done"));
    const post = method === "POST" ? { body: "data", headers: { "content-type": "text/plain" } } : {};
    expect(await ask(fetch, { method, ...post })).toBe("done");
    expect(seen[1]).toMatchObject({ url: `${origin}/b?x=1`, method: expected, body });
    expect("content-type" in (seen[1]?.headers ?? {})).toBe(body !== "");
  });

  it.each([
    "https://evil.example/base/a",
    "//evil.example/base/a",
    "http://publisher.example/base/a",
    "https://publisher.example:8443/base/a",
    "https://publisher.example/",
    "/other",
    "/base/../other",
    "/base/%2e%2e/other",
    "/base2/a",
    "https://user:password@publisher.example/base/a",
    "data:text/plain,x",
    "file:///etc/passwd",
  ])("[10.1-E] to %s are refused before anything is asked there", async (location) => {
    const { fetch, seen } = scripted(redirect(location), new Response("secret"));
    expect(await codeOf(ask(fetch))).toBe("redirect_outside_origin");
    expect(seen).toHaveLength(1);
  });

  it("to something unparsable fail; without a Location or with another status they are the answer", async () => {
    expect(await codeOf(ask(scripted(redirect("https://[")).fetch))).toBe("fetch_failed");
    expect(await ask(scripted(new Response("plain", { status: 302 })).fetch)).toBe("plain");
    expect(await ask(scripted(redirect("https://evil.example/", 201)).fetch)).toBe("ignored");
  });

  it("that the platform hides are refused", async () => {
    const hidden = new Response(null);
    Object.defineProperty(hidden, "type", { value: "opaqueredirect" });
    expect(await codeOf(ask(scripted(hidden).fetch))).toBe("opaque_redirect");
  });
});

describe("requests", () => {
  it("carry a name and nothing else of ours", async () => {
    const { fetch, seen } = scripted(new Response(""));
    await ask(fetch);
    expect(USER_AGENT).toMatch(/^Skillgate\/\d+\.\d+\.\d+$/);
    expect(seen[0]?.headers).toEqual({ "user-agent": USER_AGENT });
  });

  it("fail with a sentence that keeps the platform's words from strangers", async () => {
    const error = await ask(scripted(new TypeError("connect ECONNREFUSED 10.1.2.3:443")).fetch).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "fetch_failed" });
    expect((error as Error).message).not.toContain("10.1.2.3");
  });
});

describe("time", () => {
  it("covers the headers, also for a fetch that ignores its signal", async () => {
    expect(await codeOf(ask(scripted("never").fetch, { timeoutMs: 10 }))).toBe("timeout");
  });

  it("[10.2-stalled-body] covers a body that stalls", async () => {
    const stalled = new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode("part")) }));
    expect(await codeOf(ask(scripted(stalled).fetch, { timeoutMs: 10 }))).toBe("timeout");
  });

  it("covers a redirect and what follows it together", async () => {
    const { fetch } = scripted(redirect("b"), redirect("c"), "never");
    expect(await codeOf(ask(fetch, { timeoutMs: 10 }))).toBe("timeout");
  });

  it("covers a reader that ignores its signal", async () => {
    const { fetch } = scripted(new Response("x"));
    const request = { fetch, origin, url: new URL(`${origin}/a`), redirects: 5, timeoutMs: 10 };
    expect(await codeOf(fetchInsideOrigin(request, () => new Promise(() => {})))).toBe("timeout");
  });

  it("does not change an answer that is there when the caller ends later", async () => {
    const controller = new AbortController();
    expect(await ask(scripted(new Response("x")).fetch, { signal: controller.signal })).toBe("x");
    controller.abort();
    expect(await codeOf(ask(scripted(new Response("x")).fetch, { signal: controller.signal }))).toBe("cancelled");
  });

  it("ends with the caller, and an aborted caller asks nothing", async () => {
    const controller = new AbortController();
    const pending = codeOf(ask(scripted("never").fetch, { signal: controller.signal }));
    controller.abort();
    expect(await pending).toBe("cancelled");
    const { fetch, seen } = scripted(new Response("x"));
    expect(await codeOf(ask(fetch, { signal: controller.signal }))).toBe("cancelled");
    expect(seen).toEqual([]);
  });
});
