import { getTableColumns, lt, type SQL, sql } from "drizzle-orm";
import { EDGES_MS } from "../../core/latency-buckets.ts";
import { HOUR_MS, type UsageRow } from "../usage/usage-counters.ts";
import type { Registry } from "./database.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { usageErrors, usageFlushes, usageHourly } from "./schema.ts";

/** Usage is kept this long. */
export const USAGE_KEPT_MS = 90 * 86_400_000;
/** Rows removed by one statement, and statements by one run of the cron. */
const REMOVED_AT_ONCE = 2_000;
const REMOVALS = 10;

/** What is added up, by member of a row. */
const { hour: _hour, clientId: _client, originId: _origin, tool: _tool, ...SUMS } = getTableColumns(usageHourly);
/** Columns of the histogram, in order. */
const BUCKETS = [...EDGES_MS.map((edge) => `ms_${edge}`), "ms_more"];

/** A flush is sent again within minutes, or never. */
const FLUSHES_KEPT_MS = 86_400_000;

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
  readonly by: UsageGroup;
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

/** Position in a list of sums: of hours the hour; of others their calls and what they are of. */
export type UsageCursor = readonly [order: number, key: string];

interface SumRow {
  readonly key: string;
  readonly hour: number | null;
  readonly client_id: string | null;
  readonly origin_id: string | null;
  readonly tool: string | null;
  readonly calls: number;
  readonly gas: number;
  readonly [bucket: string]: string | number | null;
}

/** What a group is of, as one text. */
const KEYS: Readonly<Record<UsageGroup, string>> = {
  hour: "CAST(hour AS TEXT)",
  client: "client_id",
  origin: "origin_id",
  tool: "json_array(origin_id, tool)",
};

/** Hours in their order, all else by its calls, most first. */
export async function sumUsage(
  registry: Registry,
  query: UsageQuery,
  { limit, after }: PageRequest<UsageCursor>,
): Promise<Page<UsageSum>> {
  const { by } = query;
  const where = conditions(query);
  const key = sql.raw(KEYS[by]);
  const order = by === "hour" ? sql`hour` : sql`-sum(calls)`;
  const shown = (group: UsageGroup | "none", column: string) =>
    sql.raw(by === group || (by === "tool" && column === "origin_id") ? column : "NULL");
  const rows = await registry.all<SumRow>(sql`
    SELECT ${key} AS key, ${order} AS position, ${shown("hour", "hour")} AS hour, ${shown("client", "client_id")} AS client_id,
      ${shown("origin", "origin_id")} AS origin_id, ${shown("tool", "tool")} AS tool, sum(calls) AS calls, sum(gas) AS gas,
      ${sql.raw(BUCKETS.map((bucket) => `sum(${bucket}) AS ${bucket}`).join(", "))}
    FROM usage_hourly WHERE ${where} GROUP BY 1
    HAVING ${after === null ? sql`true` : sql`(position, key) > (${after[0]}, ${after[1]})`}
    ORDER BY position, key LIMIT ${limit + 1}`);
  const page = toPage(rows, limit, (row): UsageCursor => [by === "hour" ? (row.hour ?? 0) : -row.calls, row.key]);
  const keys = JSON.stringify(page.items.map((row) => row.key));
  const errors = await registry.all<{ key: string; kind: string; errors: number }>(sql`
    SELECT ${key} AS key, kind, sum(errors) AS errors FROM usage_errors
    WHERE ${where} AND ${key} IN (SELECT value FROM json_each(${keys})) GROUP BY 1, 2 ORDER BY kind`);
  const byKey = Map.groupBy(errors, (row) => row.key);
  return {
    nextCursor: page.nextCursor,
    items: page.items.map((row) => ({
      hour: row.hour === null ? null : row.hour * HOUR_MS,
      clientId: row.client_id,
      originId: row.origin_id,
      tool: row.tool,
      calls: row.calls,
      gas: row.gas,
      errors: Object.fromEntries((byKey.get(row.key) ?? []).map(({ kind, errors }) => [kind, errors])),
      buckets: BUCKETS.map((bucket) => Number(row[bucket])),
    })),
  };
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
