import type { Context } from "hono";
import { conditions } from "./dashboard.ts";
import { GatewayError } from "./errors.ts";
import type { GatewayContext, GatewayMiddleware } from "./request-context.ts";
import { urlOf } from "./request-url.ts";

const PAGE = "/demo/index.html";
const FILES = /^\/demo\/assets\/[\w.-]+$/;

/**
 * The demo shows and runs what any publisher wrote, so its page is put into a sandbox: it has a web origin of its own, never the console's.
 * It alone may ask any host.
 */
export const DEMO_POLICY = [
  "sandbox allow-scripts allow-forms",
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "connect-src *",
  "img-src data:",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The demo exists nowhere near the operators' session: where that has a host of its own, the demo is not on it. */
export const notOnAdminHost: GatewayMiddleware = async (c, next) => {
  if (urlOf(c.req).host === c.get("settings").adminHost) throw new GatewayError("not_found");
  await next();
};

/** The demo page and its files. */
export async function demo(c: Context<GatewayContext>): Promise<Response> {
  const { pathname, origin, search } = urlOf(c.req);
  if (pathname === "/demo") return c.redirect(`/demo/${search}`, 308);
  const isFile = FILES.test(pathname);
  if (!isFile && pathname !== "/demo/") throw new GatewayError("not_found");
  const asked = new Request(origin + (isFile ? pathname : PAGE), { method: c.req.method, headers: conditions(c) });
  const found = await c.env.ASSETS.fetch(asked);
  if (found.status !== 200 && found.status !== 304) throw new GatewayError("not_found");
  const answer = new Response(found.body, found);
  answer.headers.set("Cache-Control", isFile ? "public, max-age=31536000, immutable" : "no-cache");
  // A page in a sandbox is of no origin, and asks for its own scripts as a stranger would.
  if (isFile) answer.headers.set("Access-Control-Allow-Origin", "*");
  c.get("answerHeaders").push(["Content-Security-Policy", DEMO_POLICY]);
  return answer;
}
