import { desc, gte } from "drizzle-orm";
import { forgetPolicy } from "../auth/policy.ts";
import { withDeadline } from "../deadline.ts";
import { concernsClients } from "../registry/audit.ts";
import { openRegistry } from "../registry/database.ts";
import { auditLog } from "../registry/schema.ts";

const READ_TIMEOUT_MS = 2_000;
/** Where more rows than this came since the last look, one of them counts as a decision about clients. */
const ROWS_A_LOOK = 100;

/** Of a database, as far as this isolate took notice: its last row, and the last one that counts. */
interface Followed {
  readonly row: number;
  readonly decision: number;
}

const followed = new WeakMap<D1Database, Followed>();

/**
 * The number of the last decision of an operator that may change what a client sees, or end its access; each is a row of the audit log, written in
 * one batch with what it changes. Where there is a new one, the isolate's policy is read again before it is next used. A number may be of a row
 * that decided nothing of the kind, but none is passed over.
 *
 * @throws where D1 does not answer in time.
 */
export async function lastDecision(database: D1Database): Promise<number> {
  const before = followed.get(database);
  const read = openRegistry(database)
    .select({ seq: auditLog.seq, action: auditLog.action })
    .from(auditLog)
    .where(before === undefined ? undefined : gte(auditLog.seq, before.row))
    .orderBy(desc(auditLog.seq))
    .limit(before === undefined ? 1 : ROWS_A_LOOK);
  const rows = await withDeadline(read, READ_TIMEOUT_MS);
  const row = rows[0]?.seq ?? 0;
  const decision = before !== undefined && isUndecided(rows, before) ? before.decision : row;
  if (decision !== before?.decision) forgetPolicy();
  followed.set(database, { row, decision });
  return decision;
}

/** @param rows newest first. */
function isUndecided(rows: readonly { readonly seq: number; readonly action: string }[], { row }: Followed): boolean {
  const known = rows.at(-1);
  // Else too many came, or the log is not the one that it was.
  if (known === undefined ? row !== 0 : known.seq !== row) return false;
  return !rows.slice(0, -1).some(({ action }) => concernsClients(action));
}
