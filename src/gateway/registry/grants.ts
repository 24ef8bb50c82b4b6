import { count, sql } from "drizzle-orm";
import type { ClientStatus } from "./clients.ts";
import type { Registry } from "./database.ts";
import { clientOrigins, clients } from "./schema.ts";

/** A client that may use an origin. */
export interface GrantedClient {
  readonly id: string;
  readonly name: string;
  readonly status: ClientStatus;
}

/** The clients that may use an origin, those of `first` before the others, both by name, and how many there are. */
export async function grantedClients(
  registry: Registry,
  originId: string,
  first: readonly string[],
  limit: number,
): Promise<{ readonly clients: readonly GrantedClient[]; readonly total: number }> {
  const isGranted = sql`(${clients.grantAll} OR ${clients.id} IN (
    SELECT ${clientOrigins.clientId} FROM ${clientOrigins} WHERE ${clientOrigins.originId} = ${originId}))`;
  const { id, name, status } = clients;
  const isLater = sql`${id} NOT IN (SELECT value FROM json_each(${JSON.stringify(first)}))`;
  const [rows, [counted]] = await registry.batch([
    registry.select({ id, name, status }).from(clients).where(isGranted).orderBy(isLater, name, id).limit(limit),
    registry.select({ total: count() }).from(clients).where(isGranted),
  ]);
  return { clients: rows, total: counted?.total ?? 0 };
}
