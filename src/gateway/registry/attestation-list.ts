import { and, asc, eq, gte, inArray, isNotNull, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { CalendarDate } from "../../core/attestation/calendar-date.ts";
import type { CanonicalOrigin } from "../../core/origin.ts";
import { type StoredAttestation, selectStored, toStored } from "./attestations.ts";
import type { Registry } from "./database.ts";
import { type CreatedKey, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { attestations, revocations } from "./schema.ts";

/** All of what is given must hold. */
export interface AttestationFilter {
  readonly origin?: CanonicalOrigin | undefined;
  readonly toolSha256?: string | undefined;
  readonly attester?: string | undefined;
  /** The last day of those wanted is an earlier one. */
  readonly expiresBefore?: string | undefined;
  /** The last day of those wanted is this one or a later one. */
  readonly expiresFrom?: string | undefined;
  /** Whether a revocation of it is in force. */
  readonly isRevoked?: boolean | undefined;
  readonly state?: AttestationState | undefined;
  /** What `state` is judged on. */
  readonly today: CalendarDate;
}

/** Each attestation is of one of them: `revoked` goes before `expired`. */
export const ATTESTATION_STATES = ["in_force", "expired", "revoked"] as const;
export type AttestationState = (typeof ATTESTATION_STATES)[number];

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
  { origin, toolSha256, attester, expiresBefore, expiresFrom, isRevoked, state, today }: AttestationFilter,
  { limit, after }: PageRequest<Key>,
  column: typeof attestations.storedAt | typeof attestations.validUntil,
  keyOf: (row: typeof attestations.$inferSelect) => Key,
): Promise<Page<StoredAttestation>> {
  const onlyRevoked = isRevoked === true || state === "revoked";
  // The list's order is given up where few may be found in it: then what is found, by an index of its own, is sorted.
  const isSorted = onlyRevoked || (column === attestations.storedAt && isOfDays({ expiresBefore, expiresFrom, state }));
  const place = isSorted ? sql`+${column}` : column;
  // An origin has at most 1,000, and few vouch for one hash: the index of the attester is for who gives neither.
  const ofTool = origin === undefined ? sql`${attestations.toolSha256}` : sql`+${attestations.toolSha256}`;
  const isNarrow = origin !== undefined || toolSha256 !== undefined;
  const ofAttester = isNarrow ? sql`+${attestations.attester}` : sql`${attestations.attester}`;
  const rows = await selectStored(registry)
    .where(
      and(
        origin === undefined ? undefined : eq(attestations.origin, origin),
        toolSha256 === undefined ? undefined : eq(ofTool, toolSha256),
        attester === undefined ? undefined : eq(ofAttester, attester),
        expiresBefore === undefined ? undefined : lt(attestations.validUntil, expiresBefore),
        expiresFrom === undefined ? undefined : gte(attestations.validUntil, expiresFrom),
        isRevoked === undefined ? undefined : (isRevoked ? isNotNull : isNull)(revocations.id),
        onlyRevoked ? inArray(attestations.id, REVOKED) : undefined,
        isOfState(state, today),
        isAfter(place, attestations.id, after),
      ),
    )
    .orderBy(asc(place), asc(attestations.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, ({ row }) => keyOf(row));
  return { items: await Promise.all(page.items.map(toStored)), nextCursor: page.nextCursor };
}

/** Whether a filter is on the last day of what is wanted; the list is then best read in the order of that day. */
export function isOfDays({
  expiresBefore,
  expiresFrom,
  state,
}: Pick<AttestationFilter, "expiresBefore" | "expiresFrom" | "state">): boolean {
  return expiresBefore !== undefined || expiresFrom !== undefined || state === "in_force" || state === "expired";
}

/** SQL: the ids of the attestations that a revocation in force is of. */
const REVOKED = sql`(SELECT ${revocations.subject} FROM ${revocations}
  WHERE ${revocations.kind} = 'attestation' AND ${revocations.liftedAt} IS NULL)`;

/** Of rows of {@link selectStored}. */
function isOfState(state: AttestationState | undefined, today: CalendarDate): SQL | undefined {
  switch (state) {
    case undefined:
      return undefined;
    case "in_force":
      return and(isNull(revocations.id), gte(attestations.validUntil, today));
    case "expired":
      return and(isNull(revocations.id), lt(attestations.validUntil, today));
    case "revoked":
      return isNotNull(revocations.id);
  }
}
