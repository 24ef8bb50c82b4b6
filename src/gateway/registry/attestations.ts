import { and, asc, count, eq, inArray, lt, type SQL, sql } from "drizzle-orm";
import { type Attestation, attestationEntry } from "../../core/attestation/attestation.ts";
import { type CalendarDate, calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { identified } from "../../core/attestation/read.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, valuesOf } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { NEXT_POLICY_VERSION } from "./origins.ts";
import { type CreatedKey, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { attestations, origins, revocations } from "./schema.ts";

/**
 * Attestations stored for one origin: each is judged whenever the origin's release or policy changes. Past it, those that expired or are
 * revoked make room for new ones.
 */
export const MAX_STORED_PER_ORIGIN = 1_000;

/** Characters of JSON that they have together. */
export const MAX_STORED_LENGTH = 4 * 1_048_576;

export interface StoredAttestation {
  readonly attestation: Attestation;
  /** Epoch milliseconds. */
  readonly storedAt: number;
  readonly storedBy: string;
  /** The revocation in force of it, or `null`. */
  readonly revocationId: string | null;
}

/**
 * Stores attestations, all in one batch; what is stored already stays as it is, with the moment at which it was stored first.
 *
 * @param accepted judged by the caller, each id once.
 * @param storedBy where they come from, if it is not the actor who brings them.
 * @returns the ids of those that were not stored before.
 * @throws RegistryError `too_many_attestations` (an origin would have more than 1,000, or more than 4 MiB, that are neither
 * expired nor revoked); then none is stored.
 */
export function storeAttestations(
  registry: Registry,
  acting: Acting,
  accepted: readonly Attestation[],
  storedBy = acting.actor,
): Promise<ReadonlySet<Sha256Hex>> {
  return mutate(registry, acting, async () => {
    const ids = accepted.map(({ id }) => id);
    const present = await registry
      .select({ id: attestations.id })
      .from(attestations)
      .where(inArray(attestations.id, valuesOf(ids)));
    const known = new Set(present.map(({ id }) => id));
    const fresh = accepted.filter(({ id }) => !known.has(id));
    const result = new Set(fresh.map(({ id }) => id));
    if (fresh.length === 0) return { result };
    const today = calendarDateOf(acting.now);
    const { full, dead } = await requireRoom(registry, fresh, today);
    const rows = fresh.map((attestation) => [
      attestation.id,
      attestation.origin,
      attestation.skill,
      attestation.toolSha256,
      attestation.attester,
      attestation.signedOn,
      attestation.validUntil,
      JSON.stringify(attestationEntry(attestation)),
    ]);
    const of = [...new Set(fresh.map(({ origin }) => origin))];
    return {
      result,
      writes: [
        registry
          .delete(attestations)
          .where(and(inArray(attestations.origin, valuesOf(full)), sql`NOT ${isInForce(today)}`)),
        // One parameter for all of them: a request has at most 256 KiB.
        registry.insert(attestations).select(
          sql`SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
            ${acting.now}, ${storedBy} FROM json_each(${JSON.stringify(rows)})`,
        ),
        registry
          .update(origins)
          .set({ policyVersion: NEXT_POLICY_VERSION })
          .where(inArray(origins.origin, valuesOf(of))),
      ],
      audit: {
        action: "attestation.create",
        subject: of.length === 1 ? (of[0] ?? "") : `${of.length} origins`,
        detail: { attestations: fresh.map(summaryOf), storedBy, ...(dead === 0 ? {} : { madeRoom: dead }) },
      },
    };
  });
}

function summaryOf({ id, origin, skill, toolSha256, attester, validUntil }: Attestation): JsonObject {
  return { id, origin, skill, toolSha256, attester, validUntil };
}

/** @returns the origins whose dead attestations must make room, and how many these are. */
async function requireRoom(
  registry: Registry,
  fresh: readonly Attestation[],
  today: CalendarDate,
): Promise<{ readonly full: readonly CanonicalOrigin[]; readonly dead: number }> {
  const full: CanonicalOrigin[] = [];
  let dead = 0;
  for (const [origin, added] of Map.groupBy(fresh, (attestation) => attestation.origin)) {
    const length = added.reduce((sum, one) => sum + JSON.stringify(attestationEntry(one)).length, 0);
    const fits = (stored: { readonly rows: number; readonly length: number } | undefined) =>
      (stored?.rows ?? 0) + added.length <= MAX_STORED_PER_ORIGIN &&
      (stored?.length ?? 0) + length <= MAX_STORED_LENGTH;
    const sizeOf = (which: SQL) =>
      registry
        .select({ rows: count(), length: sql<number>`coalesce(sum(length(${attestations.entry})), 0)` })
        .from(attestations)
        .where(and(eq(attestations.origin, origin), which));
    const [[all], [inForce]] = await registry.batch([sizeOf(sql`true`), sizeOf(isInForce(today))]);
    if (fits(all)) continue;
    if (fits(inForce)) {
      full.push(origin);
      dead += (all?.rows ?? 0) - (inForce?.rows ?? 0);
    } else {
      throw new RegistryError(
        "too_many_attestations",
        `At most ${MAX_STORED_PER_ORIGIN} attestations of one origin that count are stored, of ${MAX_STORED_LENGTH} characters in all; ${origin} would have more.`,
      );
    }
  }
  return { full, dead };
}

/** SQL: whether a row of {@link attestations} is neither expired nor revoked. */
function isInForce(today: CalendarDate) {
  return sql`(${attestations.validUntil} >= ${today} AND NOT EXISTS (SELECT 1 FROM ${revocations}
    WHERE ${revocations.kind} = 'attestation' AND ${revocations.subject} = ${attestations.id} AND ${revocations.liftedAt} IS NULL))`;
}

/** All that is stored for one origin, revoked ones included, stored earliest first: at most 1,000, of 4 MiB. */
export async function attestationsOf(
  registry: Registry,
  origin: CanonicalOrigin,
): Promise<readonly StoredAttestation[]> {
  const rows = await selectStored(registry)
    .where(eq(attestations.origin, origin))
    .orderBy(asc(attestations.storedAt), asc(attestations.id));
  return Promise.all(rows.map(toStored));
}

/** All of what is given must hold. */
export interface AttestationFilter {
  readonly origin?: CanonicalOrigin | undefined;
  readonly toolSha256?: string | undefined;
  readonly attester?: string | undefined;
  /** The last day of those wanted is an earlier one. */
  readonly expiresBefore?: string | undefined;
}

/** Position in a list ordered by the last day, then id. */
export type ExpiryKey = readonly [validUntil: string, id: string];

/** Stored earliest first. */
export function listAttestations(
  registry: Registry,
  filter: AttestationFilter,
  request: PageRequest<CreatedKey>,
): Promise<Page<StoredAttestation>> {
  return listBy(registry, filter, request, attestations.storedAt, (row): CreatedKey => [row.storedAt, row.id]);
}

/** The ones that expire first. */
export function listAttestationsByExpiry(
  registry: Registry,
  filter: AttestationFilter,
  request: PageRequest<ExpiryKey>,
): Promise<Page<StoredAttestation>> {
  return listBy(registry, filter, request, attestations.validUntil, (row): ExpiryKey => [row.validUntil, row.id]);
}

async function listBy<Key extends readonly [number | string, string]>(
  registry: Registry,
  { origin, toolSha256, attester, expiresBefore }: AttestationFilter,
  { limit, after }: PageRequest<Key>,
  column: typeof attestations.storedAt | typeof attestations.validUntil,
  keyOf: (row: typeof attestations.$inferSelect) => Key,
): Promise<Page<StoredAttestation>> {
  const rows = await selectStored(registry)
    .where(
      and(
        origin === undefined ? undefined : eq(attestations.origin, origin),
        toolSha256 === undefined ? undefined : eq(attestations.toolSha256, toolSha256),
        attester === undefined ? undefined : eq(attestations.attester, attester),
        expiresBefore === undefined ? undefined : lt(attestations.validUntil, expiresBefore),
        isAfter(column, attestations.id, after),
      ),
    )
    .orderBy(asc(column), asc(attestations.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, ({ row }) => keyOf(row));
  return { items: await Promise.all(page.items.map(toStored)), nextCursor: page.nextCursor };
}

/** @throws RegistryError `not_found`. */
export async function getAttestation(registry: Registry, id: string): Promise<StoredAttestation> {
  const [row] = await selectStored(registry).where(eq(attestations.id, id));
  if (row === undefined) throw new RegistryError("not_found", "No attestation with this id is stored.");
  return toStored(row);
}

function selectStored(registry: Registry) {
  return registry
    .select({ row: attestations, revocationId: revocations.id })
    .from(attestations)
    .leftJoin(
      revocations,
      sql`${revocations.kind} = 'attestation' AND ${revocations.subject} = ${attestations.id} AND ${revocations.liftedAt} IS NULL`,
    )
    .$dynamic();
}

async function toStored({
  row,
  revocationId,
}: {
  readonly row: typeof attestations.$inferSelect;
  readonly revocationId: string | null;
}): Promise<StoredAttestation> {
  const entry = JSON.parse(row.entry) as JsonObject;
  const attestation = await identified({
    origin: row.origin as CanonicalOrigin,
    skill: row.skill,
    toolSha256: row.toolSha256 as Sha256Hex,
    attester: row.attester,
    signedOn: row.signedOn as CalendarDate,
    validUntil: row.validUntil as CalendarDate,
    note: typeof entry.note === "string" ? entry.note : null,
    proof:
      typeof entry.signature === "string"
        ? { kind: "ed25519", signature: entry.signature }
        : { kind: "sigstore", bundle: entry.sigstore_bundle as JsonObject },
  });
  return { attestation, storedAt: row.storedAt, storedBy: row.storedBy, revocationId };
}
