import { getTableColumns, lt, type SQL, sql } from "drizzle-orm";
import { DAY_MS, HOUR_MS } from "../../core/durations.ts";
import { EDGES_MS } from "../../core/latency-buckets.ts";
import type { UsageRow } from "../usage/usage-counters.ts";
import type { Registry } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { usageErrors, usageFlushes, usageHourly } from "./schema.ts";

/** Usage is kept this long. */
export const USAGE_KEPT_MS = 90 * DAY_MS;
/** Rows removed by one statement, and statements by one run of the cron. */
const REMOVED_AT_ONCE = 2_000;
const REMOVALS = 10;

/** What is added up, by member of a row. */
const { hour: _hour, clientId: _client, originId: _origin, tool: _tool, ...SUMS } = getTableColumns(usageHourly);
/** Columns of the histogram, in order. */
const BUCKETS = [...EDGES_MS.map((edge) => `ms_${edge}`), "ms_more"];

/** A flush is sent again within minutes, or never. */
const FLUSHES_KEPT_MS = DAY_MS;

/** What one isolate counted. */
export interface UsageFlush {
  /** Random. */
  readonly id: string;
  readonly rows: readonly UsageRow[];
}

/**
 * Adds what one isolate counted: all of it or, where writing fails, nothing. Again with the same id, as where nobody said that it was
 * written, nothing is added.
 *
 * @param now epoch milliseconds.
 */
export async function addUsage(registry: Registry, { id, rows }: UsageFlush, now: number): Promise<void> {
  const isNew = sql`NOT EXISTS (SELECT 1 FROM usage_flushes WHERE id = ${id})`;
  const sums = JSON.stringify(
    rows.map(({ hour, clientId, originId, tool, calls, gas, buckets }) => [
      ...[hour, clientId, originId, tool, calls, gas],
      ...buckets,
    ]),
  );
  const errors = JSON.stringify(
    rows.flatMap(({ hour, clientId, originId, tool, errors }) =>
      [...errors].map(([kind, count]) => [hour, clientId, originId, tool, kind, count]),
    ),
  );
  await registry.batch([
    registry
      .insert(usageHourly)
      .select(elements(sums, 6 + BUCKETS.length, isNew))
      .onConflictDoUpdate({
        target: [usageHourly.hour, usageHourly.clientId, usageHourly.originId, usageHourly.tool],
        set: Object.fromEntries(
          Object.entries(SUMS).map(([member, { name }]) => [member, sql.raw(`${name} + excluded.${name}`)]),
        ),
      }),
    registry
      .insert(usageErrors)
      .select(elements(errors, 6, isNew))
      .onConflictDoUpdate({
        target: [usageErrors.hour, usageErrors.clientId, usageErrors.originId, usageErrors.tool, usageErrors.kind],
        set: { errors: sql.raw("errors + excluded.errors") },
      }),
    // After what it guards, in one transaction.
    registry.insert(usageFlushes).values({ id, at: now }).onConflictDoNothing(),
  ]);
}

/** Rows of a JSON array of arrays, in the order of the table's columns. The condition also tells the parser that ON is no join. */
function elements(json: string, count: number, condition: SQL): SQL {
  const values = Array.from({ length: count }, (_, position) => `value ->> ${position}`);
  return sql`SELECT ${sql.raw(values.join(", "))} FROM json_each(${json}) WHERE ${condition}`;
}

export const USAGE_GROUPS = ["hour", "client", "origin", "tool"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery {
  /** Whole hours that contain these moments, epoch milliseconds; `to` itself is not in it. */
  readonly from: number;
  readonly to: number;
  readonly clientId?: string | undefined;
  readonly originId?: string | undefined;
  readonly tool?: string | undefined;
}

/** One group; what it is not grouped by is `null`. */
export interface UsageSum {
  /** Its begin, epoch milliseconds. */
  readonly hour: number | null;
  readonly clientId: string | null;
  readonly originId: string | null;
  readonly tool: string | null;
  readonly calls: number;
  readonly gas: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly buckets: readonly number[];
}

/** What is left out of a list of those with most calls. */
export interface UsageRest {
  /** How many groups. */
  readonly groups: number;
  readonly calls: number;
}

interface SumRow {
  readonly key: string | number;
  readonly hour: number | null;
  readonly client_id: string | null;
  readonly origin_id: string | null;
  readonly tool: string | null;
  readonly calls: number;
  readonly gas: number;
  readonly [bucket: string]: string | number | null;
}

interface ErrorRow {
  readonly key: string | number;
  readonly kind: string;
  readonly errors: number;
}

const ADDED_UP = sql.raw(["calls", "gas", ...BUCKETS].map((column) => `sum(${column}) AS ${column}`).join(", "));

/** What a group is of, as one text. */
const KEYS = { client: "client_id", origin: "origin_id", tool: "json_array(origin_id, tool)" } as const;

/** The hours that have calls, in their order. A page reads its own hours alone. @param page `after`: the hour before the page. */
export async function usageByHour(
  registry: Registry,
  query: UsageQuery,
  { limit, after }: PageRequest<number>,
): Promise<Page<UsageSum>> {
  const from = after === null ? query.from : Math.max(query.from, (after + 1) * HOUR_MS);
  const where = conditions({ ...query, from });
  const rows = await registry.all<SumRow>(sql`
    SELECT hour AS key, hour, NULL AS client_id, NULL AS origin_id, NULL AS tool, ${ADDED_UP}
    FROM usage_hourly WHERE ${where} GROUP BY hour ORDER BY hour LIMIT ${limit + 1}`);
  const page = toPage(rows, limit, ({ hour }) => hour ?? 0);
  const last = page.items.at(-1)?.hour;
  if (last == null) return { items: [], nextCursor: null };
  const shown = conditions({ ...query, from, to: Math.min(query.to, (last + 1) * HOUR_MS) });
  const errors = await registry.all<ErrorRow>(sql`
    SELECT hour AS key, kind, sum(errors) AS errors FROM usage_errors WHERE ${shown} GROUP BY 1, 2 ORDER BY 2`);
  return { items: withErrors(page.items, errors), nextCursor: page.nextCursor };
}

/** Those with most calls, and how much the others have together: one list, since a place in it moves with every call. */
export async function usageByCalls(
  registry: Registry,
  query: UsageQuery & { readonly by: keyof typeof KEYS },
  limit: number,
): Promise<{ readonly items: readonly UsageSum[]; readonly rest: UsageRest | null }> {
  const { by } = query;
  const where = conditions(query);
  const key = sql.raw(KEYS[by]);
  const shown = (column: "client_id" | "origin_id" | "tool", ...of: readonly UsageGroup[]) =>
    sql.raw(of.includes(by) ? column : `NULL AS ${column}`);
  const rows = await registry.all<SumRow & { groups: number; total: number }>(sql`
    WITH sums AS MATERIALIZED (
      SELECT ${key} AS key, NULL AS hour, ${shown("client_id", "client")}, ${shown("origin_id", "origin", "tool")},
        ${shown("tool", "tool")}, ${ADDED_UP}
      FROM usage_hourly WHERE ${where} GROUP BY 1)
    SELECT *, count(*) OVER () AS groups, sum(calls) OVER () AS total FROM sums ORDER BY calls DESC, key LIMIT ${limit}`);
  const keys = JSON.stringify(rows.map((row) => row.key));
  const errors = await registry.all<ErrorRow>(sql`
    SELECT ${key} AS key, kind, sum(errors) AS errors FROM usage_errors
    WHERE ${where} AND ${key} IN (SELECT value FROM json_each(${keys})) GROUP BY 1, 2 ORDER BY 2`);
  const { groups = 0, total = 0 } = rows[0] ?? {};
  const shownCalls = rows.reduce((sum, { calls }) => sum + calls, 0);
  return {
    items: withErrors(rows, errors),
    rest: groups > rows.length ? { groups: groups - rows.length, calls: total - shownCalls } : null,
  };
}

function withErrors(rows: readonly SumRow[], errors: readonly ErrorRow[]): readonly UsageSum[] {
  const byKey = Map.groupBy(errors, ({ key }) => key);
  return rows.map((row) => ({
    hour: row.hour === null ? null : row.hour * HOUR_MS,
    clientId: row.client_id,
    originId: row.origin_id,
    tool: row.tool,
    calls: row.calls,
    gas: row.gas,
    errors: Object.fromEntries((byKey.get(row.key) ?? []).map(({ kind, errors }) => [kind, errors])),
    buckets: BUCKETS.map((bucket) => Number(row[bucket])),
  }));
}

function conditions({ from, to, clientId, originId, tool }: UsageQuery): SQL {
  const parts = [sql`hour BETWEEN ${Math.floor(from / HOUR_MS)} AND ${Math.floor((to - 1) / HOUR_MS)}`];
  if (clientId !== undefined) parts.push(sql`client_id = ${clientId}`);
  if (originId !== undefined) parts.push(sql`origin_id = ${originId}`);
  if (tool !== undefined) parts.push(sql`tool = ${tool}`);
  return sql.join(parts, sql` AND `);
}

/** Removes what is older than 90 days, a bounded part of it at once. @returns rows removed. */
export async function removeOldUsage(registry: Registry, now: number): Promise<number> {
  await registry.delete(usageFlushes).where(lt(usageFlushes.at, now - FLUSHES_KEPT_MS));
  const oldest = Math.floor((now - USAGE_KEPT_MS) / HOUR_MS);
  let removed = 0;
  for (const [table, key] of [
    ["usage_hourly", "hour, client_id, origin_id, tool"],
    ["usage_errors", "hour, client_id, origin_id, tool, kind"],
  ]) {
    for (let round = 0; round < REMOVALS; round++) {
      const { meta } = await registry.run(
        sql.raw(
          `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE hour < ${oldest} LIMIT ${REMOVED_AT_ONCE})`,
        ),
      );
      removed += meta.changes;
      if (meta.changes < REMOVED_AT_ONCE) break;
    }
  }
  return removed;
}
