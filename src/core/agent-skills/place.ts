import { ATTESTATIONS_PATH } from "../discovery/attestations.ts";
import type { Sha256Hex } from "../integrity.ts";
import type { Place } from "./publication.ts";
import { PublicationError } from "./publication-error.ts";

/** Where Agent Skills Discovery puts all that is its own. */
export const WELL_KNOWN = "/.well-known/agent-skills/";
export const LLMS_TXT_PATH = "/llms.txt";
const MAX_URL_CHARS = 1_024;

/** What the gateway answers itself on every host, and what a site's own documents have. */
const RESERVED =
  /^\/(?:$|(?:mcp|admin|s|metrics|healthz|readyz)(?:\/|$)|llms\.txt$|\.well-known\/agent-skills(?:\/|$))/i;
/** The end of a path that names bytes by their digest. */
const ALIAS = /@([0-9a-f]{64})$/;

/** Characters that a path segment may hold unescaped (RFC 3986 `pchar`) and that `encodeURIComponent` escapes. */
const UNESCAPED: Readonly<Record<string, string>> = {
  "%24": "$",
  "%26": "&",
  "%2B": "+",
  "%2C": ",",
  "%3A": ":",
  "%3B": ";",
  "%3D": "=",
  "%40": "@",
};

/**
 * The one spelling of a path, for what is published and for what is asked for: whatever need not be escaped is not.
 *
 * @param path absolute, without query and fragment.
 * @returns null for what can be no place of a site: an empty, `.` or `..` segment in any spelling, an escaped slash, backslash or control
 *   character, an escape that is no UTF-8.
 */
export function canonicalPath(path: string): string | null {
  if (!path.startsWith("/")) return null;
  const segments: string[] = [];
  for (const spelled of path.slice(1).split("/")) {
    let segment: string;
    try {
      segment = decodeURIComponent(spelled);
    } catch {
      return null;
    }
    if (segment === "" || segment === "." || segment === ".." || /[/\\\p{Cc}\p{Cs}]/u.test(segment)) return null;
    segments.push(
      encodeURIComponent(segment).replace(/%(?:2[46BC]|3[ABD]|40)/g, (triplet) => UNESCAPED[triplet] ?? triplet),
    );
  }
  return `/${segments.join("/")}`;
}

/**
 * Reads the `url` of a skill. A relative and a path-absolute one name the same place of the site; an absolute one lies elsewhere.
 *
 * @param field of the publication, for the error.
 * @throws {PublicationError} `bad_url`, `reserved_url`
 */
export function parsePlace(url: string, field: string): Place {
  const refuse = (problem: string) => new PublicationError("bad_url", field, problem);
  if (url === "") throw refuse("must not be empty");
  if (url.length > MAX_URL_CHARS) throw refuse(`must have at most ${MAX_URL_CHARS} characters`);
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(url)) {
    throw refuse("must have no control character, invisible character or backslash");
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(url)) return externalPlace(url, refuse);
  return { kind: "hosted", path: hostedPath(url, field) };
}

/**
 * Reads a path of the site.
 *
 * @throws {PublicationError} `bad_url`, `reserved_url`
 */
export function hostedPath(url: string, field: string): string {
  const refuse = (problem: string) => new PublicationError("bad_url", field, problem);
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) || url.startsWith("//")) throw refuse("must be a path of the site");
  if (/[?#]/.test(url)) throw refuse("must have no query and no fragment, which no address of a file has");
  if (url.length > MAX_URL_CHARS) throw refuse(`must have at most ${MAX_URL_CHARS} characters`);
  if (url === "" || url === "/")
    throw new PublicationError("reserved_url", field, "must name a file, not the site's root");
  const path = canonicalPath(url.startsWith("/") ? url : `/${url}`);
  if (path === null) {
    throw refuse("must have no empty, . or .. part and no escaped separator or control character, in any spelling");
  }
  if ((RESERVED.test(path) && path !== ATTESTATIONS_PATH) || ALIAS.test(path)) {
    throw new PublicationError("reserved_url", field, `must not be ${path}, which is an address of the gateway's own`);
  }
  return path;
}

function externalPlace(url: string, refuse: (problem: string) => PublicationError): Place {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || parsed.protocol !== "https:") throw refuse("must be a path of the site or an https address");
  if (parsed.username !== "" || parsed.password !== "" || parsed.hash !== "") {
    throw refuse("must have no user name, password or fragment");
  }
  return { kind: "external", url: parsed.href };
}

/** Where a listing's artifact lies. */
export function listingPath(listing: string | null, path: string): string {
  return listing === null ? path : `${WELL_KNOWN}${listing}${path}`;
}

/** The address that names these very bytes, whatever is published later. */
export function pinnedPath(path: string, sha256: Sha256Hex): string {
  return `${path}@${sha256}`;
}

/** Takes the digest off a path; null where it names none. */
export function readPinnedPath(path: string): { readonly path: string; readonly sha256: Sha256Hex } | null {
  const match = ALIAS.exec(path);
  return match === null ? null : { path: path.slice(0, match.index), sha256: match[1] as Sha256Hex };
}
