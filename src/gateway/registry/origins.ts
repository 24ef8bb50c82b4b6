import { and, asc, count, desc, eq, inArray, sql } from "drizzle-orm";
import type { Json } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { type AuditAction, mutate } from "./audit.ts";
import { type Acting, type Registry, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, holds, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { clientOrigins, origins } from "./schema.ts";

export type OriginRow = typeof origins.$inferSelect;
export type OriginStatus = OriginRow["status"];

/**
 * From which states each step leads to the next. `revoked` is final: a revoked origin can never be activated, probed or
 * registered again.
 */
export const ORIGIN_STEPS = {
  activate: { from: ["pending", "suspended"], to: "active", action: "origin.activate" },
  suspend: { from: ["active"], to: "suspended", action: "origin.suspend" },
  revoke: { from: ["pending", "active", "suspended"], to: "revoked", action: "origin.revoke" },
} as const satisfies Record<string, { from: readonly OriginStatus[]; to: OriginStatus; action: AuditAction }>;

/**
 * Registers an origin as `pending`.
 * @param serviceBinding the binding through which it will be asked, noted in the audit log; `null`: over the network.
 * @throws RegistryError `already_exists` with the id of the row that has this origin, whatever its status.
 */
export function createOrigin(
  registry: Registry,
  acting: Acting,
  origin: CanonicalOrigin,
  serviceBinding: string | null = null,
): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const [taken] = await registry.select().from(origins).where(eq(origins.origin, origin));
    if (taken !== undefined) {
      throw new RegistryError(
        "already_exists",
        `The origin is registered already and is ${taken.status}.`,
        taken.id,
        "origin",
      );
    }
    const row = newOriginRow(origin, acting.now);
    return {
      result: row,
      writes: [registry.insert(origins).values(row)],
      audit: {
        action: "origin.create",
        subject: row.id,
        detail: serviceBinding === null ? { origin } : { origin, serviceBinding },
      },
    };
  });
}

/** An origin as it begins. */
export function newOriginRow(origin: CanonicalOrigin, now: number): OriginRow {
  return {
    id: newId("org"),
    origin,
    status: "pending",
    createdAt: now,
    updatedAt: now,
    probedAt: null,
    lastCalledAt: null,
    attestationMode: null,
    pin: "hold",
    forwardTrace: false,
    agentSkills: false,
    agentSkillsPointer: null,
    policyVersion: 1,
  };
}

/** @throws RegistryError `not_found`. */
export async function getOrigin(registry: Registry, id: string): Promise<OriginRow> {
  const [row] = await registry.select().from(origins).where(eq(origins.id, id));
  if (row === undefined) throw new RegistryError("not_found", "There is no origin with this id.");
  return row;
}

/** All of what is given must hold. */
export interface OriginFilter {
  readonly status?: OriginStatus | undefined;
  /** Part of the address. */
  readonly q?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Granted to this client by their ids. */
  readonly grantedTo?: string | undefined;
}

/** Oldest first. */
export async function listOrigins(
  registry: Registry,
  { status, q, ids, grantedTo }: OriginFilter,
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<OriginRow>> {
  // A few hundred that are named are found by their ids, and sorted; the plus keeps the whole list from being read for them.
  const place = ids === undefined && grantedTo === undefined ? origins.createdAt : sql`+${origins.createdAt}`;
  const ofStatus = place === origins.createdAt ? sql`${origins.status}` : sql`+${origins.status}`;
  const granted = sql`(SELECT ${clientOrigins.originId} FROM ${clientOrigins} WHERE ${clientOrigins.clientId} = ${grantedTo})`;
  const rows = await registry
    .select()
    .from(origins)
    .where(
      and(
        status === undefined ? undefined : eq(ofStatus, status),
        ids === undefined ? undefined : inArray(origins.id, valuesOf(ids)),
        grantedTo === undefined ? undefined : inArray(origins.id, granted),
        holds(origins.origin, q),
        isAfter(place, origins.id, after),
      ),
    )
    .orderBy(asc(place), asc(origins.id))
    .limit(limit + 1);
  return toPage(rows, limit, (row): CreatedKey => [row.createdAt, row.id]);
}

/** How many origins there are, by status. */
export async function countOrigins(registry: Registry): Promise<Record<OriginStatus, number>> {
  const rows = await registry.select({ status: origins.status, n: count() }).from(origins).groupBy(origins.status);
  return {
    pending: 0,
    active: 0,
    suspended: 0,
    revoked: 0,
    ...Object.fromEntries(rows.map(({ status, n }) => [status, n])),
  };
}

/** Active origins, those called last first. */
export async function latestCalled(
  registry: Registry,
  limit: number,
): Promise<readonly Pick<OriginRow, "id" | "origin">[]> {
  return registry
    .select({ id: origins.id, origin: origins.origin })
    .from(origins)
    .where(eq(origins.status, "active"))
    .orderBy(desc(origins.lastCalledAt), asc(origins.id))
    .limit(limit);
}

/** @throws RegistryError `bad_state` where this step does not start from the row's status. */
export function requireStep(row: OriginRow, step: keyof typeof ORIGIN_STEPS): void {
  const from: readonly OriginStatus[] = ORIGIN_STEPS[step].from;
  if (from.includes(row.status)) return;
  const wanted = from.join(" or ");
  throw new RegistryError("bad_state", `The origin is ${row.status}; ${step} needs it ${wanted}.`, row.id);
}

/**
 * @param reason for the audit log; `null`: none was given.
 * @throws RegistryError `not_found`, `bad_state` (the origin is not active).
 */
export function suspendOrigin(
  registry: Registry,
  acting: Acting,
  id: string,
  reason: string | null,
): Promise<OriginRow> {
  return step(registry, acting, id, "suspend", reason);
}

/** For ever. @throws RegistryError `not_found`, `bad_state` (the origin is revoked already). */
export function revokeOrigin(registry: Registry, acting: Acting, id: string, reason: string): Promise<OriginRow> {
  return step(registry, acting, id, "revoke", reason);
}

function step(
  registry: Registry,
  acting: Acting,
  id: string,
  name: "suspend" | "revoke",
  reason: string | null,
): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const row = await getOrigin(registry, id);
    requireStep(row, name);
    const next: OriginRow = { ...row, status: ORIGIN_STEPS[name].to, updatedAt: acting.now };
    return {
      result: next,
      writes: [setStatus(registry, next)],
      audit: {
        action: ORIGIN_STEPS[name].action,
        subject: id,
        detail: { origin: row.origin, from: row.status, reason },
      },
    };
  });
}

/** What an operator may change of an origin; an absent member stays as it is. */
export type OriginChange = {
  readonly [Key in "attestationMode" | "pin" | "forwardTrace" | "agentSkills" | "agentSkillsPointer"]?:
    | OriginRow[Key]
    | undefined;
};

/**
 * Changes how an origin is served; where nothing differs, nothing is written.
 * @throws RegistryError `not_found`, `bad_state` (the origin is revoked).
 */
export function updateOrigin(
  registry: Registry,
  acting: Acting,
  id: string,
  { attestationMode, pin, forwardTrace, agentSkills, agentSkillsPointer }: OriginChange,
): Promise<OriginRow> {
  return mutate(registry, acting, async () => {
    const row = await getOrigin(registry, id);
    if (row.status === "revoked") {
      throw new RegistryError(
        "bad_state",
        "The origin is revoked, which is final; nothing of it changes any more.",
        id,
      );
    }
    const after = {
      attestationMode: attestationMode === undefined ? row.attestationMode : attestationMode,
      pin: pin ?? row.pin,
      forwardTrace: forwardTrace ?? row.forwardTrace,
      agentSkills: agentSkills ?? row.agentSkills,
      agentSkillsPointer: agentSkillsPointer === undefined ? row.agentSkillsPointer : agentSkillsPointer,
    };
    const detail = changed(row, after);
    if (Object.keys(detail).length === 0) return { result: row };
    const updatedAt = acting.now;
    return {
      result: { ...row, ...after, updatedAt },
      writes: [
        registry
          .update(origins)
          .set({ ...after, updatedAt, policyVersion: NEXT_POLICY_VERSION })
          .where(eq(origins.id, id)),
      ],
      audit: { action: "origin.update", subject: id, detail: { origin: row.origin, ...detail } },
    };
  });
}

/** The members that differ, with their new values: what the audit shows. */
function changed<Member extends Json>(
  before: { readonly [key: string]: unknown },
  after: { readonly [key: string]: Member },
) {
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value));
}

/** Statement: writes the row's status, which changes what is served. */
export function setStatus(registry: Registry, { id, status, updatedAt }: OriginRow) {
  return registry
    .update(origins)
    .set({ status, updatedAt, policyVersion: NEXT_POLICY_VERSION })
    .where(eq(origins.id, id));
}

/** Set in the batch of every mutation that changes what is served of an origin: readers then read its details again. */
export const NEXT_POLICY_VERSION = sql`${origins.policyVersion} + 1`;
