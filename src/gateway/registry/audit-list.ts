import { and, asc, desc, eq, gt, gte, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { AuditRow } from "./audit.ts";
import type { Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { auditLog } from "./schema.ts";

/** All of what is given must hold. */
export interface AuditFilter {
  readonly actor?: string | undefined;
  /** An action, or the beginning of some up to a dot: `client.token`. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  /** Epoch milliseconds, inclusive, as is `to`. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Newest first. The cursor's key is the row number. */
export async function listAudit(
  registry: Registry,
  filter: AuditFilter,
  { limit, after }: PageRequest<number>,
): Promise<Page<AuditRow>> {
  const rows = await registry
    .select()
    .from(auditLog)
    .where(and(isWanted(filter), after === null ? undefined : lt(auditLog.seq, after)))
    .orderBy(desc(auditLog.seq))
    .limit(limit + 1);
  return toPage(rows, limit, (row) => row.seq);
}

/** Oldest first: at most `limit` rows after `afterSeq`, none after `toSeq`. */
export function auditStretch(
  registry: Registry,
  filter: AuditFilter,
  { afterSeq, toSeq, limit }: { readonly afterSeq: number; readonly toSeq: number; readonly limit: number },
): Promise<readonly AuditRow[]> {
  return registry
    .select()
    .from(auditLog)
    .where(and(isWanted(filter), gt(auditLog.seq, afterSeq), lte(auditLog.seq, toSeq)))
    .orderBy(asc(auditLog.seq))
    .limit(limit);
}

/** The number of the last row; 0: there is none. */
export async function lastAuditSeq(registry: Registry): Promise<number> {
  const [row] = await registry.select({ seq: sql<number>`coalesce(max(${auditLog.seq}), 0)` }).from(auditLog);
  return row?.seq ?? 0;
}

/** @throws RegistryError `not_found`. */
export async function getAuditRow(registry: Registry, seq: number): Promise<AuditRow> {
  const [row] = await registry.select().from(auditLog).where(eq(auditLog.seq, seq));
  if (row === undefined) throw new RegistryError("not_found", "There is no audit row with this number.");
  return row;
}

function isWanted({ actor, action, subject, from, to }: AuditFilter): SQL | undefined {
  return and(
    actor === undefined ? undefined : eq(auditLog.actor, actor),
    // The character after the dot ends the range of all texts that begin so, which an index can answer.
    action === undefined
      ? undefined
      : or(eq(auditLog.action, action), and(gte(auditLog.action, `${action}.`), lt(auditLog.action, `${action}/`))),
    subject === undefined ? undefined : eq(auditLog.subject, subject),
    from === undefined ? undefined : gte(auditLog.at, from),
    to === undefined ? undefined : lte(auditLog.at, to),
  );
}
