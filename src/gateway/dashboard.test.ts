import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "./app.ts";
import { DASHBOARD_POLICY } from "./dashboard.ts";
import type { Env } from "./env.ts";

const app = createApp();

function ask(path: string, init: RequestInit = {}, settings: object = {}) {
  return app.fetch(
    new Request(`https://gate.example${path}`, init),
    { ...(env as unknown as Env), ...settings },
    createExecutionContext(),
  );
}

async function pageFile(pattern: RegExp): Promise<string> {
  return pattern.exec(await (await ask("/admin/")).text())?.[0] ?? "";
}

describe("the console's page", () => {
  it.each(["/admin/", "/admin/origins", "/admin/origins/org_1/review?name=x", "/admin/nowhere/at/all"])(
    "is at %s, under a policy that runs its own scripts alone, and is asked for anew each time",
    async (path) => {
      const answer = await ask(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("Content-Security-Policy")).toBe(DASHBOARD_POLICY);
      expect(answer.headers.get("Cache-Control")).toBe("no-cache");
      expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
      const page = await answer.text();
      expect(page).toContain('<div id="app">');
      expect(page).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/);
    },
  );

  it("is one slash further than /admin", async () => {
    const answer = await ask("/admin");
    expect([answer.status, answer.headers.get("Location")]).toEqual([308, "/admin/"]);
  });

  it("answers 304 to whoever holds it already", async () => {
    const etag = (await ask("/admin/")).headers.get("ETag") ?? "";
    expect((await ask("/admin/", { headers: { "If-None-Match": etag } })).status).toBe(304);
  });

  it("takes GET and HEAD alone", async () => {
    expect((await ask("/admin/", { method: "HEAD" })).status).toBe(200);
    const answer = await ask("/admin/origins", { method: "POST" });
    expect([answer.status, answer.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("exists on ADMIN_HOST alone where that is set", async () => {
    const file = await pageFile(/\/admin\/assets\/[\w.-]+\.js/);
    for (const path of ["/admin", "/admin/", "/admin/origins", "/admin/icon.svg", file]) {
      const answer = await ask(path, {}, { ADMIN_HOST: "admin.example" });
      expect([path, answer.status, await answer.json()]).toEqual([
        path,
        404,
        expect.objectContaining({ error: "not_found" }),
      ]);
    }
    expect((await ask("/admin/", {}, { ADMIN_HOST: "gate.example" })).status).toBe(200);
  });
});

describe("the console's files", () => {
  it.each([/\/admin\/assets\/[\w.-]+\.js/, /\/admin\/assets\/[\w.-]+\.css/])(
    "are kept for ever, since their names change with their bytes: %s",
    async (pattern) => {
      const answer = await ask(await pageFile(pattern));
      expect(answer.status).toBe(200);
      expect(answer.headers.get("Content-Type")).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      expect(answer.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
      await answer.body?.cancel();
    },
  );

  it.each(["/admin/assets/none.js", "/admin/assets/", "/admin/assets/..%2f..%2fworker.js", "/admin/api/v2/x"])(
    "are no page where there is none: %s",
    async (path) => {
      const answer = await ask(path);
      expect(answer.status).toBe(404);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
    },
  );
});
