import { Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { expect, it } from "vitest";
import { addHeaders, completeAnswer, SECURE_HEADERS } from "./answer-headers.ts";
import type { GatewayContext } from "./request-context.ts";

function gateway(): Hono<GatewayContext> {
  const app = new Hono<GatewayContext>();
  app.use(async (c, next) => {
    c.set("answerHeaders", [
      ["X-Request-Id", "r-1"],
      ["X-Gw-Client", "not\u00e4scii"],
    ]);
    await next();
  });
  app.use(addHeaders);
  app.get("/late", () => new Response("x", { status: 503, headers: { "retry-after": "5", "content-type": "a/b" } }));
  app.get("/complete", (c) => completeAnswer(c, "x", 503, { "retry-after": "5", "content-type": "a/b" }));
  app.get("/late/kept", () => new Response("x", { headers: { "cache-control": "no-cache", "content-type": "a/b" } }));
  app.get("/complete/kept", (c) => completeAnswer(c, "x", 200, { "cache-control": "no-cache", "content-type": "a/b" }));
  return app;
}

it("says to browsers exactly what hono/secure-headers says", async () => {
  const oracle = new Hono();
  oracle.use(secureHeaders({ contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } }));
  oracle.get("/", () => new Response(null));
  const theirs = Object.fromEntries((await oracle.request("/")).headers);
  const ours = Object.fromEntries(new Headers(SECURE_HEADERS));
  expect(ours).toEqual(theirs);
});

it.each(["", "/kept"])(
  "an answer made with its headers has the same as one that gets them later, but for pages (%s)",
  async (kind) => {
    const app = gateway();
    const [late, complete] = [await app.request(`/late${kind}`), await app.request(`/complete${kind}`)];
    expect(complete.status).toBe(late.status);
    const page = new Map(late.headers);
    for (const [name, value] of complete.headers) expect(page.get(name), name).toBe(value);
    const missing = [...page.keys()].filter((name) => !complete.headers.has(name));
    expect(missing, "what governs pages alone").toEqual([
      "cross-origin-opener-policy",
      "origin-agent-cluster",
      "x-dns-prefetch-control",
      "x-download-options",
      "x-permitted-cross-domain-policies",
      "x-xss-protection",
    ]);
    expect(complete.headers.get("Cache-Control")).toBe(kind === "" ? "no-store" : "no-cache");
    expect(complete.headers.get("X-Request-Id")).toBe("r-1");
    expect(complete.headers.has("X-Gw-Client"), "a value that no header can carry").toBe(false);
  },
);
