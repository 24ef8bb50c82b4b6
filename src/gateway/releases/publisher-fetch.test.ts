import { env as testEnv } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createFetchOrigin } from "../../core/fetch/fetch-origin.ts";
import { fetchInsideOrigin } from "../../core/fetch/origin-fetch.ts";
import { readBounded } from "../../core/integrity.ts";
import { DEFAULT_SANDBOX_LIMITS } from "../../core/limits.ts";
import { parseOrigin } from "../../core/origin.ts";
import type { Env } from "../env.ts";
import { publisherFetch } from "./publisher-fetch.ts";

const env = testEnv as unknown as Env & { readonly BOUND_PUBLISHER: Fetcher };
const ORIGIN = parseOrigin("https://bound.example", { allowLoopbackHttp: false, ownHosts: [] });

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** The binding as a platform has it that drops the signal. */
const deaf = (): Env => ({
  ...env,
  BOUND_PUBLISHER: {
    fetch: (url: string, { signal: _, ...init }: RequestInit) => env.BOUND_PUBLISHER.fetch(url, init),
  },
});

function fetchOrigin(path: string, opts?: Record<string, string>, fetchTimeoutMs = 10_000, bindings: Env = env) {
  const limits = { ...DEFAULT_SANDBOX_LIMITS, fetchTimeoutMs };
  const ask = createFetchOrigin({ origin: ORIGIN, fetch: publisherFetch(bindings), limits });
  return ask(path, opts, new AbortController().signal);
}

describe("an origin that SERVICE_ORIGINS binds", () => {
  it("[10.4-T16b] is asked through the binding with method, body and headers as given", async () => {
    const answer = await fetchOrigin("/echo?x=1", { method: "POST", body: "héllo", contentType: "text/x-test" });
    const echo = JSON.parse(answer.body) as Echo;
    expect(echo).toMatchObject({ method: "POST", url: "https://bound.example/echo?x=1", body: "héllo" });
    expect(echo.headers).toMatchObject({ "content-type": "text/x-test" });
    expect(echo.headers["user-agent"]).toMatch(/^Skillgate\//);
  });

  it("[10.4-T16b] keeps a POST over a 307, and lets no redirect leave the origin", async () => {
    const echo = JSON.parse((await fetchOrigin("/redirect", { method: "POST", body: "kept" })).body) as Echo;
    expect(echo).toMatchObject({ method: "POST", body: "kept" });
    await expect(fetchOrigin("/away")).rejects.toThrow("outside the origin");
  });

  it("[10.4-1042] is never asked over the network, and others always are", async () => {
    const fetcher = publisherFetch(env);
    // The publisher of the network has no such answer, and the bound one none of its files.
    expect((await fetcher("https://bound.example/echo", {})).status).toBe(200);
    expect((await fetcher("https://bound.example:8443/__seen", {})).headers.get("content-type")).toContain("json");
    expect((await fetcher("https://bound.example/__seen", {})).status).toBe(404);
    const text = await (await fetcher("https://good-x.example/llms.txt", {})).text();
    expect(text).toContain("# Test publisher");
  });

  it("[10.4-1042] is not asked over the network either when its binding is gone", async () => {
    const gone = { ...env, BOUND_PUBLISHER: { fetch() {} } } as Record<string, unknown>;
    const fetcher = publisherFetch(gone as Env);
    gone.BOUND_PUBLISHER = undefined;
    await expect(fetcher("https://bound.example/echo", {})).rejects.toThrow("BOUND_PUBLISHER");
  });

  it.each([
    ["silent", env],
    ["silent", deaf()],
    ["stalled", env],
    ["stalled", deaf()],
  ])("[10.2-binding-timeout] does not outlive the time limit when it is %s", async (kind, bindings) => {
    await expect(fetchOrigin(`/${kind}`, undefined, 100, bindings)).rejects.toThrow("fetchOrigin timeout");
    const url = new URL(`https://bound.example/${kind}`);
    const request = { fetch: publisherFetch(bindings), origin: ORIGIN, url, redirects: 5, timeoutMs: 100 };
    const reading = fetchInsideOrigin(request, (response, signal) => readBounded(response, 1_000, signal));
    await expect(reading).rejects.toMatchObject({ code: "timeout" });
  });

  it("hears the caller's cancellation", async () => {
    const controller = new AbortController();
    const ask = createFetchOrigin({ origin: ORIGIN, fetch: publisherFetch(deaf()), limits: DEFAULT_SANDBOX_LIMITS });
    const waiting = ask("/silent", undefined, controller.signal);
    setTimeout(() => controller.abort(), 20);
    await expect(waiting).rejects.toThrow("cancelled");
  });
});
