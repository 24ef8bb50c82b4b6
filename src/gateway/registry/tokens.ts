import { and, asc, count, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import { DAY_MS } from "../../core/durations.ts";
import { mutate } from "./audit.ts";
import { getClient } from "./clients.ts";
import type { Acting, Registry, Statement } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, type Page, type PageRequest, toPage } from "./page.ts";
import { clientTokens } from "./schema.ts";

/** Usable tokens a client may hold at once: enough for overlapping rotation in every deployment it has. */
export const MAX_USABLE_TOKENS = 50;

/** An inspection token lives this long, milliseconds. */
export const INSPECTION_MS = 5 * 60_000;

/** Inspection tokens a client may have at once: one for each operator who looks at it, and for each reload of a page. */
export const MAX_INSPECTION_TOKENS = 50;

/** Ended inspection tokens are forgotten after this long; the audit log keeps who had them. */
const INSPECTION_KEPT_MS = DAY_MS;

/** Imported tokens that may be usable at once: all their hashes are held in memory by every isolate. */
export const MAX_IMPORTED_TOKENS = 1_000;

/** A client's token as it may be shown: neither the token nor its hash. */
export interface ClientToken {
  readonly id: string;
  readonly clientId: string;
  readonly status: "active" | "expired" | "revoked";
  readonly createdAt: number;
  /** Epoch milliseconds from which it is refused; `null`: never. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Issued by another gateway: without the checksum of tokens of ours, and perhaps easier to guess. */
  readonly imported: boolean;
  /** `inspection`: an operator's own, to see what the client sees. */
  readonly kind: "client" | "inspection";
  /** What operators call it. */
  readonly label: string | null;
  /** Epoch milliseconds, a minute or so late; `null`: never. */
  readonly lastUsedAt: number | null;
}

export interface NewToken {
  /** Lower-case hex. */
  readonly tokenSha256: string;
  readonly expiresAt: number | null;
  readonly label: string | null;
}

type TokenRow = typeof clientTokens.$inferSelect;

/**
 * Stores a token's hash. The token itself never comes here.
 * @throws RegistryError `not_found` (no such client), `too_many_tokens`.
 */
export function createClientToken(
  registry: Registry,
  acting: Acting,
  clientId: string,
  { tokenSha256, expiresAt, label }: NewToken,
): Promise<ClientToken> {
  return mutate(registry, acting, async () => {
    await getClient(registry, clientId);
    await requireRoom(registry, clientId, "client", MAX_USABLE_TOKENS, acting.now);
    const row = newRow({
      clientId,
      tokenSha256,
      createdAt: acting.now,
      expiresAt,
      label,
      kind: "client",
      createdBy: null,
    });
    return {
      result: toToken(row, acting.now),
      writes: [registry.insert(clientTokens).values(row)],
      audit: { action: "client.token.create", subject: row.id, detail: { clientId, expiresAt, label } },
    };
  });
}

/**
 * Stores the hash of a token with which an operator sees for five minutes what a client sees. Its calls are the client's: they count against
 * its limits.
 *
 * @throws RegistryError `not_found` (no such client), `bad_state` (the client is suspended), `too_many_tokens`.
 */
export function createInspectionToken(
  registry: Registry,
  acting: Acting,
  clientId: string,
  tokenSha256: string,
): Promise<ClientToken> {
  return mutate(registry, acting, async () => {
    const { status } = await getClient(registry, clientId);
    if (status !== "active") {
      throw new RegistryError("bad_state", "The client is suspended: nothing can be called in its name.", clientId);
    }
    await requireRoom(registry, clientId, "inspection", MAX_INSPECTION_TOKENS, acting.now);
    const expiresAt = acting.now + INSPECTION_MS;
    const row = newRow({
      ...{ clientId, tokenSha256, createdAt: acting.now, expiresAt },
      label: null,
      kind: "inspection",
      createdBy: acting.actor,
    });
    return {
      result: toToken(row, acting.now),
      writes: [
        registry.insert(clientTokens).values(row),
        registry
          .delete(clientTokens)
          .where(and(eq(clientTokens.kind, "inspection"), lt(clientTokens.expiresAt, acting.now - INSPECTION_KEPT_MS))),
      ],
      audit: { action: "client.token.inspect", subject: row.id, detail: { clientId, expiresAt } },
    };
  });
}

/** Statement: ends the inspection tokens that somebody made, who may not have them any more. */
export function endInspectionTokens(registry: Registry, madeBy: string, now: number): Statement {
  return registry
    .update(clientTokens)
    .set({ revokedAt: now })
    .where(
      and(eq(clientTokens.kind, "inspection"), eq(clientTokens.createdBy, madeBy), isNull(clientTokens.revokedAt)),
    );
}

function newRow(given: Omit<TokenRow, "id" | "revokedAt" | "imported" | "lastUsedAt">): TokenRow {
  return { id: newId("tok"), ...given, revokedAt: null, imported: false, lastUsedAt: null };
}

/**
 * Revokes a token. Again: nothing changes and the first moment of revocation stays.
 * @throws RegistryError `not_found` where this client has no such token, another client's included.
 */
export function revokeClientToken(registry: Registry, acting: Acting, clientId: string, id: string): Promise<void> {
  return mutate(registry, acting, async () => {
    const [row] = await registry
      .select()
      .from(clientTokens)
      .where(and(eq(clientTokens.id, id), eq(clientTokens.clientId, clientId)));
    if (row === undefined) throw new RegistryError("not_found", "This client has no token with this id.");
    if (row.revokedAt !== null) return { result: undefined };
    return {
      result: undefined,
      writes: [registry.update(clientTokens).set({ revokedAt: acting.now }).where(eq(clientTokens.id, id))],
      audit: { action: "client.token.revoke", subject: id, detail: { clientId } },
    };
  });
}

/** Oldest first, revoked and expired ones included. @throws RegistryError `not_found` (no such client). */
export async function listClientTokens(
  registry: Registry,
  clientId: string,
  now: number,
  request: PageRequest<CreatedKey>,
): Promise<Page<ClientToken>> {
  await getClient(registry, clientId);
  const after = request.after;
  const rows = await registry
    .select()
    .from(clientTokens)
    .where(
      and(
        eq(clientTokens.clientId, clientId),
        after === null ? undefined : sql`(${clientTokens.createdAt}, ${clientTokens.id}) > (${after[0]}, ${after[1]})`,
      ),
    )
    .orderBy(asc(clientTokens.createdAt), asc(clientTokens.id))
    .limit(request.limit + 1);
  const page = toPage(rows, request.limit, (row): CreatedKey => [row.createdAt, row.id]);
  return { items: page.items.map((row) => toToken(row, now)), nextCursor: page.nextCursor };
}

/** @throws RegistryError `too_many_tokens`. */
async function requireRoom(
  registry: Registry,
  clientId: string,
  kind: TokenRow["kind"],
  most: number,
  now: number,
): Promise<void> {
  const [row] = await registry
    .select({ usable: count() })
    .from(clientTokens)
    .where(
      and(
        eq(clientTokens.clientId, clientId),
        eq(clientTokens.kind, kind),
        isNull(clientTokens.revokedAt),
        or(isNull(clientTokens.expiresAt), gt(clientTokens.expiresAt, now)),
      ),
    );
  if ((row?.usable ?? 0) < most) return;
  const what = kind === "client" ? "usable tokens" : "inspection tokens";
  throw new RegistryError("too_many_tokens", `A client holds at most ${most} ${what}; revoke one first.`, clientId);
}

function toToken(row: TokenRow, now: number): ClientToken {
  const { id, clientId, createdAt, expiresAt, revokedAt, imported, kind, label, lastUsedAt } = row;
  const expired = expiresAt !== null && expiresAt <= now;
  return {
    id,
    clientId,
    status: revokedAt !== null ? "revoked" : expired ? "expired" : "active",
    createdAt,
    expiresAt,
    revokedAt,
    imported,
    kind,
    label,
    lastUsedAt,
  };
}
