import { sql } from "drizzle-orm";
import type { Registry, Statement } from "./database.ts";
import { trustState } from "./schema.ts";

/** Id of the one row of `trust_state`. */
export const ONLY_ROW = 1;

/** What goes up with every change of trust, for a reader that holds the rest. One row. */
export async function trustVersion(registry: Registry): Promise<number> {
  const [row] = await registry.select({ version: trustState.version }).from(trustState);
  return row?.version ?? 0;
}

/** Statement: goes in the batch of every change of reviewers, revocations and the trust root. */
export function nextTrustVersion(registry: Registry): Statement {
  return registry
    .insert(trustState)
    .values({ id: ONLY_ROW, version: 1 })
    .onConflictDoUpdate({ target: trustState.id, set: { version: sql`${trustState.version} + 1` } });
}
