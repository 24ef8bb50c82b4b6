import { isCalendarDate } from "../../core/attestation/calendar-date.ts";
import { readPublicKey } from "../../core/attestation/ed25519.ts";
import { isAttester } from "../../core/attestation/read.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { type CanonicalOrigin, OriginError, type OriginRules, parseOrigin } from "../../core/origin.ts";
import type { IncomingClient } from "../registry/moving-in.ts";
import type { NewReviewer } from "../registry/reviewers.ts";
import { isSettable, Name } from "./shapes.ts";

/** Of a client that the old gateway knew by one token alone. */
export const AUTH_TOKEN_CLIENT = "AUTH_TOKEN";

export interface Unreadable {
  /** As the value names it: a token's hash cut short, an origin, an attester. */
  readonly name: string;
  readonly code: "bad_client" | "bad_origin" | "bad_reviewer" | "service_binding_unconfirmed" | "unused";
  /** One English sentence. */
  readonly message: string;
}

export interface Readable<T> {
  readonly read: readonly T[];
  readonly unreadable: readonly Unreadable[];
}

/**
 * CLIENTS of the reference gateway: by the SHA-256 of a token, `{client_id, rpm?}`. As there, hashes may be upper-case, `rpm` is rounded
 * down, and anything else than a number is no limit. Tokens of one `client_id` are one client here, under the lowest of their limits; one
 * below 1, which there failed every call, blocks.
 */
export function readClients(value: JsonObject): Readable<IncomingClient> {
  const found = new Map<string, { readonly tokens: Set<string>; rpm: number | null }>();
  const unreadable: Unreadable[] = [];
  for (const [key, entry] of Object.entries(value)) {
    const sha256 = key.toLowerCase();
    const problem = problemOfClient(sha256, entry);
    if (problem !== null) {
      unreadable.push({ name: cut(key), code: "bad_client", message: problem });
      continue;
    }
    const { client_id, rpm } = entry as JsonObject;
    const name = Name.parse(client_id);
    const client = found.get(name) ?? { tokens: new Set(), rpm: null };
    found.set(name, client);
    client.tokens.add(sha256);
    const limit = typeof rpm === "number" ? Math.max(0, Math.floor(rpm)) : null;
    if (limit !== null) client.rpm = Math.min(limit, client.rpm ?? limit);
  }
  const read = [...found].map(([name, { tokens, rpm }]) => ({ name, rpm, tokens: [...tokens] }));
  return { read, unreadable };
}

function problemOfClient(sha256: string, entry: Json): string | null {
  if (!/^[0-9a-f]{64}$/.test(sha256)) return "The key is not the SHA-256 of a token in hexadecimal digits.";
  if (!isJsonObject(entry)) return "The entry is not a JSON object.";
  const name = Name.safeParse(entry.client_id);
  if (!name.success) return `The field \`client_id\` ${name.error.issues[0]?.message ?? "is not a name"}.`;
  if (typeof entry.rpm === "number" && !isSettable(Math.max(0, Math.floor(entry.rpm)))) {
    return "The field `rpm` is larger than any limit that can be set.";
  }
  return null;
}

/** ALLOWED_ORIGINS, split at its commas. An origin behind a service binding is registered by hand, since that needs a confirmation. */
export function readOrigins(
  texts: readonly string[],
  rules: OriginRules,
  isBound: (origin: CanonicalOrigin) => boolean,
): Readable<CanonicalOrigin> {
  const read = new Set<CanonicalOrigin>();
  const unreadable: Unreadable[] = [];
  for (const text of texts) {
    try {
      const origin = parseOrigin(text, rules);
      if (isBound(origin)) {
        const message = "The origin is reached through a service binding: register it by itself, which confirms that.";
        unreadable.push({ name: cut(text), code: "service_binding_unconfirmed", message });
      } else read.add(origin);
    } catch (error) {
      if (!(error instanceof OriginError)) throw error;
      unreadable.push({ name: cut(text), code: "bad_origin", message: error.message });
    }
  }
  return { read: [...read], unreadable };
}

/** REVIEWERS: by attester, `{public_key, registered_at?}`. The day of registration, which there had no meaning, has one here. */
export function readReviewers(value: JsonObject, now: number): Readable<NewReviewer> {
  const read: NewReviewer[] = [];
  const unreadable: Unreadable[] = [];
  for (const [attester, entry] of Object.entries(value)) {
    const reviewer = readReviewer(attester, entry, now);
    if (typeof reviewer === "string") unreadable.push({ name: cut(attester), code: "bad_reviewer", message: reviewer });
    else read.push(reviewer);
  }
  return { read, unreadable };
}

function readReviewer(attester: string, entry: Json, now: number): NewReviewer | string {
  if (!isAttester(attester) || attester.startsWith("sigstore:")) {
    return "The attester must be type:name, of another type than sigstore, in visible ASCII characters.";
  }
  if (!isJsonObject(entry)) return "The entry is not a JSON object.";
  const { public_key: publicKey, registered_at: registered = null } = entry;
  if (typeof publicKey !== "string") return "The field `public_key` must be a string.";
  const key = readPublicKey(publicKey);
  if (typeof key === "string") return `The field \`public_key\` is not right: ${key}`;
  const registeredAt = readDay(registered);
  if (registeredAt === undefined) return "The field `registered_at` must be a day of the calendar, written YYYY-MM-DD.";
  if (registeredAt !== null && registeredAt > now) return "The field `registered_at` must not be in the future.";
  return { attester, key: { kind: "ed25519", publicKey }, registeredAt, note: null };
}

/** Midnight UTC of a day, or of the day that a moment names; `undefined` for anything else. */
function readDay(value: Json): number | null | undefined {
  if (value === null) return null;
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}(?:T|$)/.test(value)) return undefined;
  const day = value.slice(0, 10);
  return isCalendarDate(day) ? Date.parse(`${day}T00:00:00Z`) : undefined;
}

/** Hashes of tokens are not repeated whole, and no text without a bound. */
function cut(text: string): string {
  return text.length <= 100 && !/^[0-9a-f]{64}$/i.test(text) ? text : `${text.slice(0, 8)}…`;
}
