/** A statement on its way to the database. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

interface Database {
  prepare(sql: string): { bind(...params: readonly unknown[]): unknown };
  batch(statements: readonly unknown[]): Promise<unknown>;
}

/** Lets the benchmark migrate the gateway's database: `POST` a list of {@link Statement}, run in one transaction. Never measured. */
export default {
  async fetch(request: Request, env: { readonly DB: Database }): Promise<Response> {
    const statements = (await request.json()) as Statement[];
    return Response.json(await env.DB.batch(statements.map(({ sql, params }) => env.DB.prepare(sql).bind(...params))));
  },
};
