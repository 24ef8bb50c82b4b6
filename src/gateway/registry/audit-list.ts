import { and, asc, desc, eq, gt, gte, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { AUDIT_ACTIONS, type AuditRow } from "./audit.ts";
import type { Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { auditLog, operators } from "./schema.ts";

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

/** An audit row, and what whoever did it is called today; `null`: nobody is known by that id any more. */
export interface NamedAuditRow extends AuditRow {
  readonly actorName: string | null;
}

/** Who is no operator, by the name they go by. */
const SYSTEM_ACTORS: Readonly<Record<string, string>> = { "admin-token": "ADMIN_TOKEN" };

/** Newest first. The cursor's key is the row number. */
export async function listAudit(
  registry: Registry,
  filter: AuditFilter,
  { limit, after }: PageRequest<number>,
): Promise<Page<NamedAuditRow>> {
  const rows = await selectNamed(registry)
    .where(and(isWanted(filter), after === null ? undefined : lt(auditLog.seq, after)))
    .orderBy(desc(auditLog.seq))
    .limit(limit + 1);
  return toPage(rows.map(toNamed), limit, (row) => row.seq);
}

/** Oldest first: at most `limit` rows after `afterSeq`, none after `toSeq`. */
export async function auditStretch(
  registry: Registry,
  filter: AuditFilter,
  { afterSeq, toSeq, limit }: { readonly afterSeq: number; readonly toSeq: number; readonly limit: number },
): Promise<readonly NamedAuditRow[]> {
  const rows = await selectNamed(registry)
    .where(and(isWanted(filter), gt(auditLog.seq, afterSeq), lte(auditLog.seq, toSeq)))
    .orderBy(asc(auditLog.seq))
    .limit(limit);
  return rows.map(toNamed);
}

/** The number of the last row; 0: there is none. */
export async function lastAuditSeq(registry: Registry): Promise<number> {
  const [row] = await registry.select({ seq: sql<number>`coalesce(max(${auditLog.seq}), 0)` }).from(auditLog);
  return row?.seq ?? 0;
}

/** @throws RegistryError `not_found`. */
export async function getAuditRow(registry: Registry, seq: number): Promise<NamedAuditRow> {
  const [row] = await selectNamed(registry).where(eq(auditLog.seq, seq));
  if (row === undefined) throw new RegistryError("not_found", "There is no audit row with this number.");
  return toNamed(row);
}

function selectNamed(registry: Registry) {
  return registry
    .select({ row: auditLog, name: operators.name })
    .from(auditLog)
    .leftJoin(operators, eq(operators.id, auditLog.actor))
    .$dynamic();
}

function toNamed({ row, name }: { readonly row: AuditRow; readonly name: string | null }): NamedAuditRow {
  return { ...row, actorName: SYSTEM_ACTORS[row.actor] ?? name };
}

function isWanted({ actor, action, subject, from, to }: AuditFilter): SQL | undefined {
  return and(
    actor === undefined ? undefined : eq(auditLog.actor, actor),
    isOfAction(action),
    subject === undefined ? undefined : eq(auditLog.subject, subject),
    // The plus keeps their index from being used: it has not the order of the rows, and a page would be sorted out of all that it finds.
    from === undefined ? undefined : gte(sql`+${auditLog.at}`, from),
    to === undefined ? undefined : lte(sql`+${auditLog.at}`, to),
  );
}

function isOfAction(action: string | undefined): SQL | undefined {
  if (action === undefined) return undefined;
  // Of one action the index has the order of the rows; of several it has not.
  if ((AUDIT_ACTIONS as readonly string[]).includes(action)) return eq(auditLog.action, action);
  // The character after the dot ends the range of all texts that begin so.
  const named = sql`+${auditLog.action}`;
  return or(eq(named, action), and(gte(named, `${action}.`), lt(named, `${action}/`)));
}
