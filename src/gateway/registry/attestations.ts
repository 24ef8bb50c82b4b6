import { and, asc, count, eq, inArray, type SQL, sql } from "drizzle-orm";
import { type Attestation, attestationEntry } from "../../core/attestation/attestation.ts";
import { type CalendarDate, calendarDateOf } from "../../core/attestation/calendar-date.ts";
import { identified } from "../../core/attestation/read.ts";
import type { Sha256Hex } from "../../core/integrity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { mutate } from "./audit.ts";
import { type Acting, type Registry, rowsOf, valuesOf } from "./database.ts";
import { RegistryError, type RegistryErrorCode } from "./errors.ts";
import { NEXT_POLICY_VERSION } from "./origins.ts";
import { attestations, origins, revocations, skills } from "./schema.ts";

/** Who is said to have stored what was taken from a publisher's own file. */
export const FROM_PUBLISHER = "publisher";

/**
 * Attestations stored for one origin: each is judged whenever the origin's release or policy changes. Past it, those that expired or are
 * revoked make room for new ones, and then those {@link FROM_PUBLISHER}.
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
 * @param accepted judged by the caller, each id once. {@link FROM_PUBLISHER} of each version and attester only what holds longest is stored.
 * @returns the ids of those that were not stored before.
 * @throws RegistryError `too_many_attestations` (an origin would have more than 1,000, or more than 4 MiB, that are neither
 * expired nor revoked, nor may make room); then none is stored.
 */
export function storeAttestations(
  registry: Registry,
  acting: Acting,
  accepted: readonly Attestation[],
  { storedBy = acting.actor, mayDisplace = true }: StoringOptions = {},
): Promise<ReadonlySet<Sha256Hex>> {
  return mutate(registry, acting, async () => {
    const ids = accepted.map(({ id }) => id);
    const present = await registry
      .select({ id: attestations.id })
      .from(attestations)
      .where(inArray(attestations.id, valuesOf(ids)));
    const known = new Set(present.map(({ id }) => id));
    const unknown = accepted.filter(({ id }) => !known.has(id));
    const today = calendarDateOf(acting.now);
    const { fresh, outlived } =
      storedBy === FROM_PUBLISHER ? await longestHolding(registry, unknown, today) : { fresh: unknown, outlived: [] };
    const result = new Set(fresh.map(({ id }) => id));
    if (fresh.length === 0) return { result };
    const { full, dead, displaced } = await requireRoom(registry, fresh, { today, outlived, mayDisplace });
    const madeRoom = dead + displaced.length;
    const rows = fresh.map((attestation) => {
      const { id, origin, skill, toolSha256, attester, signedOn, validUntil } = attestation;
      const entry = JSON.stringify(attestationEntry(attestation));
      return { id, origin, skill, toolSha256, attester, signedOn, validUntil, entry, storedAt: acting.now, storedBy };
    });
    const of = [...new Set(fresh.map(({ origin }) => origin))];
    return {
      result,
      writes: [
        registry
          .delete(attestations)
          .where(and(inArray(attestations.origin, valuesOf(full)), sql`NOT ${isInForce(today)}`)),
        registry.delete(attestations).where(inArray(attestations.id, valuesOf([...outlived, ...displaced]))),
        registry.insert(attestations).select(rowsOf(attestations, rows)),
        registry
          .update(origins)
          .set({ policyVersion: NEXT_POLICY_VERSION })
          .where(inArray(origins.origin, valuesOf(of))),
      ],
      audit: {
        action: "attestation.create",
        subject: of.length === 1 ? (of[0] ?? "") : `${of.length} origins`,
        detail: { attestations: fresh.map(summaryOf), storedBy, ...(madeRoom === 0 ? {} : { madeRoom }) },
      },
    };
  });
}

export interface StoringOptions {
  /** Where they come from, if it is not the actor who brings them. */
  readonly storedBy?: string;
  /** Whether what is stored {@link FROM_PUBLISHER} makes room for them where nothing else does. */
  readonly mayDisplace?: boolean;
}

/** Writes into the audit log that the publisher's attestations of versions that are approved were not stored. */
export function noteOmitted(
  registry: Registry,
  acting: Acting,
  omitted: readonly [Attestation, ...Attestation[]],
  code: RegistryErrorCode,
): Promise<void> {
  return mutate(registry, acting, async () => ({
    result: undefined,
    writes: [],
    audit: {
      action: "attestation.omit",
      subject: omitted[0].origin,
      detail: { attestations: omitted.map(summaryOf), storedBy: FROM_PUBLISHER, code },
    },
  }));
}

/**
 * Which of a publisher's attestations hold longer than all that counts of the same version and attester, and the ids of those that were taken
 * from it before and are needed no more.
 */
async function longestHolding(
  registry: Registry,
  shipped: readonly Attestation[],
  today: CalendarDate,
): Promise<{ readonly fresh: readonly Attestation[]; readonly outlived: readonly string[] }> {
  const stored = await registry
    .select()
    .from(attestations)
    .where(
      and(
        inArray(attestations.origin, valuesOf(shipped.map(({ origin }) => origin))),
        inArray(attestations.toolSha256, valuesOf(shipped.map(({ toolSha256 }) => toolSha256))),
        isInForce(today),
      ),
    );
  const longest = new Map<string, Attestation>();
  for (const attestation of shipped) {
    const key = vouchedKey(attestation);
    if (attestation.validUntil > (longest.get(key)?.validUntil ?? "")) longest.set(key, attestation);
  }
  const outlived: string[] = [];
  for (const row of stored) {
    const key = vouchedKey(row);
    const { validUntil = "" } = longest.get(key) ?? {};
    if (row.validUntil >= validUntil) longest.delete(key);
    else if (row.storedBy === FROM_PUBLISHER) outlived.push(row.id);
  }
  return { fresh: [...longest.values()], outlived };
}

/** Names a version and who vouches for it. */
function vouchedKey({
  origin,
  skill,
  toolSha256,
  attester,
}: Pick<typeof attestations.$inferSelect, "origin" | "skill" | "toolSha256" | "attester">): string {
  return JSON.stringify([origin, skill, toolSha256, attester]);
}

function summaryOf({ id, origin, skill, toolSha256, attester, validUntil }: Attestation): JsonObject {
  return { id, origin, skill, toolSha256, attester, validUntil };
}

interface Size {
  readonly rows: number;
  readonly length: number;
}

/**
 * @param outlived ids of rows that go anyway.
 * @returns the origins whose dead attestations must make room, how many these are, and the ids of those that make room although they count.
 */
async function requireRoom(
  registry: Registry,
  fresh: readonly Attestation[],
  {
    today,
    outlived,
    mayDisplace,
  }: { readonly today: CalendarDate; readonly outlived: readonly string[]; readonly mayDisplace: boolean },
): Promise<{
  readonly full: readonly CanonicalOrigin[];
  readonly dead: number;
  readonly displaced: readonly string[];
}> {
  const full: CanonicalOrigin[] = [];
  const displaced: string[] = [];
  let dead = 0;
  const stays = sql`${attestations.id} NOT IN ${valuesOf(outlived)}`;
  for (const [origin, added] of Map.groupBy(fresh, (attestation) => attestation.origin)) {
    const length = added.reduce((sum, one) => sum + JSON.stringify(attestationEntry(one)).length, 0);
    const fits = (stored: Size) =>
      stored.rows + added.length <= MAX_STORED_PER_ORIGIN && stored.length + length <= MAX_STORED_LENGTH;
    const sizeOf = (which: SQL) =>
      registry
        .select({ rows: count(), length: sql<number>`coalesce(sum(length(${attestations.entry})), 0)` })
        .from(attestations)
        .where(and(eq(attestations.origin, origin), stays, which));
    const [[all = NOTHING], [inForce = NOTHING]] = await registry.batch([sizeOf(sql`true`), sizeOf(isInForce(today))]);
    if (fits(all)) continue;
    full.push(origin);
    dead += all.rows - inForce.rows;
    if (fits(inForce)) continue;
    const shipped = mayDisplace ? await displaceable(registry, origin, and(stays, isInForce(today))) : [];
    let left = inForce;
    for (const { id, length } of shipped) {
      if (fits(left)) break;
      displaced.push(id);
      left = { rows: left.rows - 1, length: left.length - length };
    }
    if (!fits(left)) {
      throw new RegistryError(
        "too_many_attestations",
        `At most ${MAX_STORED_PER_ORIGIN} attestations of one origin that count are stored, of ${MAX_STORED_LENGTH} characters in all; ${origin} would have more.`,
      );
    }
  }
  return { full, dead, displaced };
}

const NOTHING: Size = { rows: 0, length: 0 };

/** What is stored of an origin's own attestations: first those of versions that are not approved, and of each kind what expires first. */
function displaceable(registry: Registry, origin: CanonicalOrigin, which: SQL | undefined) {
  const isApproved = sql`EXISTS (SELECT 1 FROM ${skills} JOIN ${origins} ON ${origins.id} = ${skills.originId}
    WHERE ${origins.origin} = ${attestations.origin} AND ${skills.name} = ${attestations.skill}
      AND ${skills.toolSha256} = ${attestations.toolSha256} AND ${skills.approvedAt} IS NOT NULL)`;
  return registry
    .select({ id: attestations.id, length: sql<number>`length(${attestations.entry})` })
    .from(attestations)
    .where(and(eq(attestations.origin, origin), eq(attestations.storedBy, FROM_PUBLISHER), which))
    .orderBy(isApproved, asc(attestations.validUntil), asc(attestations.id));
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

/** @throws RegistryError `not_found`. */
export async function getAttestation(registry: Registry, id: string): Promise<StoredAttestation> {
  const [row] = await selectStored(registry).where(eq(attestations.id, id));
  if (row === undefined) throw new RegistryError("not_found", "No attestation with this id is stored.");
  return toStored(row);
}

/** Stored attestations, each with the revocation of it that is in force. */
export function selectStored(registry: Registry) {
  return registry
    .select({ row: attestations, revocationId: revocations.id })
    .from(attestations)
    .leftJoin(
      revocations,
      sql`${revocations.kind} = 'attestation' AND ${revocations.subject} = ${attestations.id} AND ${revocations.liftedAt} IS NULL`,
    )
    .$dynamic();
}

export async function toStored({
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
