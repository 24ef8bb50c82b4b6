import { and, asc, eq, inArray } from "drizzle-orm";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, rowsOf, type Statement, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, holds, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { clientOrigins, clients, origins } from "./schema.ts";

type ClientRow = typeof clients.$inferSelect;
export type ClientStatus = ClientRow["status"];

/** `"all"`: every active origin, present and future; else ids of origins, sorted and without repeats. */
export type Grants = "all" | readonly string[];

export interface Client {
  readonly id: string;
  readonly name: string;
  readonly status: ClientStatus;
  /** Calls a minute; `0` blocks, `null` is unlimited. */
  readonly rpm: number | null;
  /** Calls a UTC day; `0` blocks, `null` is unlimited. */
  readonly dailyQuota: number | null;
  readonly grants: Grants;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type NewClient = Pick<Client, "name" | "rpm" | "dailyQuota" | "grants">;

/** What may be changed; an absent member stays as it is. `grants` replaces all grants. */
export type ClientChange = {
  readonly [Key in keyof NewClient | "status"]?: Client[Key] | undefined;
};

/** @throws RegistryError `unknown_origin` where a grant names none. */
export function createClient(registry: Registry, acting: Acting, wanted: NewClient): Promise<Client> {
  return mutate(registry, acting, async () => {
    const client: Client = {
      id: newId("cli"),
      name: wanted.name,
      status: "active",
      rpm: wanted.rpm,
      dailyQuota: wanted.dailyQuota,
      grants: sortedGrants(wanted.grants),
      createdAt: acting.now,
      updatedAt: acting.now,
    };
    await requireOrigins(registry, wanted.grants);
    const { name, rpm, dailyQuota, grants } = client;
    return {
      result: client,
      writes: [registry.insert(clients).values(toRow(client)), ...grantStatements(registry, client)],
      audit: { action: "client.create", subject: client.id, detail: { name, rpm, dailyQuota, grants } },
    };
  });
}

/**
 * Changes a client; where nothing differs, nothing is written.
 * @throws RegistryError `not_found`, `unknown_origin`.
 */
export function updateClient(registry: Registry, acting: Acting, id: string, change: ClientChange): Promise<Client> {
  return mutate(registry, acting, async () => {
    const before = await getClient(registry, id);
    const after: Client = {
      ...before,
      name: change.name ?? before.name,
      status: change.status ?? before.status,
      rpm: change.rpm === undefined ? before.rpm : change.rpm,
      dailyQuota: change.dailyQuota === undefined ? before.dailyQuota : change.dailyQuota,
      grants: change.grants === undefined ? before.grants : sortedGrants(change.grants),
      updatedAt: acting.now,
    };
    const detail = changes(before, after);
    if (Object.keys(detail).length === 0) return { result: before };
    const writes: Statement[] = [registry.update(clients).set(toRow(after)).where(eq(clients.id, id))];
    if (detail.grants !== undefined) {
      await requireOrigins(registry, change.grants ?? after.grants);
      writes.push(registry.delete(clientOrigins).where(eq(clientOrigins.clientId, id)));
      writes.push(...grantStatements(registry, after));
    }
    return { result: after, writes, audit: { action: "client.update", subject: id, detail } };
  });
}

/** From which status each step leads to which. */
const CLIENT_STEPS = {
  suspend: { from: "active", to: "suspended", action: "client.suspend" },
  resume: { from: "suspended", to: "active", action: "client.resume" },
} as const;

/**
 * Suspends a client, whose tokens are then refused, or lets it go on.
 *
 * @param reason for the audit log; `null`: none was given.
 * @throws RegistryError `not_found`, `bad_state` (it is not in the state that the step needs).
 */
export function stepClient(
  registry: Registry,
  acting: Acting,
  id: string,
  step: keyof typeof CLIENT_STEPS,
  reason: string | null,
): Promise<Client> {
  return mutate(registry, acting, async () => {
    const before = await getClient(registry, id);
    const { from, to, action } = CLIENT_STEPS[step];
    if (before.status !== from) {
      throw new RegistryError("bad_state", `The client is ${before.status}; ${step} needs it ${from}.`, id);
    }
    const after: Client = { ...before, status: to, updatedAt: acting.now };
    return {
      result: after,
      writes: [registry.update(clients).set(toRow(after)).where(eq(clients.id, id))],
      audit: { action, subject: id, detail: { reason } },
    };
  });
}

/** @throws RegistryError `not_found`. */
export async function getClient(registry: Registry, id: string): Promise<Client> {
  const [row] = await registry.select().from(clients).where(eq(clients.id, id));
  if (row === undefined) throw new RegistryError("not_found", "There is no client with this id.");
  const [client] = await withGrants(registry, [row]);
  return client as Client;
}

/** Oldest first. @param filter all of what is given must hold; `q`: part of the name. */
export async function listClients(
  registry: Registry,
  { status, q }: { readonly status?: ClientStatus | undefined; readonly q?: string | undefined },
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<Client>> {
  const rows = await registry
    .select()
    .from(clients)
    .where(
      and(
        status === undefined ? undefined : eq(clients.status, status),
        holds(clients.name, q),
        isAfter(clients.createdAt, clients.id, after),
      ),
    )
    .orderBy(asc(clients.createdAt), asc(clients.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, (row): CreatedKey => [row.createdAt, row.id]);
  return { items: await withGrants(registry, page.items), nextCursor: page.nextCursor };
}

async function withGrants(registry: Registry, rows: readonly ClientRow[]): Promise<readonly Client[]> {
  const limited = rows.filter((row) => !row.grantAll).map((row) => row.id);
  const granted = new Map<string, string[]>(limited.map((id) => [id, []]));
  if (limited.length > 0) {
    const grants = await registry
      .select()
      .from(clientOrigins)
      .where(inArray(clientOrigins.clientId, valuesOf(limited)))
      .orderBy(asc(clientOrigins.originId));
    for (const grant of grants) granted.get(grant.clientId)?.push(grant.originId);
  }
  return rows.map(({ grantAll, ...row }) => ({
    ...row,
    grants: grantAll ? "all" : (granted.get(row.id) ?? []),
  }));
}

/** @param fieldOf where in the request the id at this place stands. @throws RegistryError `unknown_origin`. */
export async function requireOrigins(
  registry: Registry,
  grants: Grants,
  fieldOf: (position: number) => string = (position) => `grants.${position}`,
): Promise<void> {
  if (grants === "all" || grants.length === 0) return;
  const known = await registry
    .select({ id: origins.id })
    .from(origins)
    .where(inArray(origins.id, valuesOf(grants)));
  const ids = new Set(known.map((row) => row.id));
  const position = grants.findIndex((id) => !ids.has(id));
  const missing = grants[position];
  if (missing === undefined) return;
  const field = fieldOf(position);
  throw new RegistryError("unknown_origin", `${field}: there is no origin with the id ${missing}.`, missing, field);
}

function grantStatements(registry: Registry, { id, grants }: Client): readonly Statement[] {
  if (grants === "all" || grants.length === 0) return [];
  const rows = grants.map((originId) => ({ clientId: id, originId }));
  return [registry.insert(clientOrigins).select(rowsOf(clientOrigins, rows))];
}

function sortedGrants(grants: Grants): Grants {
  return grants === "all" ? grants : [...new Set(grants)].sort();
}

function toRow({ grants, ...client }: Client): ClientRow {
  return { ...client, grantAll: grants === "all" };
}

/** The members that differ, with their new values: what the audit shows. */
function changes(before: Client, after: Client): JsonObject {
  const detail: Record<string, JsonObject[string]> = {};
  for (const key of ["name", "status", "rpm", "dailyQuota", "grants"] as const) {
    if (JSON.stringify(before[key]) !== JSON.stringify(after[key])) detail[key] = after[key];
  }
  return detail;
}
