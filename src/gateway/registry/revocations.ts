import { and, desc, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, type Page, type PageRequest, toPage } from "./page.ts";
import { revocations } from "./schema.ts";
import { nextTrustVersion } from "./trust-version.ts";

export type Revocation = typeof revocations.$inferSelect;

/**
 * Makes an attestation count for nothing, or a hash run nowhere, until the revocation is lifted.
 *
 * @param subject an attestation's id or a tool_sha256; it need not be known here.
 * @throws RegistryError `already_exists` with the id of the revocation in force.
 */
export function createRevocation(
  registry: Registry,
  acting: Acting,
  { kind, subject, reason }: Pick<Revocation, "kind" | "subject" | "reason">,
): Promise<Revocation> {
  return mutate(registry, acting, async () => {
    const inForce = await revocationOf(registry, kind, subject);
    if (inForce !== null) throw new RegistryError("already_exists", "It is revoked already.", inForce.id, "subject");
    const row: Revocation = {
      id: newId("rvk"),
      kind,
      subject,
      reason,
      revokedAt: acting.now,
      revokedBy: acting.actor,
      liftedAt: null,
      liftedBy: null,
      liftReason: null,
    };
    return {
      result: row,
      writes: [registry.insert(revocations).values(row), nextTrustVersion(registry)],
      audit: { action: "revocation.create", subject: row.id, detail: { kind, subject, reason } },
    };
  });
}

/** @throws RegistryError `not_found`, `bad_state` (lifted already). */
export function liftRevocation(registry: Registry, acting: Acting, id: string, reason: string): Promise<Revocation> {
  return mutate(registry, acting, async () => {
    const row = await getRevocation(registry, id);
    if (row.liftedAt !== null) throw new RegistryError("bad_state", "The revocation is lifted already.", id);
    const change = { liftedAt: acting.now, liftedBy: acting.actor, liftReason: reason };
    return {
      result: { ...row, ...change },
      writes: [registry.update(revocations).set(change).where(eq(revocations.id, id)), nextTrustVersion(registry)],
      audit: { action: "revocation.lift", subject: id, detail: { kind: row.kind, subject: row.subject, reason } },
    };
  });
}

/** @throws RegistryError `not_found`. */
export async function getRevocation(registry: Registry, id: string): Promise<Revocation> {
  const [row] = await registry.select().from(revocations).where(eq(revocations.id, id));
  if (row === undefined) throw new RegistryError("not_found", "There is no revocation with this id.");
  return row;
}

/** Newest first. @param inForce `undefined`: lifted ones too. */
export async function listRevocations(
  registry: Registry,
  inForce: boolean | undefined,
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<Revocation>> {
  const rows = await registry
    .select()
    .from(revocations)
    .where(
      and(
        inForce === undefined ? undefined : (inForce ? isNull : isNotNull)(revocations.liftedAt),
        after === null ? undefined : sql`(${revocations.revokedAt}, ${revocations.id}) < (${after[0]}, ${after[1]})`,
      ),
    )
    .orderBy(desc(revocations.revokedAt), desc(revocations.id))
    .limit(limit + 1);
  return toPage(rows, limit, (row): CreatedKey => [row.revokedAt, row.id]);
}

/** The revocation in force of an attestation or a hash, or `null`. */
export async function revocationOf(
  registry: Registry,
  kind: Revocation["kind"],
  subject: string,
): Promise<Revocation | null> {
  const [row] = await registry
    .select()
    .from(revocations)
    .where(and(eq(revocations.kind, kind), eq(revocations.subject, subject), isNull(revocations.liftedAt)));
  return row ?? null;
}

/** @throws RegistryError `hash_revoked` with the revocation in force of the hash of one of these versions. */
export async function requireNoRevokedHash(
  registry: Registry,
  versions: readonly { readonly toolSha256: string }[],
): Promise<void> {
  const [row] = await registry
    .select()
    .from(revocations)
    .where(
      and(
        eq(revocations.kind, "hash"),
        isNull(revocations.liftedAt),
        inArray(revocations.subject, valuesOf(versions.map(({ toolSha256 }) => toolSha256))),
      ),
    )
    .limit(1);
  if (row !== undefined) {
    throw new RegistryError("hash_revoked", `The hash ${row.subject} is revoked: ${row.reason}`, row.id);
  }
}
