import { isAddressLiteral, isForbiddenAddress, isLoopbackAddress } from "./origin-address.ts";
import { OriginError } from "./origin-error.ts";

export { isForbiddenAddress, isLoopbackAddress } from "./origin-address.ts";
export { OriginError, type OriginErrorCode } from "./origin-error.ts";
export { isInsideOrigin, resolvePublisherPath } from "./origin-path.ts";

declare const canonicalOrigin: unique symbol;

/**
 * A publisher's address in its one canonical spelling, `scheme://host[:port][/base]`: lower-case host (IDNs in their ASCII
 * form), no default port, no trailing slash, no query, hash or userinfo. Two publishers never share one.
 */
export type CanonicalOrigin = string & { readonly [canonicalOrigin]: true };

/** What the operator allows. */
export interface OriginRules {
  /** Accepts `http://` for `localhost`, 127.0.0.0/8 and `[::1]`; every other origin is https. */
  readonly allowLoopbackHttp: boolean;
  /**
   * The gateway's own hosts, `host` (any port) or `host:port`. They are never origins: a gateway that fetches from itself
   * could be made to talk to its own admin API. All spellings of loopback count as one host.
   */
  readonly ownHosts: readonly string[];
  /** Of these, the hosts on which the gateway hosts sites, each an origin of its own: `https://host/s/<site>`. None unless given. */
  readonly sitesOn?: readonly string[];
}

/** Longest origin, in characters, as given and as canonical text. */
export const MAX_ORIGIN_LENGTH = 2048;

/** Names that resolve on a private network, or on the host itself (RFC 6761, 6762, 8375; ICANN's `.internal`). */
const PRIVATE_SUFFIXES = [".localhost", ".local", ".internal", ".home.arpa"];

/**
 * Reads an address somebody gave and returns its canonical form. Nothing is dropped silently: what cannot be part of an
 * origin is refused. The result is a fixed point of this function.
 *
 * @example `parseOrigin("https://U.github.io:443/REPO/", rules) // "https://u.github.io/REPO"`
 * @throws {OriginError} with a code that says what was wrong.
 */
export function parseOrigin(input: string, rules: OriginRules): CanonicalOrigin {
  if (input.length > MAX_ORIGIN_LENGTH) throw tooLong();
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Z}\\]/u.test(input)) {
    throw new OriginError(
      "bad_character",
      "The origin contains white space, a control or invisible character, or a backslash.",
    );
  }
  const match = /^(https?):\/\/([^/?#]+)([^?#]*)/i.exec(input);
  if (match === null) {
    const otherScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(input) && !/^https?:/i.test(input);
    throw otherScheme
      ? new OriginError("not_https", "The origin must use https.")
      : new OriginError(
          "bad_url",
          "The origin must be written as https://host, optionally with a port and a base path.",
        );
  }
  const [spelled, , authority = "", path = ""] = match;
  if (authority.includes("@")) {
    throw new OriginError("has_credentials", "The origin must not contain a user name or password.");
  }
  if (spelled.length < input.length) {
    throw input[spelled.length] === "?"
      ? new OriginError("has_query", "The origin must not contain a query.")
      : new OriginError("has_hash", "The origin must not contain a fragment.");
  }
  const url = URL.canParse(input) ? new URL(input) : null;
  if (url === null) throw new OriginError("bad_url", "The origin is not a valid URL.");
  checkHost(url, rules);
  const canonical = `${url.protocol}//${url.host}${canonicalBase(path, url.pathname)}`;
  if (canonical.length > MAX_ORIGIN_LENGTH) throw tooLong();
  return canonical as CanonicalOrigin;
}

/**
 * Reads what follows `/mcp/` in a request path: `<host[:port]>[/<base>]`, meaning https (http for loopback hosts where
 * they are allowed). Pass the raw, undecoded path: encoded separators are an error, not another spelling.
 *
 * @throws {OriginError} as {@link parseOrigin}.
 */
export function parseOriginPath(path: string, rules: OriginRules): CanonicalOrigin {
  const slash = path.indexOf("/");
  const authority = slash === -1 ? path : path.slice(0, slash);
  if (/%|:$/.test(authority)) {
    throw new OriginError(
      "bad_path",
      "The path after /mcp/ must be host[:port][/base], unencoded and without a scheme.",
    );
  }
  const loopback =
    rules.allowLoopbackHttp &&
    URL.canParse(`http://${authority}`) &&
    isLoopbackHost(new URL(`http://${authority}`).hostname);
  return parseOrigin(`${loopback ? "http" : "https"}://${path}`, rules);
}

/** The inverse of {@link parseOriginPath}: what to put behind `/mcp/` for an origin. */
export function formatOriginPath(origin: CanonicalOrigin): string {
  return origin.slice(origin.indexOf("//") + 2);
}

function tooLong(): OriginError {
  return new OriginError("too_long", `The origin is longer than ${MAX_ORIGIN_LENGTH} characters.`);
}

function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || (isAddressLiteral(hostname) && isLoopbackAddress(hostname));
}

/** Where a hosted site lies on a host of the gateway. */
const SITE_PATH = /^\/s\/[a-z0-9-]{1,64}\/?$/;

/** `url` comes from the URL parser, so decimal, hexadecimal, octal and short IPv4 forms are dotted decimal by now. */
function checkHost(url: URL, rules: OriginRules): void {
  const { hostname } = url;
  const isSite = SITE_PATH.test(url.pathname) && isOwnHost(url, rules.sitesOn ?? []);
  if (!isSite && isOwnHost(url, rules.ownHosts)) {
    throw new OriginError("own_host", `The origin's host ${url.host} is this gateway itself.`);
  }
  if (url.protocol === "http:") {
    if (rules.allowLoopbackHttp && isLoopbackHost(hostname)) return;
    throw new OriginError("not_https", "The origin must use https.");
  }
  if (isAddressLiteral(hostname)) {
    if (!isForbiddenAddress(hostname)) return;
    throw new OriginError("forbidden_host", `The origin's address ${hostname} is not a public one.`);
  }
  const labels = hostname.split(".");
  if (hostname.length > 253 || labels.some((label) => label.length < 1 || label.length > 63)) {
    throw new OriginError(
      "forbidden_host",
      "The origin's host name has an empty or overlong label, or a trailing dot.",
    );
  }
  if (
    labels.length < 2 ||
    PRIVATE_SUFFIXES.some((suffix) => hostname.endsWith(suffix) || hostname === suffix.slice(1))
  ) {
    throw new OriginError("forbidden_host", `The origin's host name ${hostname} is not a public one.`);
  }
}

/** Whether an address is on one of these hosts: `host` (any port) or `host:port`. All spellings of loopback count as one host. */
export function isOwnHost(url: URL, ownHosts: readonly string[]): boolean {
  const port = url.port || (url.protocol === "http:" ? "80" : "443");
  const hostname = url.hostname.endsWith(".") ? url.hostname.slice(0, -1) : url.hostname;
  return ownHosts.some((entry) => {
    const [, ownName = "", ownPort] = /^(.*?)(?::([0-9]+))?$/.exec(entry.toLowerCase()) ?? [];
    if (ownPort !== undefined && ownPort !== port) return false;
    return ownName === hostname || (isLoopbackHost(ownName) && isLoopbackHost(hostname));
  });
}

/**
 * `/a/b`, or nothing for the root. Every spelling that a server could read as another path is refused, so that one place
 * has one name: encoded separators, dots, percent signs and controls, empty segments, characters outside RFC 3986 `pchar`
 * (engines differ in which of them they encode). Encoded unreserved characters are decoded, hexadecimal digits upper-cased.
 *
 * @param spelled the path as given, @param resolved the same after the URL parser resolved dot segments.
 */
function canonicalBase(spelled: string, resolved: string): string {
  if (spelled.includes("//")) throw new OriginError("bad_path", "The origin's base path has an empty segment.");
  if (/%(?:2[ef5]|5c|[01][0-9a-f]|7f)/i.test(spelled)) {
    throw new OriginError(
      "bad_path",
      "The origin's base path has an encoded slash, backslash, dot, percent sign or control character.",
    );
  }
  const base = resolved
    .replace(/%[0-9a-f]{2}/gi, (triplet) => {
      const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
      return /[A-Za-z0-9_~-]/.test(character) ? character : triplet.toUpperCase();
    })
    .replace(/\/$/, "");
  if (!/^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})+)*$/.test(base)) {
    throw new OriginError("bad_path", "The origin's base path has a character or escape that a URL path cannot hold.");
  }
  return base;
}
