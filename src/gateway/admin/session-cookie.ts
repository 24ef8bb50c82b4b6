import { getCookie, setCookie } from "hono/cookie";
import { sha256Hex } from "../../core/integrity.ts";
import type { SessionHashes } from "../registry/sign-ins.ts";
import { urlOf } from "../request-url.ts";
import type { AdminContext } from "./environment.ts";

const SECRET_BYTES = 32;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The session's cookie: kept from scripts, from other sites, from other hosts of the domain and from plain http. On a loopback address
 * without TLS, where browsers take no cookie of such a name, it has a plain one.
 */
function cookieOf(c: AdminContext) {
  const { protocol, hostname } = urlOf(c.req);
  const isSecure = !(protocol === "http:" && LOOPBACK.has(hostname));
  return {
    name: isSecure ? "__Host-skillgate-session" : "skillgate-session",
    attributes: { httpOnly: true, secure: isSecure, sameSite: "Strict", path: "/" } as const,
  };
}

/** What the browser sent of its session, or `null`. */
export function readSessionCookie(c: AdminContext): string | null {
  const value = getCookie(c, cookieOf(c).name);
  return value === undefined || !/^[0-9a-f]{64}$/.test(value) ? null : value;
}

/** @param secret `null`: takes the cookie away. */
export function writeSessionCookie(c: AdminContext, secret: string | null, maxAgeS: number): void {
  const { name, attributes } = cookieOf(c);
  setCookie(c, name, secret ?? "", { ...attributes, maxAge: secret === null ? 0 : maxAgeS });
}

/** 256 random bits. */
export function newSessionSecret(): string {
  return hex(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
}

/** How the database knows a session. One opened with `ADMIN_TOKEN` is keyed by it, so that it ends when another token is set. */
export async function sessionHashes(secret: string, adminToken: string | null): Promise<SessionHashes> {
  return {
    ofOperator: await sha256Hex(new TextEncoder().encode(secret)),
    ofBootstrap: adminToken === null ? null : hex(await hmac(adminToken, `session ${secret}`)),
  };
}

/**
 * What a page must repeat of a credential that the browser sends along by itself: derived from it, so that it can be shown again after a
 * reload, and does not give it away.
 */
export async function csrfTokenOf(credential: string): Promise<string> {
  return hex(await hmac(credential, "csrf token"));
}

async function hmac(secret: string, text: string): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
