import { DurableObject } from "cloudflare:workers";
import type { Env } from "../env.ts";
import type { Increments } from "../metrics/counters.ts";

/** Series come from closed sets; more can only be a fault of ours, which must not grow without end. */
const MAX_SERIES = 2_000;

/** One object for the deployment: the sums of what all isolates have counted, one row a series. */
export class MetricsStore extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS totals (series TEXT PRIMARY KEY, total REAL NOT NULL)");
  }

  /** Adds what one isolate counted since its last time: all of it or, where writing fails, nothing. */
  add(increments: Increments): void {
    this.ctx.storage.transactionSync(() => {
      let room = MAX_SERIES - (this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM totals").one().n ?? 0);
      for (const [series, increment] of increments) {
        const written = this.#sql.exec("UPDATE totals SET total = total + ? WHERE series = ?", increment, series);
        if (written.rowsWritten > 0 || room <= 0) continue;
        this.#sql.exec("INSERT INTO totals (series, total) VALUES (?, ?)", series, increment);
        room -= 1;
      }
    });
  }

  totals(): Increments {
    const rows = this.#sql.exec<{ series: string; total: number }>("SELECT series, total FROM totals").toArray();
    return rows.map(({ series, total }) => [series, total]);
  }
}
