import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Calls of one hour. Each latency column counts the calls that took at most so many milliseconds and more than the one before. */
export const usageHourly = sqliteTable(
  "usage_hourly",
  {
    /** Hours since the epoch, UTC. */
    hour: integer("hour").notNull(),
    clientId: text("client_id").notNull(),
    originId: text("origin_id").notNull(),
    /** Public name; `(other)`: those past the bound of distinct tools an origin an hour. */
    tool: text("tool").notNull(),
    calls: integer("calls").notNull(),
    gas: integer("gas").notNull(),
    ms1: integer("ms_1").notNull(),
    ms2: integer("ms_2").notNull(),
    ms5: integer("ms_5").notNull(),
    ms10: integer("ms_10").notNull(),
    ms20: integer("ms_20").notNull(),
    ms50: integer("ms_50").notNull(),
    ms100: integer("ms_100").notNull(),
    ms200: integer("ms_200").notNull(),
    ms500: integer("ms_500").notNull(),
    ms1000: integer("ms_1000").notNull(),
    ms2000: integer("ms_2000").notNull(),
    ms5000: integer("ms_5000").notNull(),
    ms10000: integer("ms_10000").notNull(),
    ms30000: integer("ms_30000").notNull(),
    msMore: integer("ms_more").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.clientId, table.originId, table.tool] }),
    index("usage_hourly_client").on(table.clientId, table.hour),
    index("usage_hourly_origin").on(table.originId, table.hour),
  ],
);

/** Of the calls in `usage_hourly`, those that failed, by kind. */
export const usageErrors = sqliteTable(
  "usage_errors",
  {
    hour: integer("hour").notNull(),
    clientId: text("client_id").notNull(),
    originId: text("origin_id").notNull(),
    tool: text("tool").notNull(),
    kind: text("kind").notNull(),
    errors: integer("errors").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.clientId, table.originId, table.tool, table.kind] }),
    index("usage_errors_client").on(table.clientId, table.hour),
    index("usage_errors_origin").on(table.originId, table.hour),
  ],
);

/** What isolates wrote down of their usage lately: what is sent again, because nobody said that it arrived, is counted once. */
export const usageFlushes = sqliteTable(
  "usage_flushes",
  {
    id: text("id").primaryKey(),
    at: integer("at").notNull(),
  },
  (table) => [index("usage_flushes_at").on(table.at)],
);
