import { and, asc, count, eq, gt, isNull, lt, or } from "drizzle-orm";
import { mutate } from "./audit.ts";
import { requireAdminLeft } from "./bootstrap.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { getOperator } from "./operators.ts";
import { type CreatedKey, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { operatorTokens } from "./schema.ts";

/** Usable tokens an operator may hold at once. */
export const MAX_OPERATOR_TOKENS = 20;

/** `lastUsedAt` is this exact. */
const USE_NOTED_MS = 60_000;

/** An operator's token as it may be shown: neither the token nor its hash. */
export interface OperatorToken {
  readonly id: string;
  readonly operatorId: string;
  readonly status: "active" | "expired" | "revoked";
  readonly createdAt: number;
  /** Epoch milliseconds from which it is refused. */
  readonly expiresAt: number;
  readonly revokedAt: number | null;
  /** To the minute. */
  readonly lastUsedAt: number | null;
}

type TokenRow = typeof operatorTokens.$inferSelect;

/**
 * Stores a token's hash. The token itself never comes here.
 * @param tokenSha256 lower-case hex.
 * @throws RegistryError `not_found` (no such operator), `too_many_tokens`.
 */
export function createOperatorToken(
  registry: Registry,
  acting: Acting,
  operatorId: string,
  { tokenSha256, expiresAt }: { readonly tokenSha256: string; readonly expiresAt: number },
): Promise<OperatorToken> {
  return mutate(registry, acting, async () => {
    await getOperator(registry, operatorId);
    const isUsable = and(
      eq(operatorTokens.operatorId, operatorId),
      isNull(operatorTokens.revokedAt),
      gt(operatorTokens.expiresAt, acting.now),
    );
    const [row] = await registry.select({ usable: count() }).from(operatorTokens).where(isUsable);
    if ((row?.usable ?? 0) >= MAX_OPERATOR_TOKENS) {
      const sentence = `An operator holds at most ${MAX_OPERATOR_TOKENS} usable tokens; revoke one first.`;
      throw new RegistryError("too_many_tokens", sentence, operatorId);
    }
    const token: TokenRow = {
      id: newId("opt"),
      operatorId,
      tokenSha256,
      createdAt: acting.now,
      expiresAt,
      revokedAt: null,
      lastUsedAt: null,
    };
    return {
      result: toToken(token, acting.now),
      writes: [registry.insert(operatorTokens).values(token)],
      audit: { action: "operator.token.create", subject: token.id, detail: { operatorId, expiresAt } },
    };
  });
}

/**
 * Revokes a token, and ends the sessions opened with it. Again: nothing changes and the first moment of revocation stays.
 *
 * @param accessInUse whether operators may sign in through Cloudflare Access.
 * @throws RegistryError `not_found` where this operator has no such token, another's included; `last_admin`.
 */
export function revokeOperatorToken(
  registry: Registry,
  acting: Acting,
  operatorId: string,
  id: string,
  accessInUse: boolean,
): Promise<void> {
  return mutate(registry, acting, async () => {
    const [row] = await registry
      .select()
      .from(operatorTokens)
      .where(and(eq(operatorTokens.id, id), eq(operatorTokens.operatorId, operatorId)));
    if (row === undefined) throw new RegistryError("not_found", "This operator has no token with this id.");
    if (row.revokedAt !== null) return { result: undefined };
    // One that expired lets nobody in anyway.
    if (row.expiresAt > acting.now) await requireAdminLeft(registry, acting.now, accessInUse, { token: id });
    return {
      result: undefined,
      writes: [registry.update(operatorTokens).set({ revokedAt: acting.now }).where(eq(operatorTokens.id, id))],
      audit: { action: "operator.token.revoke", subject: id, detail: { operatorId } },
    };
  });
}

/** Oldest first, revoked and expired ones included. @throws RegistryError `not_found` (no such operator). */
export async function listOperatorTokens(
  registry: Registry,
  operatorId: string,
  now: number,
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<OperatorToken>> {
  await getOperator(registry, operatorId);
  const rows = await registry
    .select()
    .from(operatorTokens)
    .where(and(eq(operatorTokens.operatorId, operatorId), isAfter(operatorTokens.createdAt, operatorTokens.id, after)))
    .orderBy(asc(operatorTokens.createdAt), asc(operatorTokens.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, (row): CreatedKey => [row.createdAt, row.id]);
  return { items: page.items.map((row) => toToken(row, now)), nextCursor: page.nextCursor };
}

/** Notes that a token was used, once a minute: no audit row, for it decides nothing. */
export async function noteTokenUse(registry: Registry, id: string, now: number): Promise<void> {
  const isDue = or(isNull(operatorTokens.lastUsedAt), lt(operatorTokens.lastUsedAt, now - USE_NOTED_MS));
  await registry
    .update(operatorTokens)
    .set({ lastUsedAt: now })
    .where(and(eq(operatorTokens.id, id), isDue));
}

/** Whether {@link noteTokenUse} would write. */
export function isUseDue(lastUsedAt: number | null, now: number): boolean {
  return lastUsedAt === null || lastUsedAt < now - USE_NOTED_MS;
}

function toToken(row: TokenRow, now: number): OperatorToken {
  const { id, operatorId, createdAt, expiresAt, revokedAt, lastUsedAt } = row;
  const status = revokedAt !== null ? "revoked" : expiresAt <= now ? "expired" : "active";
  return { id, operatorId, status, createdAt, expiresAt, revokedAt, lastUsedAt };
}
