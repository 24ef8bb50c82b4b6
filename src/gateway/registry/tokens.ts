import { and, asc, count, eq, gt, isNull, or, sql } from "drizzle-orm";
import { mutate } from "./audit.ts";
import { getClient } from "./clients.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, type Page, type PageRequest, toPage } from "./page.ts";
import { clientTokens } from "./schema.ts";

/** Usable tokens a client may hold at once: enough for overlapping rotation in every deployment it has. */
export const MAX_USABLE_TOKENS = 50;

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
}

type TokenRow = typeof clientTokens.$inferSelect;

/**
 * Stores a token's hash. The token itself never comes here.
 * @param tokenSha256 lower-case hex.
 * @throws RegistryError `not_found` (no such client), `too_many_tokens`.
 */
export function createClientToken(
  registry: Registry,
  acting: Acting,
  clientId: string,
  { tokenSha256, expiresAt }: { readonly tokenSha256: string; readonly expiresAt: number | null },
): Promise<ClientToken> {
  return mutate(registry, acting, async () => {
    await getClient(registry, clientId);
    if ((await countUsable(registry, clientId, acting.now)) >= MAX_USABLE_TOKENS) {
      throw new RegistryError(
        "too_many_tokens",
        `A client holds at most ${MAX_USABLE_TOKENS} usable tokens; revoke one first.`,
        clientId,
      );
    }
    const row: TokenRow = {
      id: newId("tok"),
      clientId,
      tokenSha256,
      createdAt: acting.now,
      expiresAt,
      revokedAt: null,
      imported: false,
      lastUsedAt: null,
      kind: "client",
      label: null,
    };
    return {
      result: toToken(row, acting.now),
      writes: [registry.insert(clientTokens).values(row)],
      audit: { action: "client.token.create", subject: row.id, detail: { clientId, expiresAt } },
    };
  });
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

async function countUsable(registry: Registry, clientId: string, now: number): Promise<number> {
  const [row] = await registry
    .select({ usable: count() })
    .from(clientTokens)
    .where(
      and(
        eq(clientTokens.clientId, clientId),
        isNull(clientTokens.revokedAt),
        or(isNull(clientTokens.expiresAt), gt(clientTokens.expiresAt, now)),
      ),
    );
  return row?.usable ?? 0;
}

function toToken(row: TokenRow, now: number): ClientToken {
  const { id, clientId, createdAt, expiresAt, revokedAt, imported } = row;
  const expired = expiresAt !== null && expiresAt <= now;
  return {
    id,
    clientId,
    status: revokedAt !== null ? "revoked" : expired ? "expired" : "active",
    createdAt,
    expiresAt,
    revokedAt,
    imported,
  };
}
