import { and, asc, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import type { Reviewer, ReviewerKey } from "../../core/attestation/reviewer.ts";
import { mutate } from "./audit.ts";
import type { Acting, Registry } from "./database.ts";
import { RegistryError } from "./errors.ts";
import { newId } from "./ids.ts";
import { type CreatedKey, isAfter, type Page, type PageRequest, toPage } from "./page.ts";
import { reviewers } from "./schema.ts";
import { nextTrustVersion } from "./trust-version.ts";

type ReviewerRow = typeof reviewers.$inferSelect;

/** A reviewer's key as the operator sees it. */
export interface RegisteredReviewer extends Reviewer {
  readonly status: "active" | "retired" | "revoked";
  /** Why it was retired or revoked. */
  readonly reason: string | null;
  readonly note: string | null;
}

export interface NewReviewer extends Pick<Reviewer, "attester" | "key"> {
  /** Epoch milliseconds, not in the future; what was signed on an earlier UTC day does not count. `null`: now. */
  readonly registeredAt: number | null;
  readonly note: string | null;
}

/**
 * Registers a key of an attester.
 *
 * @throws RegistryError `already_exists` (the attester has an active key, or this key is or was another's; `id` names the row),
 * `bad_state` (this Ed25519 key was revoked: whoever stole it still has it).
 */
export function createReviewer(registry: Registry, acting: Acting, wanted: NewReviewer): Promise<RegisteredReviewer> {
  return mutate(registry, acting, async () => {
    const row = newReviewerRow(wanted, acting.now);
    await requireFree(registry, row);
    return {
      result: toRegistered(row),
      writes: [registry.insert(reviewers).values(row), nextTrustVersion(registry)],
      audit: {
        action: "reviewer.create",
        subject: row.id,
        detail: { attester: row.attester, key: { ...wanted.key }, registeredAt: row.registeredAt },
      },
    };
  });
}

export function newReviewerRow({ attester, key, registeredAt, note }: NewReviewer, now: number): ReviewerRow {
  return {
    id: newId("rev"),
    attester,
    kind: key.kind,
    publicKey: key.kind === "ed25519" ? key.publicKey : null,
    issuer: key.kind === "sigstore" ? key.issuer : null,
    identity: key.kind === "sigstore" ? key.identity : null,
    registeredAt: registeredAt ?? now,
    retiredAt: null,
    revokedAt: null,
    reason: null,
    note,
  };
}

/** @throws RegistryError as `createReviewer` says. */
export async function requireFree(registry: Registry, wanted: ReviewerRow): Promise<void> {
  const rows = await registry
    .select()
    .from(reviewers)
    .where(
      sql`${reviewers.attester} = ${wanted.attester}
        OR (${reviewers.kind} = ${wanted.kind} AND ${reviewers.publicKey} IS ${wanted.publicKey}
          AND ${reviewers.issuer} IS ${wanted.issuer} AND ${reviewers.identity} IS ${wanted.identity})`,
    );
  const stolen = rows.find(
    (row) => row.revokedAt !== null && row.publicKey !== null && row.publicKey === wanted.publicKey,
  );
  if (stolen !== undefined) {
    throw new RegistryError("bad_state", "This key was revoked, which is final; make a new one.", stolen.id);
  }
  // Names are not signed: under another one a revoked attestation of this key would be a new one.
  const other = rows.find((row) => row.publicKey !== null && row.attester !== wanted.attester);
  const active = rows.find((row) => row.retiredAt === null && row.revokedAt === null) ?? other;
  if (active === undefined) return;
  const sentence =
    active.attester === wanted.attester
      ? "The attester has an active key; retire or revoke that first."
      : `This key is registered for ${active.attester}; each attester needs keys of its own.`;
  throw new RegistryError("already_exists", sentence, active.id, "attester");
}

/**
 * Retires a key: what the gateway had stored before still counts, nothing else does.
 * @throws RegistryError `not_found`, `bad_state` (not active).
 */
export function retireReviewer(registry: Registry, acting: Acting, id: string, reason: string) {
  return end(registry, acting, id, reason, "retire");
}

/**
 * Revokes a key: nothing it signed counts any more, whenever that was.
 * @throws RegistryError `not_found`, `bad_state` (revoked already).
 */
export function revokeReviewer(registry: Registry, acting: Acting, id: string, reason: string) {
  return end(registry, acting, id, reason, "revoke");
}

function end(
  registry: Registry,
  acting: Acting,
  id: string,
  reason: string,
  step: "retire" | "revoke",
): Promise<RegisteredReviewer> {
  return mutate(registry, acting, async () => {
    const before = await getReviewer(registry, id);
    const isPossible = step === "retire" ? before.status === "active" : before.status !== "revoked";
    if (!isPossible) throw new RegistryError("bad_state", `The reviewer is ${before.status}.`, id);
    const change = step === "retire" ? { retiredAt: acting.now, reason } : { revokedAt: acting.now, reason };
    return {
      result: { ...before, ...change, status: step === "retire" ? "retired" : "revoked" },
      writes: [registry.update(reviewers).set(change).where(eq(reviewers.id, id)), nextTrustVersion(registry)],
      audit: { action: `reviewer.${step}`, subject: id, detail: { attester: before.attester, reason } },
    };
  });
}

/** @throws RegistryError `not_found`. */
export async function getReviewer(registry: Registry, id: string): Promise<RegisteredReviewer> {
  const [row] = await registry.select().from(reviewers).where(eq(reviewers.id, id));
  if (row === undefined) throw new RegistryError("not_found", "There is no reviewer with this id.");
  return toRegistered(row);
}

/** Registered earliest first. @param status `undefined`: all. */
export async function listReviewers(
  registry: Registry,
  status: RegisteredReviewer["status"] | undefined,
  { limit, after }: PageRequest<CreatedKey>,
): Promise<Page<RegisteredReviewer>> {
  const rows = await registry
    .select()
    .from(reviewers)
    .where(and(isOfStatus(status), isAfter(reviewers.registeredAt, reviewers.id, after)))
    .orderBy(asc(reviewers.registeredAt), asc(reviewers.id))
    .limit(limit + 1);
  const page = toPage(rows, limit, (row): CreatedKey => [row.registeredAt, row.id]);
  return { items: page.items.map(toRegistered), nextCursor: page.nextCursor };
}

function isOfStatus(status: RegisteredReviewer["status"] | undefined): SQL | undefined {
  if (status === undefined) return undefined;
  if (status === "revoked") return isNotNull(reviewers.revokedAt);
  return and(isNull(reviewers.revokedAt), (status === "retired" ? isNotNull : isNull)(reviewers.retiredAt));
}

export function toReviewer(row: ReviewerRow): Reviewer {
  const { id, attester, registeredAt, retiredAt, revokedAt } = row;
  return { id, attester, key: keyOf(row), registeredAt, retiredAt, revokedAt };
}

function toRegistered(row: ReviewerRow): RegisteredReviewer {
  const status = row.revokedAt !== null ? "revoked" : row.retiredAt !== null ? "retired" : "active";
  return { ...toReviewer(row), status, reason: row.reason, note: row.note };
}

function keyOf({ kind, publicKey, issuer, identity }: ReviewerRow): ReviewerKey {
  return kind === "ed25519"
    ? { kind, publicKey: publicKey ?? "" }
    : { kind, issuer: issuer ?? "", identity: identity ?? "" };
}
