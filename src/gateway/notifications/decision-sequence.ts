import { desc } from "drizzle-orm";
import { forgetPolicy } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { openRegistry } from "../registry/database.ts";
import { auditLog } from "../registry/schema.ts";

const READ_TIMEOUT_MS = 2_000;

/** The last number that this isolate saw, of each database. */
const seen = new WeakMap<D1Database, number>();

/**
 * How many decisions operators have made: each is a row of the audit log, written in one batch with what it changes. Where there is a new one,
 * the isolate's policy is read again before it is next used.
 *
 * @throws where D1 does not answer in time.
 */
export async function decisionsSoFar(database: D1Database): Promise<number> {
  const read = openRegistry(database).select({ seq: auditLog.seq }).from(auditLog).orderBy(desc(auditLog.seq)).limit(1);
  const seq = (await withDeadline(read, READ_TIMEOUT_MS))[0]?.seq ?? 0;
  if (seq !== seen.get(database)) forgetPolicy();
  seen.set(database, seq);
  return seq;
}
