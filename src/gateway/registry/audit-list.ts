import { and, asc, desc, eq, gte, lte, type SQL, sql } from "drizzle-orm";
import { DAY_MS } from "../../core/durations.ts";
import { AUDIT_ACTIONS, type AuditRow } from "./audit.ts";
import { type Registry, valuesOf } from "./database.ts";
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
  const stretch = { from: 1, to: after === null ? Number.MAX_SAFE_INTEGER : after - 1, limit: limit + 1, order: desc };
  const rows = await select(registry, filter, stretch);
  return toPage(rows, limit, (row) => row.seq);
}

/** Oldest first: at most `limit` rows after `afterSeq`, none after `toSeq`. */
export async function auditStretch(
  registry: Registry,
  filter: AuditFilter,
  { afterSeq, toSeq, limit }: { readonly afterSeq: number; readonly toSeq: number; readonly limit: number },
): Promise<readonly NamedAuditRow[]> {
  return select(registry, filter, { from: afterSeq + 1, to: toSeq, limit, order: asc });
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

/** Rows by their numbers, both inclusive: the first `limit` of them in this order. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly order: typeof asc;
}

async function select(registry: Registry, filter: AuditFilter, stretch: Stretch): Promise<readonly NamedAuditRow[]> {
  const rows = await selectNamed(registry)
    .where(isWanted(filter, stretch))
    .orderBy(stretch.order(auditLog.seq))
    .limit(stretch.limit);
  return rows.map(toNamed);
}

/** However few rows match, no more are read than an index finds: every condition but those on `at` is of one, in the order of the rows. */
function isWanted(filter: AuditFilter, stretch: Stretch): SQL | undefined {
  const { actor, action, subject } = filter;
  const within = isWithin(filter, stretch);
  if (subject !== undefined) {
    // Few rows are about one thing; the plus keeps other indexes from being used.
    return and(
      eq(auditLog.subject, subject),
      actor === undefined ? undefined : eq(sql`+${auditLog.actor}`, actor),
      action === undefined ? undefined : sql`+${auditLog.action} IN ${valuesOf(actionsOf(action))}`,
      within,
    );
  }
  const isOfActor = actor === undefined ? undefined : eq(auditLog.actor, actor);
  if (action === undefined) return and(isOfActor, within);
  // Of one action an index has the order of the rows, of several it has not: of each the first ones are found, and of these the first.
  const ofOne = and(sql`${auditLog.action} = wanted.value`, isOfActor, within);
  return sql`${auditLog.seq} IN (
    SELECT ${auditLog.seq} FROM json_each(${JSON.stringify(actionsOf(action))}) AS wanted CROSS JOIN ${auditLog} ON ${auditLog.seq} IN (
      SELECT ${auditLog.seq} FROM ${auditLog} WHERE ${ofOne} ORDER BY ${stretch.order(auditLog.seq)} LIMIT ${stretch.limit}))`;
}

/** Whatever clocks do, and however long a mutation takes, a row is not written a day after the moment that it bears. */
const CLOCK_SLACK_MS = DAY_MS;

/** Rows are in the order of their moments, but for the slack: so moments bound the numbers, by which rows are read. */
function isWithin({ from, to }: AuditFilter, stretch: Stretch): SQL | undefined {
  const at = sql`+${auditLog.at}`;
  // One bound on each side: of two SQLite would use the one and read on to the other.
  const first = sql`max(${stretch.from}, coalesce((
    SELECT seq FROM audit_log WHERE at < ${(from ?? 0) - CLOCK_SLACK_MS} ORDER BY at DESC LIMIT 1), 0))`;
  const last = sql`min(${stretch.to}, coalesce((
    SELECT seq FROM audit_log WHERE at > ${(to ?? 0) + CLOCK_SLACK_MS} ORDER BY at LIMIT 1), ${stretch.to}))`;
  return and(
    gte(auditLog.seq, from === undefined ? stretch.from : first),
    lte(auditLog.seq, to === undefined ? stretch.to : last),
    from === undefined ? undefined : gte(at, from),
    to === undefined ? undefined : lte(at, to),
  );
}

/** The actions that a filter means. Its own text is one of them, as it may be of a row that an earlier version wrote. */
function actionsOf(action: string): readonly string[] {
  return [action, ...AUDIT_ACTIONS.filter((known) => known.startsWith(`${action}.`))];
}
