import { beforeAll, expect, it } from "vitest";
import { call, freshDatabase } from "./fixture.ts";

beforeAll(freshDatabase);

it("the page shows every route with its role and a command, under a policy that lets nothing run", async () => {
  const { body, headers } = await call("GET", "/docs");
  expect(headers.get("Content-Type")).toBe("text/html; charset=UTF-8");
  const policy = headers.get("Content-Security-Policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'/);
  const style = /<style>([^<]*)<\/style>/.exec(body)?.[1] ?? "";
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style)));
  expect(policy).toContain(btoa(String.fromCharCode(...digest)));
  expect(body).not.toMatch(/<script|\son\w+=|javascript:|undefined|\[object/);

  const { paths } = (await call("GET", "/openapi.json")).body;
  for (const [path, item] of Object.entries<Record<string, { "x-skillgate-role": string }>>(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      expect(body).toContain(`<code>${method.toUpperCase()} ${path}</code>`);
      if (operation["x-skillgate-role"] !== "anyone") {
        expect(body).toContain(`Needs the role <code>${operation["x-skillgate-role"]}</code>.`);
      }
      expect(body).toContain(`&quot;$API${path}`);
    }
  }
  // Every link within the page leads somewhere.
  const anchors = new Set([...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  for (const [, id] of body.matchAll(/href="#([^"]+)"/g)) expect(anchors).toContain(id);
});
