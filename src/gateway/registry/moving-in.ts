import { count, inArray, sql } from "drizzle-orm";
import type { JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, rowsOf, type Statement, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { newOriginRow, type OriginRow } from "./origins.ts";
import { type NewReviewer, newReviewerRow, requireFree } from "./reviewers.ts";
import { clients, clientTokens, origins, reviewers } from "./schema.ts";
import { MAX_IMPORTED_TOKENS, MAX_USABLE_TOKENS } from "./tokens.ts";
import { nextTrustVersion } from "./trust-version.ts";

/** A client of another gateway, by the hashes of its tokens. */
export interface IncomingClient {
  readonly name: string;
  readonly rpm: number | null;
  /** Lower-case hex, each once. */
  readonly tokens: readonly string[];
}

/** What another gateway was configured with, as far as it can be read. */
export interface Incoming {
  readonly clients: readonly IncomingClient[];
  readonly origins: readonly CanonicalOrigin[];
  readonly reviewers: readonly NewReviewer[];
}

/** What becomes of a thing that moves in. */
export type Arrival =
  | { readonly status: "created"; readonly id: string | null }
  /** It is here already, as far as it goes; nothing is changed. */
  | { readonly status: "exists"; readonly id: string }
  | { readonly status: "refused"; readonly code: string; readonly message: string };

export interface MovedIn {
  /** In the order given, as are the others. A client that exists may have got tokens. */
  readonly clients: readonly (Arrival & { readonly newTokens: number })[];
  readonly origins: readonly Arrival[];
  readonly reviewers: readonly Arrival[];
}

/**
 * Moves clients, origins and reviewers in, all in one batch. What is here already stays as it is, so that doing it again changes nothing:
 * clients are known by their tokens, origins by their address, reviewers by their key. Every client may use all active origins, as in the
 * gateway it comes from; origins are pending.
 *
 * @param dryRun decides everything and writes nothing; ids of what would be created are `null`.
 */
export function moveIn(registry: Registry, acting: Acting, incoming: Incoming, dryRun: boolean): Promise<MovedIn> {
  return mutate(registry, acting, async () => {
    const arriving = {
      clients: await decideClients(registry, acting, incoming.clients),
      origins: await decideOrigins(registry, acting, incoming.origins),
      reviewers: await decideReviewers(registry, acting, incoming.reviewers),
    };
    const result: MovedIn = {
      clients: arriving.clients.arrivals,
      origins: arriving.origins.arrivals,
      reviewers: arriving.reviewers.arrivals,
    };
    if (dryRun) return { result: withoutIds(result) };
    const writes = [...arriving.clients.writes, ...arriving.origins.writes, ...arriving.reviewers.writes];
    if (writes.length === 0) return { result };
    const detail: JsonObject = {
      clients: created(result.clients),
      tokens: result.clients.reduce((sum, { newTokens }) => sum + newTokens, 0),
      origins: created(result.origins),
      reviewers: created(result.reviewers),
    };
    return { result, writes, audit: { action: "import", subject: "import", detail } };
  });
}

interface Decided<A> {
  readonly arrivals: readonly A[];
  readonly writes: readonly Statement[];
}

async function decideClients(
  registry: Registry,
  acting: Acting,
  incoming: readonly IncomingClient[],
): Promise<Decided<MovedIn["clients"][number]>> {
  const known = await registry
    .select({ sha256: clientTokens.tokenSha256, clientId: clientTokens.clientId })
    .from(clientTokens)
    .where(inArray(clientTokens.tokenSha256, valuesOf(incoming.flatMap(({ tokens }) => tokens))));
  const holders = new Map(known.map(({ sha256, clientId }) => [sha256, clientId]));
  const [usable] = await registry
    .select({ tokens: count() })
    .from(clientTokens)
    .where(sql`${clientTokens.imported} AND ${clientTokens.revokedAt} IS NULL`);
  let room = MAX_IMPORTED_TOKENS - (usable?.tokens ?? 0);
  const newClients: (typeof clients.$inferSelect)[] = [];
  const newTokens: (typeof clientTokens.$inferSelect)[] = [];
  const times = { createdAt: acting.now, updatedAt: acting.now };
  const arrivals = incoming.map(({ name, rpm, tokens }): MovedIn["clients"][number] => {
    const holder = tokens.map((sha256) => holders.get(sha256)).find((id) => id !== undefined);
    const fresh = tokens.filter((sha256) => !holders.has(sha256));
    const refusal = refusalOf(tokens.length, fresh.length, room);
    if (refusal !== null) return { ...refusal, newTokens: 0 };
    room -= fresh.length;
    const clientId = holder ?? newId("cli");
    if (holder === undefined) {
      newClients.push({ id: clientId, name, status: "active", rpm, dailyQuota: null, grantAll: true, ...times });
    }
    for (const sha256 of fresh) newTokens.push(importedToken(clientId, sha256, acting.now));
    return { status: holder === undefined ? "created" : "exists", id: clientId, newTokens: fresh.length };
  });
  const writes: Statement[] = [];
  if (newClients.length > 0) writes.push(registry.insert(clients).select(rowsOf(clients, newClients)));
  if (newTokens.length > 0) writes.push(registry.insert(clientTokens).select(rowsOf(clientTokens, newTokens)));
  return { arrivals, writes };
}

function refusalOf(tokens: number, fresh: number, room: number): Extract<Arrival, { status: "refused" }> | null {
  if (tokens > MAX_USABLE_TOKENS) {
    const message = `The client has ${tokens} tokens; a client holds at most ${MAX_USABLE_TOKENS} usable ones.`;
    return { status: "refused", code: "too_many_tokens", message };
  }
  if (fresh <= room) return null;
  const message = `At most ${MAX_IMPORTED_TOKENS} usable tokens may be imported ones.`;
  return { status: "refused", code: "too_many_tokens", message };
}

function importedToken(clientId: string, tokenSha256: string, now: number): typeof clientTokens.$inferSelect {
  return {
    ...{ id: newId("tok"), clientId, tokenSha256, createdAt: now, expiresAt: null, revokedAt: null, imported: true },
    ...{ lastUsedAt: null, kind: "client", label: null, createdBy: null },
  };
}

async function decideOrigins(
  registry: Registry,
  { now }: Acting,
  incoming: readonly CanonicalOrigin[],
): Promise<Decided<Arrival>> {
  const known = await registry
    .select({ id: origins.id, origin: origins.origin })
    .from(origins)
    .where(inArray(origins.origin, valuesOf(incoming)));
  const ids = new Map(known.map(({ id, origin }) => [origin, id]));
  const fresh: OriginRow[] = [];
  const arrivals = incoming.map((origin): Arrival => {
    const known = ids.get(origin);
    if (known !== undefined) return { status: "exists", id: known };
    const row = newOriginRow(origin, now);
    ids.set(origin, row.id);
    fresh.push(row);
    return { status: "created", id: row.id };
  });
  if (fresh.length === 0) return { arrivals, writes: [] };
  return { arrivals, writes: [registry.insert(origins).select(rowsOf(origins, fresh))] };
}

async function decideReviewers(
  registry: Registry,
  { now }: Acting,
  incoming: readonly NewReviewer[],
): Promise<Decided<Arrival>> {
  const arrivals: Arrival[] = [];
  const writes: Statement[] = [];
  const keys = new Set<string>();
  for (const wanted of incoming) {
    const row = newReviewerRow(wanted, now);
    const key = JSON.stringify(wanted.key);
    if (keys.has(key)) {
      const message = "Another reviewer of this import has the same key.";
      arrivals.push({ status: "refused", code: "already_exists", message });
      continue;
    }
    keys.add(key);
    try {
      await requireFree(registry, row);
      writes.push(registry.insert(reviewers).values(row));
      arrivals.push({ status: "created", id: row.id });
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      arrivals.push(await whyNot(registry, wanted, error));
    }
  }
  if (writes.length > 0) writes.push(nextTrustVersion(registry));
  return { arrivals, writes };
}

async function whyNot(registry: Registry, { attester, key }: NewReviewer, error: RegistryError): Promise<Arrival> {
  const [row] = await registry
    .select()
    .from(reviewers)
    .where(inArray(reviewers.id, [error.id ?? ""]));
  const isSame =
    error.code === "already_exists" &&
    row?.attester === attester &&
    key.kind === "ed25519" &&
    row.publicKey === key.publicKey;
  return isSame ? { status: "exists", id: row.id } : { status: "refused", code: error.code, message: error.message };
}

function created(arrivals: readonly Arrival[]): readonly string[] {
  return arrivals.flatMap((arrival) => (arrival.status === "created" && arrival.id !== null ? [arrival.id] : []));
}

function withoutIds(moved: MovedIn): MovedIn {
  const hide = <A extends Arrival>(arrival: A): A =>
    arrival.status === "created" ? { ...arrival, id: null } : arrival;
  return {
    clients: moved.clients.map(hide),
    origins: moved.origins.map(hide),
    reviewers: moved.reviewers.map(hide),
  };
}
