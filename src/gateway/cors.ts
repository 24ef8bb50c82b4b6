import { completeAnswer } from "./answer-headers.ts";
import type { Settings } from "./env.ts";
import { GatewayError } from "./errors.ts";
import { urlOf } from "./request-url.ts";
import type { Step } from "./steps.ts";

const REQUEST_HEADERS = [
  "Content-Type",
  "Accept",
  "Authorization",
  "MCP-Protocol-Version",
  "Mcp-Method",
  "Mcp-Name",
  "Mcp-Session-Id",
  "Last-Event-ID",
];
/** Headers a modern client mirrors tool arguments in (MCP 2026-07-28, `x-mcp-header`). */
const MIRRORED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/;
const EXPOSED_HEADERS = [
  "WWW-Authenticate",
  "MCP-Protocol-Version",
  "Mcp-Session-Id",
  "Retry-After",
  "Allow",
  "X-Request-Id",
  "X-Gw-Client",
  "X-Gw-Discovery",
  "X-Gw-Attestations",
  "X-Gw-RateLimit-Limit",
  "X-Gw-RateLimit-Remaining",
  "X-Gw-RateLimit-Reset",
  "RateLimit",
  "RateLimit-Policy",
].join(", ");

/**
 * Lets pages of the gateway's own web origin and of the allowed ones call, answers their preflight, and refuses all others (MCP: an
 * `Origin` header that is not valid is 403, against DNS rebinding). Requests without an `Origin` header do not come from a page.
 */
export const browserOrigins: Step = (c) => {
  const answerHeaders = c.get("answerHeaders");
  answerHeaders.push(["Vary", "Origin, Access-Control-Request-Headers"]);
  const origin = c.req.header("Origin");
  if (origin === undefined) return undefined;
  if (!mayCall(origin, urlOf(c.req), c.get("settings"))) throw new GatewayError("browser_origin");
  answerHeaders.push(["Access-Control-Allow-Origin", origin]);
  if (c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined) {
    const requested = c.req.header("Access-Control-Request-Headers") ?? "";
    return completeAnswer(c, null, 204, preflightHeaders(requested, c.get("settings")));
  }
  answerHeaders.push(["Access-Control-Expose-Headers", EXPOSED_HEADERS]);
  return undefined;
};

function preflightHeaders(requested: string, { notifications }: Settings): Record<string, string> {
  const mirrored = requested
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => MIRRORED.test(name));
  return {
    "Access-Control-Allow-Methods": notifications ? "GET, POST, OPTIONS" : "POST, OPTIONS",
    "Access-Control-Allow-Headers": [...REQUEST_HEADERS, ...mirrored.slice(0, 64)].join(", "),
    "Access-Control-Max-Age": "86400",
  };
}

/**
 * The gateway's own web origin is one on a host that the settings name, the console's included, or on a loopback name that the request came to. The `Host` header
 * alone proves nothing: after DNS rebinding it is the attacker's own name.
 */
function mayCall(origin: string, url: URL, settings: Settings): boolean {
  if (settings.allowedBrowserOrigins.has(origin)) return true;
  if (!URL.canParse(origin)) return false;
  const { host, hostname, protocol, origin: webOrigin } = new URL(origin);
  // A browser sends scheme, host and port, in this very spelling.
  if (webOrigin !== origin) return false;
  if (protocol === "https:" && (settings.publicHosts.includes(host) || settings.adminHost === host)) return true;
  return origin === url.origin && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}
