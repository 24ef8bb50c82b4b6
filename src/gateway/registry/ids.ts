const RANDOM_BYTES = 12;

/** What an id stands for: an origin, a client, a client's token, a reviewer's key, a revocation, an operator, an operator's token, a session, a site. */
export type IdPrefix = "org" | "cli" | "tok" | "rev" | "rvk" | "opr" | "opt" | "ses" | "sit";

/** Matches an id with this prefix and nothing else; every such id is safe as a header value and in a URL path. */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${prefix}_[0-9a-f]{${RANDOM_BYTES * 2}}$`);
}

/** A new id, `<prefix>_<24 hex digits>`: 96 random bits, so ids can be neither guessed nor counted. */
export function newId(prefix: IdPrefix): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  return `${prefix}_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
