import type { Context } from "hono";
import { slowBody } from "./publishing/slow-body.ts";
import type { GatewayContext, GatewayMiddleware } from "./request-context.ts";

/**
 * What every answer of the gateway says to browsers: what `hono/secure-headers` sets (a test compares), with a policy under which nothing
 * runs or loads. A table and not that middleware, because a header added to a finished answer costs several times one it is made with.
 */
export const SECURE_HEADERS: Readonly<Record<string, string>> = {
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-DNS-Prefetch-Control": "off",
  "X-Download-Options": "noopen",
  "X-Frame-Options": "SAMEORIGIN",
  "X-Permitted-Cross-Domain-Policies": "none",
  "X-XSS-Protection": "0",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

/** Of these, what is said of an answer that is data for a program: the others govern pages, and each header costs a hundredth of a request. */
const DATA_HEADERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SECURE_HEADERS).filter(([name]) =>
    [
      "Cross-Origin-Resource-Policy",
      "Referrer-Policy",
      "Strict-Transport-Security",
      "X-Content-Type-Options",
      "X-Frame-Options",
      "Content-Security-Policy",
    ].includes(name),
  ),
);

const PAGE_POLICY = "Content-Security-Policy";

/** Answers depend on who asks and when: none may be stored, unless it says so itself. */
const DEFAULT_HEADERS = { "Cache-Control": "no-store" };

/** What we put in a header is visible ASCII; a row of the database that is not must not turn answers into failures. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,510}[\x21-\x7e])?$/;

/** An answer made with all its headers at once. Nothing is added to it later but what a page of another web origin needs. */
export function completeAnswer(
  c: Context<GatewayContext>,
  body: BodyInit | null,
  status: number,
  own: Readonly<Record<string, string>>,
): Response {
  const headers: Record<string, string> = { ...DEFAULT_HEADERS, ...DATA_HEADERS };
  // The MCP core writes names in lower case, and a record must not hold a name twice.
  for (const name in own) headers[name === "cache-control" ? "Cache-Control" : name] = own[name] ?? "";
  for (const [name, value] of c.get("answerHeaders")) if (HEADER_VALUE.test(value)) headers[name] = value;
  c.set("isComplete", true);
  return new Response(bodyOf(c, body), { status, headers });
}

/** What was read for an answer is in its text until that has left. */
function bodyOf(c: Context<GatewayContext>, body: BodyInit | null): BodyInit | null {
  const held = c.get("held");
  if (held === undefined) return body;
  const release = () => {
    for (const hold of held) hold.release();
  };
  const isWanted = () => held.some((hold) => hold.isWanted);
  if (typeof body === "string") return slowBody(body, release, isWanted);
  release();
  return body;
}

/** Gives every other answer the same headers. */
export const addHeaders: GatewayMiddleware = async (c, next) => {
  await next();
  if (!c.get("isComplete")) addHeadersTo(c.res, c);
};

export function addHeadersTo({ headers }: Response, c: Context<GatewayContext>): void {
  // A page of ours has a policy of its own.
  for (const [name, value] of Object.entries(SECURE_HEADERS)) {
    if (name !== PAGE_POLICY || !headers.has(name)) headers.set(name, value);
  }
  for (const [name, value] of Object.entries(DEFAULT_HEADERS)) if (!headers.has(name)) headers.set(name, value);
  for (const [name, value] of c.get("answerHeaders")) if (HEADER_VALUE.test(value)) headers.set(name, value);
}
