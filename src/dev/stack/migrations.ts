import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The part of a D1 database that migrating needs. */
export interface MigratableDatabase {
  prepare(query: string): MigrationStatement;
  batch(statements: MigrationStatement[]): Promise<unknown>;
}

interface MigrationStatement {
  bind(...values: unknown[]): MigrationStatement;
  run(): Promise<unknown>;
  all<T>(): Promise<{ results: T[] }>;
}

const TABLE = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

/**
 * Applies what is new of a folder of migrations, each in one transaction, with the bookkeeping of `wrangler d1 migrations apply`:
 * the two may be mixed on one database. Answers the names of those it applied.
 */
export async function applyMigrations(db: MigratableDatabase, folder: string): Promise<readonly string[]> {
  await db.prepare(TABLE.replaceAll("\n", " ")).run();
  const { results } = await db.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map((row) => row.name));
  const fresh = (await readdir(folder)).filter((file) => file.endsWith(".sql") && !applied.has(file)).sort();
  if (fresh.length === 0) return fresh;
  const { unstable_splitSqlQuery } = await import("wrangler");
  for (const name of fresh) {
    const statements = unstable_splitSqlQuery(await readFile(join(folder, name), "utf8"));
    await db.batch([
      ...statements.map((statement) => db.prepare(statement)),
      db.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name),
    ]);
  }
  return fresh;
}
