import { and, count, eq, gt, isNotNull, isNull, ne } from "drizzle-orm";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { consoleState, operators, operatorTokens } from "./schema.ts";
import { endInspectionTokens } from "./tokens.ts";

const ONLY_ROW = 1;

/** When `ADMIN_TOKEN` was retired, epoch milliseconds; `null`: it lets in whoever has it. */
export async function bootstrapRetiredAt(registry: Registry): Promise<number | null> {
  const [row] = await registry.select().from(consoleState).where(eq(consoleState.id, ONLY_ROW));
  return row?.bootstrapRetiredAt ?? null;
}

/**
 * Lets nobody in with `ADMIN_TOKEN` any more, nor with a session opened with it. Again: nothing changes and the first moment stays.
 *
 * @param operatorId who asks: an admin who can sign in without it, as the request proves.
 * @returns when it was retired.
 */
export function retireBootstrap(registry: Registry, acting: Acting, operatorId: string): Promise<number> {
  return mutate(registry, acting, async () => {
    const before = await bootstrapRetiredAt(registry);
    if (before !== null) return { result: before };
    const state = { bootstrapRetiredAt: acting.now, bootstrapRetiredBy: operatorId };
    return {
      result: acting.now,
      writes: [
        registry
          .insert(consoleState)
          .values({ id: ONLY_ROW, ...state })
          .onConflictDoUpdate({ target: consoleState.id, set: state }),
        endInspectionTokens(registry, "admin-token", acting.now),
      ],
      audit: { action: "bootstrap.retire", subject: "admin-token", detail: {} },
    };
  });
}

/** What is about to be taken away: an operator's role or standing, an e-mail address, or a token. */
export interface Taken {
  readonly operator?: string;
  readonly emailOf?: string;
  readonly token?: string;
}

/**
 * Once `ADMIN_TOKEN` is retired somebody must be able to sign in as admin. Tokens that will expire count: time is not asked for leave.
 *
 * @throws RegistryError `last_admin`.
 */
export async function requireAdminLeft(
  registry: Registry,
  now: number,
  accessInUse: boolean,
  taken: Taken,
): Promise<void> {
  if ((await bootstrapRetiredAt(registry)) === null) return;
  const isAdmin = and(
    eq(operators.role, "admin"),
    eq(operators.status, "active"),
    taken.operator === undefined ? undefined : ne(operators.id, taken.operator),
  );
  const [[tokens], [emails]] = await registry.batch([
    registry
      .select({ left: count() })
      .from(operatorTokens)
      .innerJoin(operators, eq(operators.id, operatorTokens.operatorId))
      .where(
        and(
          isAdmin,
          isNull(operatorTokens.revokedAt),
          gt(operatorTokens.expiresAt, now),
          taken.token === undefined ? undefined : ne(operatorTokens.id, taken.token),
        ),
      ),
    registry
      .select({ left: count() })
      .from(operators)
      .where(
        and(
          isAdmin,
          isNotNull(operators.accessEmail),
          taken.emailOf === undefined ? undefined : ne(operators.id, taken.emailOf),
        ),
      ),
  ]);
  if ((tokens?.left ?? 0) > 0 || (accessInUse && (emails?.left ?? 0) > 0)) return;
  throw new RegistryError(
    "last_admin",
    "ADMIN_TOKEN is retired, and no other admin could sign in after this; make another admin first.",
    taken.operator ?? taken.emailOf ?? taken.token ?? null,
  );
}
