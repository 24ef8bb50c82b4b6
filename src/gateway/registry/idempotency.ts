import { and, eq, gt, lte } from "drizzle-orm";
import { DAY_MS } from "../../core/durations.ts";
import type { Registry, Statement } from "./database.ts";
import { idempotencyKeys } from "./schema.ts";

/** How long an answer is kept, milliseconds. */
const KEPT_MS = DAY_MS;

/** D1 caps a row at 2 MB. */
const MAX_KEPT_CHARS = 500_000;

type KeptAnswer = typeof idempotencyKeys.$inferSelect;

/** What an actor's earlier request with this key was answered, or `null`. */
export async function findAnswer(
  registry: Registry,
  actor: string,
  key: string,
  now: number,
): Promise<KeptAnswer | null> {
  const [row] = await registry
    .select()
    .from(idempotencyKeys)
    .where(
      and(eq(idempotencyKeys.actor, actor), eq(idempotencyKeys.key, key), gt(idempotencyKeys.createdAt, now - KEPT_MS)),
    );
  return row ?? null;
}

/** Statements: keep an answer, in the batch of the mutation that it tells of, and forget those that are a day old. */
export function keepAnswer(registry: Registry, kept: KeptAnswer): readonly Statement[] {
  const body = kept.body !== null && kept.body.length > MAX_KEPT_CHARS ? null : kept.body;
  return [
    registry.delete(idempotencyKeys).where(lte(idempotencyKeys.createdAt, kept.createdAt - KEPT_MS)),
    registry.insert(idempotencyKeys).values({ ...kept, body }),
  ];
}
