/** What names the state of an answer. */
export interface Validators {
  /** Strong, quotes included. */
  readonly etag: string;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
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
  const moment = since === null ? Number.NaN : Date.parse(since);
  return modifiedAt <= now && moment >= Math.floor(modifiedAt / 1_000) * 1_000 && moment <= now;
}

/** `Last-Modified`, which must not lie in the future. */
export function lastModified({ modifiedAt }: Validators, now: number): Record<string, string> {
  return modifiedAt <= now ? { "Last-Modified": new Date(modifiedAt).toUTCString() } : {};
}
