import { sha256Hex } from "../integrity.ts";
import type { CanonicalOrigin } from "../origin.ts";

/** Most characters of a tool's name in all: several models take no longer one. */
const NAME_LENGTH = 64;
/** Of a prefix: `user_github_io` and the like are kept whole, and most names of tools fit behind it. */
const PREFIX_LENGTH = 24;
/** Between a prefix and a tool's own name. */
export const SEPARATOR = "__";
const DIGEST_LENGTH = 6;
/** Where six digits are the same for two origins, which somebody can look for. */
const LONGER_DIGESTS = [12, 18];
/** What a digested prefix may look like; no other does. */
const DIGESTED = new RegExp(`_[0-9a-f]{${DIGEST_LENGTH}}$`);

/**
 * What the tools of each origin are prefixed with where a runtime has several: host, port and base path, each run of other characters
 * than letters and digits as one underscore, at most 24 characters. It depends on the origin alone, so that adding one renames no tool of
 * another; one that is longer, that several origins would have, or that could be taken for another's, ends in six hexadecimal digits of the
 * SHA-256 of the origin, and in more where those are the same. No two origins have the same.
 *
 * @example `https://shop.example:8443/eu` → `shop_example_8443_eu`
 */
export async function toolPrefixes(origins: readonly CanonicalOrigin[]): Promise<ReadonlyMap<CanonicalOrigin, string>> {
  const prefixes = new Map(origins.map((origin) => [origin, slug(origin)]));
  const isUnfit = (prefix: string) => prefix.length > PREFIX_LENGTH || DIGESTED.test(prefix);
  const unfit = new Set([...prefixes].flatMap(([origin, prefix]) => (isUnfit(prefix) ? [origin] : [])));
  await digest(prefixes, new Set([...unfit, ...sharing(prefixes)]), DIGEST_LENGTH);
  for (const length of LONGER_DIGESTS) await digest(prefixes, sharing(prefixes), length);
  return prefixes;
}

async function digest(
  prefixes: Map<CanonicalOrigin, string>,
  which: ReadonlySet<CanonicalOrigin>,
  length: number,
): Promise<void> {
  for (const origin of which) prefixes.set(origin, await digested(slug(origin), origin, PREFIX_LENGTH, length));
}

/** The origins that have the same as another. */
function sharing(prefixes: ReadonlyMap<CanonicalOrigin, string>): ReadonlySet<CanonicalOrigin> {
  const all = [...prefixes];
  const isShared = (prefix: string, of: CanonicalOrigin) => all.some(([other, its]) => its === prefix && other !== of);
  return new Set(all.flatMap(([origin, prefix]) => (isShared(prefix, origin) ? [origin] : [])));
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

async function digested(text: string, of: string, length: number, digits = DIGEST_LENGTH): Promise<string> {
  const digest = (await sha256Hex(new TextEncoder().encode(of))).slice(0, digits);
  return `${text.slice(0, length - digits - 1).replace(/_+$/, "")}_${digest}`;
}
