import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "./app.ts";
import { DEMO_POLICY } from "./demo.ts";
import type { Env } from "./env.ts";

const app = createApp();

function ask(path: string, init: RequestInit = {}, settings: object = {}) {
  return app.fetch(
    new Request(`https://gate.example${path}`, init),
    { ...(env as unknown as Env), ...settings },
    createExecutionContext(),
  );
}

async function script(): Promise<string> {
  return /\/demo\/assets\/[\w.-]+\.js/.exec(await (await ask("/demo/")).text())?.[0] ?? "";
}

describe("the demo page", () => {
  it("has no web origin: its policy puts it into a sandbox, and nothing inline stands in it", async () => {
    const answer = await ask("/demo/");
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(answer.headers.get("Content-Security-Policy")).toBe(DEMO_POLICY);
    expect(DEMO_POLICY).toMatch(/^sandbox /);
    expect(DEMO_POLICY).not.toContain("allow-same-origin");
    expect(answer.headers.get("Set-Cookie")).toBeNull();
    expect(await answer.text()).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/);
  });

  it("keeps the origin that it is asked to show when it is one slash further", async () => {
    const answer = await ask("/demo?origin=https%3A%2F%2Fa.example");
    expect([answer.status, answer.headers.get("Location")]).toEqual([308, "/demo/?origin=https%3A%2F%2Fa.example"]);
  });

  it("loads its files as a page of no origin may, fresh or known", async () => {
    const path = await script();
    const answer = await ask(path);
    expect([answer.status, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
    const again = await ask(path, { headers: { "If-None-Match": answer.headers.get("ETag") ?? "" } });
    expect([again.status, again.headers.get("Access-Control-Allow-Origin")]).toEqual([304, "*"]);
  });

  it("does not exist where the operators' session is", async () => {
    for (const path of ["/demo", "/demo/", await script()]) {
      const answer = await ask(path, {}, { ADMIN_HOST: "gate.example" });
      expect([path, answer.status]).toEqual([path, 404]);
      const elsewhere = await ask(path, {}, { ADMIN_HOST: "admin.example" });
      expect([path, elsewhere.status]).toEqual([path, path === "/demo" ? 308 : 200]);
    }
  });

  it("takes GET and HEAD alone, and has no other files", async () => {
    const answer = await ask("/demo/", { method: "POST" });
    expect([answer.status, answer.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
    for (const path of ["/demo/nothing", "/demo/assets/../index.html", "/demo/assets/nothing.js"]) {
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
    }
  });
});
