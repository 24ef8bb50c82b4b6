import { and, asc, eq, type SQL } from "drizzle-orm";
import type { JsonObject } from "../../core/json.ts";
import { mutate } from "./audit.ts";
import { requireAdminLeft } from "./bootstrap.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, holds, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { operators } from "./schema.ts";
import { endInspectionTokens } from "./tokens.ts";

export type Operator = typeof operators.$inferSelect;

/** What an operator may do; each role may do what the ones before it may. */
export const ROLES = ["viewer", "reviewer", "admin"] as const;
export type Role = (typeof ROLES)[number];

export type NewOperator = Pick<Operator, "name" | "role" | "accessEmail">;

/** What may be changed; an absent member stays as it is. */
export type OperatorChange = { readonly [Key in keyof NewOperator | "status"]?: Operator[Key] | undefined };

/**
 * @param wanted `accessEmail` in lower case.
 * @throws RegistryError `already_exists` where another operator has the e-mail address.
 */
export function createOperator(registry: Registry, acting: Acting, wanted: NewOperator): Promise<Operator> {
  return mutate(registry, acting, async () => {
    const { name, role, accessEmail } = wanted;
    await requireFreeEmail(registry, accessEmail, null);
    const row: Operator = {
      id: newId("opr"),
      name,
      role,
      status: "active",
      accessEmail,
      createdAt: acting.now,
      updatedAt: acting.now,
    };
    return {
      result: row,
      writes: [registry.insert(operators).values(row)],
      audit: { action: "operator.create", subject: row.id, detail: { name, role, accessEmail } },
    };
  });
}

/**
 * Changes an operator, in force at the next request of theirs; with another role or standing the inspection tokens end that they made. Where nothing differs, nothing is written.
 *
 * @param accessInUse whether operators may sign in through Cloudflare Access.
 * @throws RegistryError `not_found`, `already_exists`, `last_admin`.
 */
export function updateOperator(
  registry: Registry,
  acting: Acting,
  id: string,
  change: OperatorChange,
  accessInUse: boolean,
): Promise<Operator> {
  return mutate(registry, acting, async () => {
    const before = await getOperator(registry, id);
    const after: Operator = {
      ...before,
      name: change.name ?? before.name,
      role: change.role ?? before.role,
      status: change.status ?? before.status,
      accessEmail: change.accessEmail === undefined ? before.accessEmail : change.accessEmail,
      updatedAt: acting.now,
    };
    const detail: Record<string, JsonObject[string]> = {};
    for (const key of ["name", "role", "status", "accessEmail"] as const) {
      if (before[key] !== after[key]) detail[key] = after[key];
    }
    if (Object.keys(detail).length === 0) return { result: before };
    if (after.accessEmail !== before.accessEmail) await requireFreeEmail(registry, after.accessEmail, id);
    if (after.role !== "admin" || after.status !== "active") {
      await requireAdminLeft(registry, acting.now, accessInUse, { operator: id });
    } else if (after.accessEmail === null) {
      await requireAdminLeft(registry, acting.now, accessInUse, { emailOf: id });
    }
    return {
      result: after,
      writes: [
        registry.update(operators).set(after).where(eq(operators.id, id)),
        ...(after.status !== before.status || after.role !== before.role
          ? [endInspectionTokens(registry, id, acting.now)]
          : []),
      ],
      audit: { action: "operator.update", subject: id, detail },
    };
  });
}

async function requireFreeEmail(registry: Registry, email: string | null, except: string | null): Promise<void> {
  if (email === null) return;
  const [holder] = await registry.select().from(operators).where(eq(operators.accessEmail, email));
  if (holder === undefined || holder.id === except) return;
  throw new RegistryError("already_exists", "Another operator has this accessEmail.", holder.id, "accessEmail");
}

/** @throws RegistryError `not_found`. */
export async function getOperator(registry: Registry, id: string): Promise<Operator> {
  const [row] = await registry.select().from(operators).where(eq(operators.id, id));
  if (row === undefined) throw new RegistryError("not_found", "There is no operator with this id.");
  return row;
}

/** Oldest first. @param filter all of what is given must hold; `q`: part of the name. */
export async function listOperators(
  registry: Registry,
  filter: { readonly [Key in "status" | "role"]?: Operator[Key] | undefined } & { readonly q?: string | undefined },
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<Operator>> {
  const conditions: (SQL | undefined)[] = [
    filter.status === undefined ? undefined : eq(operators.status, filter.status),
    filter.role === undefined ? undefined : eq(operators.role, filter.role),
    holds(operators.name, filter.q),
    isAfter(operators.createdAt, operators.id, after),
  ];
  const rows = await registry
    .select()
    .from(operators)
    .where(and(...conditions))
    .orderBy(asc(operators.createdAt), asc(operators.id))
    .limit(limit + 1);
  return toPage(rows, limit, (row): CreatedKey => [row.createdAt, row.id]);
}
