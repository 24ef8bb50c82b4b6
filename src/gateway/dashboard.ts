import type { Context } from "hono";
import { GatewayError } from "./errors.ts";
import type { GatewayContext } from "./request-context.ts";
import { urlOf } from "./request-url.ts";

/** Where the console's files are, at the addresses under which they are served. */
const PAGE = "/admin/index.html";
const FILES = /^\/admin\/(?:assets\/[\w.-]+|icon\.svg)$/;

/** Under this policy the console runs its own scripts and asks its own host, and nothing that it shows can be run or fetched. */
export const DASHBOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The operators' console: its files, and its page at every other address under `/admin/`, which are screens of it. */
export async function dashboard(c: Context<GatewayContext>): Promise<Response> {
  const { pathname, origin } = urlOf(c.req);
  if (pathname === "/admin") return c.redirect("/admin/", 308);
  const isFile = FILES.test(pathname);
  if (!isFile && /^\/admin\/(?:api|assets)(?:\/|$)/.test(pathname)) throw new GatewayError("not_found");
  const asked = new Request(origin + (isFile ? pathname : PAGE), { method: c.req.method, headers: conditions(c) });
  const found = await c.env.ASSETS.fetch(asked);
  if (found.status !== 200 && found.status !== 304) throw new GatewayError("not_found");
  const answer = new Response(found.body, found);
  // Scripts and styles carry the hash of their bytes in their names; the page names those of the present version.
  const isHashed = pathname.startsWith("/admin/assets/");
  answer.headers.set("Cache-Control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
  c.get("answerHeaders").push(["Content-Security-Policy", DASHBOARD_POLICY]);
  return answer;
}

/** What the browser holds already. */
export function conditions(c: Context<GatewayContext>): Record<string, string> {
  const etag = c.req.header("If-None-Match");
  return etag === undefined ? {} : { "If-None-Match": etag };
}
