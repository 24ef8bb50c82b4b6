import { and, eq, gt, inArray, isNull, lte, or } from "drizzle-orm";
import { DAY_MS, HOUR_MS } from "../../core/durations.ts";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { newId } from "./ids.ts";
import type { Operator } from "./operators.ts";
import { consoleState, operatorSessions, operators, operatorTokens } from "./schema.ts";

/** A session ends after this long, or with the token it was opened with. */
export const SESSION_MS = 12 * HOUR_MS;

/** Longer than any browser keeps the cookie of a session that expired. */
const EXPIRED_KEPT_MS = DAY_MS;

/** An operator as a request of theirs needs them. */
export type ActiveOperator = Pick<Operator, "id" | "name" | "role">;

export interface TokenSignIn {
  readonly operator: ActiveOperator;
  readonly tokenId: string;
  readonly expiresAt: number;
  readonly lastUsedAt: number | null;
}

const ACTIVE_OPERATOR = { id: operators.id, name: operators.name, role: operators.role };

/** Whose token this is; `null` for one that is unknown, expired or revoked, or whose operator is suspended. */
export async function findTokenSignIn(registry: Registry, sha256: string, now: number): Promise<TokenSignIn | null> {
  const [row] = await registry
    .select({
      operator: ACTIVE_OPERATOR,
      tokenId: operatorTokens.id,
      expiresAt: operatorTokens.expiresAt,
      lastUsedAt: operatorTokens.lastUsedAt,
    })
    .from(operatorTokens)
    .innerJoin(operators, eq(operators.id, operatorTokens.operatorId))
    .where(
      and(
        eq(operatorTokens.tokenSha256, sha256),
        isNull(operatorTokens.revokedAt),
        gt(operatorTokens.expiresAt, now),
        eq(operators.status, "active"),
      ),
    );
  return row ?? null;
}

/** The active operator with this e-mail address in Cloudflare Access, or `null`. @param email lower case. */
export async function findAccessOperator(registry: Registry, email: string): Promise<ActiveOperator | null> {
  const [row] = await registry
    .select(ACTIVE_OPERATOR)
    .from(operators)
    .where(and(eq(operators.accessEmail, email), eq(operators.status, "active")));
  return row ?? null;
}

export interface Session {
  readonly id: string;
  /** `null`: opened with `ADMIN_TOKEN`. */
  readonly operator: ActiveOperator | null;
  readonly expiresAt: number;
}

/** Hashes of a cookie's value, as `operator_sessions.session_sha256` has them. */
export interface SessionHashes {
  readonly ofOperator: string;
  /** `null`: `ADMIN_TOKEN` is not set. */
  readonly ofBootstrap: string | null;
}

/** The session of a cookie; `null` for one that ended, for whatever reason. */
export async function findSession(
  registry: Registry,
  { ofOperator, ofBootstrap }: SessionHashes,
  now: number,
): Promise<Session | null> {
  const isOperators = and(
    eq(operatorSessions.sessionSha256, ofOperator),
    eq(operators.status, "active"),
    isNull(operatorTokens.revokedAt),
    gt(operatorTokens.expiresAt, now),
  );
  const isBootstraps =
    ofBootstrap === null
      ? undefined
      : and(
          eq(operatorSessions.sessionSha256, ofBootstrap),
          isNull(operatorSessions.operatorId),
          isNull(consoleState.bootstrapRetiredAt),
        );
  const [row] = await registry
    .select({ id: operatorSessions.id, expiresAt: operatorSessions.expiresAt, operator: ACTIVE_OPERATOR })
    .from(operatorSessions)
    .leftJoin(operators, eq(operators.id, operatorSessions.operatorId))
    .leftJoin(operatorTokens, eq(operatorTokens.id, operatorSessions.tokenId))
    .leftJoin(consoleState, eq(consoleState.id, 1))
    .where(
      and(
        // For the index: the two cases below say it again.
        inArray(operatorSessions.sessionSha256, ofBootstrap === null ? [ofOperator] : [ofOperator, ofBootstrap]),
        isNull(operatorSessions.revokedAt),
        gt(operatorSessions.expiresAt, now),
        or(isOperators, isBootstraps),
      ),
    );
  return row ?? null;
}

/**
 * What became of the session of a cookie that {@link findSession} does not find. `over`: it ended for ever. `suspended`: it lets nobody in,
 * and may again. `null`: there never was one, or it expired more than a day ago.
 */
export async function sessionEnd(
  registry: Registry,
  { ofOperator, ofBootstrap }: SessionHashes,
  now: number,
): Promise<"over" | "suspended" | null> {
  const [row] = await registry
    .select({ revokedAt: operatorSessions.revokedAt, expiresAt: operatorSessions.expiresAt })
    .from(operatorSessions)
    .where(inArray(operatorSessions.sessionSha256, ofBootstrap === null ? [ofOperator] : [ofOperator, ofBootstrap]));
  if (row === undefined) return null;
  return row.revokedAt !== null || row.expiresAt <= now ? "over" : "suspended";
}

/**
 * Opens a session, and forgets those that expired a day ago: until then their cookies are known to be theirs.
 *
 * @param token what it was opened with; `null`: `ADMIN_TOKEN`.
 */
export function createSession(
  registry: Registry,
  acting: Acting,
  sessionSha256: string,
  token: TokenSignIn | null,
): Promise<Omit<Session, "operator">> {
  return mutate(registry, acting, async () => {
    const id = newId("ses");
    const expiresAt = Math.min(acting.now + SESSION_MS, token?.expiresAt ?? Number.POSITIVE_INFINITY);
    const row: typeof operatorSessions.$inferSelect = {
      id,
      operatorId: token?.operator.id ?? null,
      tokenId: token?.tokenId ?? null,
      sessionSha256,
      createdAt: acting.now,
      expiresAt,
      revokedAt: null,
    };
    return {
      result: { id, expiresAt },
      writes: [
        registry.insert(operatorSessions).values(row),
        registry.delete(operatorSessions).where(lte(operatorSessions.expiresAt, acting.now - EXPIRED_KEPT_MS)),
      ],
      audit: { action: "session.create", subject: id, detail: { tokenId: row.tokenId, expiresAt } },
    };
  });
}

/** Ends a session at once. */
export function endSession(registry: Registry, acting: Acting, id: string): Promise<void> {
  return mutate(registry, acting, async () => {
    const [open] = await registry
      .select({ id: operatorSessions.id })
      .from(operatorSessions)
      .where(and(eq(operatorSessions.id, id), isNull(operatorSessions.revokedAt)));
    if (open === undefined) return { result: undefined };
    return {
      result: undefined,
      writes: [registry.update(operatorSessions).set({ revokedAt: acting.now }).where(eq(operatorSessions.id, id))],
      audit: { action: "session.end", subject: id, detail: {} },
    };
  });
}
