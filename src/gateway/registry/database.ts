import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** The operator's decisions in D1. Every function of this folder takes it first. */
export type Registry = DrizzleD1Database;

/** A statement that may stand in one atomic batch. */
export type Statement = BatchItem<"sqlite">;

/** Opens the registry on a D1 binding. Cheap; does not touch the database. */
export function openRegistry(binding: D1Database): Registry {
  return drizzle(binding);
}

/** A row of the audit chain. */
interface RowName {
  readonly seq: number;
  readonly hash: string;
}

/** One that was just written. */
export interface WrittenRow extends RowName {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

/** Who asks, when, and in which request: goes into the audit row of a mutation. */
export interface Acting {
  /** `admin-token`, or an operator's id. */
  readonly actor: string;
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Tells the witness of the audit chain of a row that was written, and of the one before it; never rejects. */
  readonly noteRow?: (row: WrittenRow, before: RowName | null) => Promise<void>;
  /** What must hold of the state that the mutation starts from: it throws where that does not. Runs once an attempt. */
  readonly require?: () => Promise<void>;
  /** What else is written in the same batch, given the mutation's result. */
  readonly alongside?: (result: unknown) => readonly Statement[];
}

/** Any number of values in one parameter, for `IN`: D1 allows 100 a statement. */
export function valuesOf(values: readonly string[]) {
  return sql`(SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

/**
 * SQL: rows for `insert(table).select(…)`, any number of them in one parameter of at most 2 MB. Every column is a member of each row: that
 * one was added to the table is found by the compiler. The condition tells the parser that an ON after it is no join; more may follow.
 */
export function rowsOf<T extends SQLiteTable>(table: T, rows: readonly T["$inferSelect"][]): SQL {
  const values = Object.keys(getTableColumns(table)).map((member) => `value ->> '${member}'`);
  return sql`SELECT ${sql.raw(values.join(", "))} FROM json_each(${JSON.stringify(rows)}) WHERE true`;
}
