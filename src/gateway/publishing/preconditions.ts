/** What names the state of an answer. */
export interface Validators {
  /** Strong, quotes included. */
  readonly etag: string;
  /** Epoch milliseconds; null where no date tells one state from another, so that the tag alone counts. */
  readonly modifiedAt: number | null;
}

/**
 * Whether the caller holds this very answer (RFC 9110 §13): by `If-None-Match`, weakly compared, since an edge that compresses weakens tags;
 * else by `If-Modified-Since`. A state from the future, which several publishes within a second leave behind, is never held.
 */
export function isHeld(headers: Headers, { etag, modifiedAt }: Validators, now: number): boolean {
  const tags = headers.get("If-None-Match");
  if (tags !== null) {
    return tags.trim() === "*" || tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  const since = headers.get("If-Modified-Since");
  if (since === null || modifiedAt === null) return false;
  const moment = Date.parse(since);
  return modifiedAt <= now && moment >= Math.floor(modifiedAt / 1_000) * 1_000 && moment <= now;
}

/** `Last-Modified`, which must not lie in the future. */
export function lastModified({ modifiedAt }: Validators, now: number): Record<string, string> {
  return modifiedAt !== null && modifiedAt <= now ? { "Last-Modified": new Date(modifiedAt).toUTCString() } : {};
}
