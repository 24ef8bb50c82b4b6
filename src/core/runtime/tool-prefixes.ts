import { sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";

/** Most characters of a tool's name in all: several models take no longer one. */
const NAME_LENGTH = 64;
/** Of a prefix: `user_github_io` and the like are kept whole, and most names of tools fit behind it. */
const PREFIX_LENGTH = 24;
const SEPARATOR = "__";
const DIGEST_LENGTH = 6;

/**
 * What the tools of each origin are prefixed with where a runtime has several: host, port and base path, each run of other characters
 * than letters and digits as one underscore, at most 24 characters. It depends on the origin alone, so that adding one renames no tool of
 * another; one that is longer, or that several origins would have, ends in six hexadecimal digits of the SHA-256 of the origin.
 *
 * @example `https://shop.example:8443/eu` → `shop_example_8443_eu`
 */
export async function toolPrefixes(origins: readonly CanonicalOrigin[]): Promise<ReadonlyMap<CanonicalOrigin, string>> {
  const plain = origins.map((origin) => ({ origin, prefix: slug(origin) }));
  const prefixes = new Map<CanonicalOrigin, string>();
  for (const { origin, prefix } of plain) {
    const isShared = plain.some((other) => other.prefix === prefix && other.origin !== origin);
    prefixes.set(
      origin,
      isShared || prefix.length > PREFIX_LENGTH ? await digested(prefix, origin, PREFIX_LENGTH) : prefix,
    );
  }
  return prefixes;
}

/** A tool's name behind its prefix; one that would be longer than 64 characters is cut, and ends in six digits of its own SHA-256. */
export async function prefixedName(prefix: string, name: string): Promise<string> {
  const room = NAME_LENGTH - prefix.length - SEPARATOR.length;
  return `${prefix}${SEPARATOR}${name.length > room ? await digested(name, name, room) : name}`;
}

/** Never holds the separator: where a prefix ends is seen in the name. */
function slug(origin: CanonicalOrigin): string {
  const { host, pathname } = new URL(origin);
  return `${host}${pathname}`.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_|_$/g, "");
}

async function digested(text: string, of: string, length: number): Promise<string> {
  const digest = (await sha256Hex(new TextEncoder().encode(of))).slice(0, DIGEST_LENGTH);
  return `${text.slice(0, length - DIGEST_LENGTH - 1).replace(/_+$/, "")}_${digest}`;
}
