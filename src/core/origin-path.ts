import type { CanonicalOrigin } from "./origin.ts";
import { OriginError } from "./origin-error.ts";

/** Longest path or URL a publisher or a tool may name, in characters. */
export const MAX_PUBLISHER_PATH_LENGTH = 8192;

/** Servers decode once, some twice; four rounds of `%25` without an end are an attack, not a name. */
const DECODE_ROUNDS = 4;

/**
 * Resolves a path that came from a publisher or from a running tool against its origin, the base included: `/api/x` under
 * `https://u.github.io/REPO` is `https://u.github.io/REPO/api/x`, and `/REPO/api/x` is the same place. An absolute or
 * protocol-relative URL is accepted only when it lies inside. A fragment is dropped, as fetch would.
 *
 * @param path untrusted: `llms.txt`'s tool, snapshot and recipe links, and the argument of `host.fetchOrigin`.
 * @returns a URL that lies inside the origin and its base, also for a server that decodes dots and separators.
 * @throws {OriginError} `outside_origin`, or `bad_url` for text that is no URL, has control characters or is longer than
 *   {@link MAX_PUBLISHER_PATH_LENGTH}.
 */
export function resolvePublisherPath(origin: CanonicalOrigin, path: string): URL {
  if (path.length > MAX_PUBLISHER_PATH_LENGTH) {
    throw new OriginError("bad_url", `The path is longer than ${MAX_PUBLISHER_PATH_LENGTH} characters.`);
  }
  // The URL parser would delete tabs and newlines, so that "/<tab>/evil.example" becomes another host.
  if (hasControlCharacter(path)) throw new OriginError("bad_url", "The path contains a control character.");
  const url = resolve(origin, trimSpaces(path));
  if (!isInsideOrigin(origin, url)) {
    throw new OriginError("outside_origin", `The path leads outside the origin ${origin}.`);
  }
  url.hash = "";
  return url;
}

/**
 * True when a URL lies inside an origin and its base, also after a server has decoded `.`, `..`, `%2e`, backslashes and
 * encoded slashes, once or repeatedly. Every hop of a redirect is judged with it.
 */
export function isInsideOrigin(origin: CanonicalOrigin, url: URL): boolean {
  const { protocol, host, base } = split(origin);
  if (url.protocol !== protocol || url.host !== host || url.username !== "" || url.password !== "") return false;
  if (base === "") return true;
  if (!isAtOrBelow(base, url.pathname)) return false;
  return !climbsOut(url.pathname.slice(base.length));
}

function resolve(origin: CanonicalOrigin, path: string): URL {
  const { protocol, host, base } = split(origin);
  const root = `${protocol}//${host}`;
  // Without a base, so that "https:x" is no relative path.
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return parse(path, undefined);
  if (/^[/\\]{2}/.test(path)) return parse(path, root);
  if (/^[/\\]/.test(path)) {
    const absolute = parse(path, root);
    return base === "" || isAtOrBelow(base, absolute.pathname) ? absolute : parse(base + path, root);
  }
  return parse(path, `${root}${base}/`);
}

function parse(text: string, against: string | undefined): URL {
  try {
    return new URL(text, against);
  } catch (cause) {
    throw new OriginError("bad_url", "The path is not a valid URL or URL path.", { cause });
  }
}

function split(origin: CanonicalOrigin): { protocol: string; host: string; base: string } {
  const hostStart = origin.indexOf("//") + 2;
  const slash = origin.indexOf("/", hostStart);
  const hostEnd = slash === -1 ? origin.length : slash;
  return {
    protocol: origin.slice(0, hostStart - 2),
    host: origin.slice(hostStart, hostEnd),
    base: origin.slice(hostEnd),
  };
}

/** `/REPO2` is not below `/REPO`. */
function isAtOrBelow(base: string, pathname: string): boolean {
  return pathname === base || pathname.startsWith(`${base}/`);
}

/** Judges the part of a path below the base as the most lenient server would read it. */
function climbsOut(below: string): boolean {
  let path = below;
  for (let round = 0; round < DECODE_ROUNDS; round += 1) {
    if (hasNegativeDepth(path)) return true;
    const decoded = path.replace(/%[0-7][0-9a-f]/gi, (triplet) =>
      String.fromCharCode(Number.parseInt(triplet.slice(1), 16)),
    );
    if (decoded === path) return false;
    path = decoded;
  }
  return true;
}

function hasNegativeDepth(path: string): boolean {
  let depth = 0;
  for (const segment of path.split(/[/\\]/)) {
    // Some servers cut parameters first: "..;a" is "..".
    const name = segment.split(";", 1)[0] ?? "";
    if (name === "..") depth -= 1;
    else if (name !== "" && name !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** What the URL parser does at both ends, done before the path's kind is decided. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === " ") start += 1;
  while (end > start && text[end - 1] === " ") end -= 1;
  return text.slice(start, end);
}
