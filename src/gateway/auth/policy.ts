import type { CanonicalOrigin } from "../../core/origin.ts";
import { withDeadline } from "../deadline.ts";
import { GatewayError } from "../errors.ts";
import { describeFailure } from "../log.ts";
import { LruCache } from "../lru.ts";
import { DecisionCache, type RowRead } from "../trust/decision-cache.ts";
import type { Decided } from "../trust/decisions.ts";
import type { ClientRules } from "./client-rules.ts";
import { ImportedTokens } from "./imported-tokens.ts";
import { type ClientPolicy, d1PolicyReader, type GrantRow, type PolicyReader, type TokenRow } from "./policy-reader.ts";

/** Policy is at most this old while D1 answers. */
export const POLICY_FRESH_MS = 5_000;
/** … and at most this old while it does not. */
export const POLICY_STALE_MS = 60_000;
/** From this age on a used entry is read again in the background, so that a busy client never waits for D1. */
const REFRESH_AHEAD_MS = 2_500;
const READ_TIMEOUT_MS = 2_000;
/** A token's use is written down at most this often. */
const USE_NOTED_MS = 60_000;
/** After a failed read, stale policy is served without asking D1 again for this long. */
const OUTAGE_PAUSE_MS = 1_000;

/** An active origin that a client may use, and what decides what it sees of it. */
export interface OriginPolicy extends Decided {
  readonly originId: string;
  readonly rules: ClientRules | null;
}

interface Entry<T> {
  readonly value: T | null;
  /** When the read that gave the value began, epoch milliseconds. */
  readonly readAt: number;
  refreshStartedAt: number;
}

export interface PolicyMoment {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Keeps background work alive after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/**
 * Policy in the memory of the isolate. Every entry is judged by the time its read began: up to 5 s it is served; older, it is read
 * again first; up to 60 s it is served when that read fails; then the request is refused. Unknown tokens have a cache of their own, so
 * that a flood of them cannot push out the known ones. No request ever waits for a read that another request began.
 */
export class PolicyCache {
  readonly #reader: PolicyReader;
  readonly #tokens = new LruCache<string, Entry<TokenRow>>(10_000);
  readonly #unknownTokens = new LruCache<string, Entry<TokenRow>>(4_096);
  readonly #origins = new LruCache<string, Entry<GrantRow & RowRead>>(20_000);
  readonly #decisions: DecisionCache;
  /** Tokens that another gateway issued. */
  readonly imported: ImportedTokens;
  #generation = 0;
  #outageUntil = 0;

  constructor(reader: PolicyReader) {
    this.#reader = reader;
    this.#decisions = new DecisionCache(reader);
    this.imported = new ImportedTokens(() => reader.readImportedTokens());
  }

  /** Forgets everything, reads under way included: the next request sees the database. */
  forget(): void {
    this.#generation += 1;
    this.#outageUntil = 0;
    this.#tokens.clear();
    this.#unknownTokens.clear();
    this.#origins.clear();
    this.#decisions.forget();
    this.imported.forget();
  }

  /** True when the token's policy is in memory and could be served even without D1. */
  knows(sha256: string, now: number): boolean {
    const entry = this.#tokens.get(sha256);
    return entry !== undefined && entry.readAt <= now && now - entry.readAt <= POLICY_STALE_MS;
  }

  /** As {@link client}, of a known token, where nothing is to be read for it now; `undefined` where something is. */
  clientAtHand(sha256: string, now: number): ClientPolicy | null | undefined {
    const row = young(this.#tokens.get(sha256), now);
    if (row === undefined || row === null) return row;
    return isUsable(row, now) ? row : null;
  }

  /**
   * The client of a token, or `null` where the token is unknown, expired or revoked, or its client suspended.
   *
   * @throws {GatewayError} `policy_unavailable`.
   */
  async client(sha256: string, moment: PolicyMoment): Promise<ClientPolicy | null> {
    const row = await this.#value(
      () => this.#tokens.get(sha256) ?? this.#unknownTokens.get(sha256),
      (entry) => {
        (entry.value === null ? this.#tokens : this.#unknownTokens).delete(sha256);
        (entry.value === null ? this.#unknownTokens : this.#tokens).set(sha256, entry);
      },
      () => this.#readToken(sha256, moment),
      moment,
    );
    return row !== null && isUsable(row, moment.now()) ? row : null;
  }

  /** Reading is what a token in use costs every few seconds: then, and not at every call, its use is written down. */
  async #readToken(sha256: string, moment: PolicyMoment): Promise<TokenRow | null> {
    const row = await this.#reader.readToken(sha256);
    const now = moment.now();
    if (row !== null && isUsable(row, now) && Math.abs(now - (row.lastUsedAt ?? 0)) >= USE_NOTED_MS) {
      moment.waitUntil(this.#reader.noteTokenUse(sha256, now).catch(noteUnwrittenUse));
    }
    return row;
  }

  /** As {@link grant}, where nothing is to be read for it now; `undefined` where something is. */
  grantAtHand(client: ClientPolicy, origin: CanonicalOrigin, now: number): OriginPolicy | null | undefined {
    const row = young(this.#origins.get(`${client.clientId} ${origin}`), now);
    if (row === undefined) return undefined;
    if (!mayUseOrigin(client, row)) return null;
    const decided = this.#decisions.known(row);
    return decided === null ? undefined : originPolicy(row, decided);
  }

  /**
   * The origin as this client may use it, or `null` where it may not, for whatever reason.
   *
   * @param onGranted told of an origin that this client may use as soon as that is read, while what was decided of it is still being read.
   * @throws {GatewayError} `policy_unavailable`.
   */
  async grant(
    client: ClientPolicy,
    origin: CanonicalOrigin,
    moment: PolicyMoment,
    onGranted: (row: GrantRow) => void = () => {},
  ): Promise<OriginPolicy | null> {
    const key = `${client.clientId} ${origin}`;
    const found = await this.#value(
      () => this.#origins.get(key),
      (entry) => this.#origins.set(key, entry),
      () =>
        this.#readOrigin(client.clientId, origin, (row) => {
          if (mayUseOrigin(client, row)) onGranted(row);
        }),
      moment,
    );
    if (!mayUseOrigin(client, found)) return null;
    return originPolicy(found, this.#decisions.known(found) ?? (await this.#loadEvicted(found, origin)));
  }

  /**
   * The origin as it is in the database at this moment, whoever may use it; `null` where it is not registered.
   *
   * @throws where D1 does not answer in time.
   */
  async originNow(origin: CanonicalOrigin): Promise<(GrantRow & Decided) | null> {
    const row = await withDeadline(this.#readOrigin("", origin), READ_TIMEOUT_MS);
    if (row === null) return null;
    const decided = this.#decisions.known(row);
    return { ...row, ...(decided ?? (await withDeadline(this.#decisions.load(row, origin), READ_TIMEOUT_MS))) };
  }

  /** Reads the row and, where they moved, the decisions: a row whose decisions cannot be read is not known. */
  async #readOrigin(
    clientId: string,
    origin: CanonicalOrigin,
    onRow: (row: GrantRow) => void = () => {},
  ): Promise<(GrantRow & RowRead) | null> {
    const order = this.#decisions.begin();
    const row = await this.#reader.readOrigin(clientId, origin);
    if (row === null) return null;
    const read = { ...row, order };
    if (row.status !== "active" || this.#decisions.known(read) !== null) return read;
    onRow(row);
    await this.#decisions.load(read, origin);
    return read;
  }

  /** Decisions that gave way to others while their row stayed. */
  async #loadEvicted(row: RowRead, origin: CanonicalOrigin): Promise<Decided> {
    try {
      return await withDeadline(this.#decisions.load(row, origin), READ_TIMEOUT_MS);
    } catch (cause) {
      throw new GatewayError("policy_unavailable", { cause });
    }
  }

  async #value<T>(
    look: () => Entry<T> | undefined,
    keep: (entry: Entry<T>) => void,
    read: () => Promise<T | null>,
    moment: PolicyMoment,
  ): Promise<T | null> {
    const entry = look();
    const now = moment.now();
    // An entry of the future, which a clock that was set back leaves behind, is of unknown age.
    const age = entry === undefined || entry.readAt > now ? Number.POSITIVE_INFINITY : now - entry.readAt;
    if (entry !== undefined && age <= POLICY_FRESH_MS) {
      if (age > REFRESH_AHEAD_MS && now - entry.refreshStartedAt > READ_TIMEOUT_MS && now >= this.#outageUntil) {
        entry.refreshStartedAt = now;
        moment.waitUntil(this.#read(look, keep, read, moment).catch(noteFailedRefresh));
      }
      return entry.value;
    }
    const servable = entry !== undefined && age <= POLICY_STALE_MS;
    if (servable && now < this.#outageUntil) return entry.value;
    try {
      return await this.#read(look, keep, read, moment);
    } catch (cause) {
      if (servable) return entry.value;
      throw new GatewayError("policy_unavailable", { cause });
    }
  }

  async #read<T>(
    look: () => Entry<T> | undefined,
    keep: (entry: Entry<T>) => void,
    read: () => Promise<T | null>,
    moment: PolicyMoment,
  ): Promise<T | null> {
    const generation = this.#generation;
    const readAt = moment.now();
    try {
      const value = await withDeadline(read(), READ_TIMEOUT_MS);
      // A slow read must not bring back what a later one has replaced.
      const isNewest = (look()?.readAt ?? 0) <= readAt;
      if (generation === this.#generation && isNewest) keep({ value, readAt, refreshStartedAt: 0 });
      return value;
    } catch (error) {
      this.#outageUntil = moment.now() + OUTAGE_PAUSE_MS;
      throw error;
    }
  }
}

/** The value of an entry that is neither old enough to be read again soon, nor of the future. */
function young<T>(entry: Entry<T> | undefined, now: number): T | null | undefined {
  const isYoung = entry !== undefined && entry.readAt <= now && now - entry.readAt <= REFRESH_AHEAD_MS;
  return isYoung ? entry.value : undefined;
}

function mayUseOrigin<Row extends GrantRow>({ grantAll }: ClientPolicy, row: Row | null): row is Row {
  return row !== null && row.status === "active" && (grantAll || row.grantedByRow);
}

function originPolicy({ originId, rules }: GrantRow, { decisions, trust }: Decided): OriginPolicy {
  return { originId, decisions, trust, rules };
}

function isUsable({ clientActive, revokedAt, expiresAt }: TokenRow, now: number): boolean {
  return clientActive && revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** It is a hint for operators: the next read of the token tries again. */
function noteUnwrittenUse(error: unknown): void {
  console.warn(JSON.stringify({ event: "token_use_not_written", error: describeFailure(error) }));
}

/** What is in memory is served on, until it is too old. */
function noteFailedRefresh(error: unknown): void {
  console.warn(JSON.stringify({ event: "policy_not_refreshed", error: describeFailure(error) }));
}

/** One cache for each database that this isolate serves, which is one in production. */
const caches = new WeakMap<D1Database, PolicyCache>();
const forgetful = new Set<WeakRef<PolicyCache>>();

export function policyOf(database: D1Database): PolicyCache {
  let cache = caches.get(database);
  if (cache === undefined) {
    cache = new PolicyCache(d1PolicyReader(database));
    caches.set(database, cache);
    forgetful.add(new WeakRef(cache));
  }
  return cache;
}

/** To be called after every change of policy: the change is then in force at once in this isolate, within 5 s in all others. */
export function forgetPolicy(): void {
  for (const reference of forgetful) {
    const cache = reference.deref();
    if (cache === undefined) forgetful.delete(reference);
    else cache.forget();
  }
}
