import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { origins } from "./origins.ts";

/** Keys and identities whose attestations count. An attester may have several over time, of which one at most is active. */
export const reviewers = sqliteTable(
  "reviewers",
  {
    id: text("id").primaryKey(),
    /** `type:name`, as entries name it. */
    attester: text("attester").notNull(),
    kind: text("kind", { enum: ["ed25519", "sigstore"] }).notNull(),
    /** Base64 of 32 bytes; `ed25519` only. */
    publicKey: text("public_key"),
    /** `sigstore` only, as is `identity`. */
    issuer: text("issuer"),
    identity: text("identity"),
    registeredAt: integer("registered_at").notNull(),
    /** From then on only what the gateway had stored before counts. */
    retiredAt: integer("retired_at"),
    /** From then on nothing of this key counts. */
    revokedAt: integer("revoked_at"),
    /** Why it was retired or revoked. */
    reason: text("reason"),
    note: text("note"),
  },
  (table) => [
    uniqueIndex("reviewers_active")
      .on(table.attester)
      .where(sql`${table.retiredAt} IS NULL AND ${table.revokedAt} IS NULL`),
    index("reviewers_registered").on(table.registeredAt, table.id),
    index("reviewers_registered_active")
      .on(table.registeredAt, table.id)
      .where(sql`${table.revokedAt} IS NULL AND ${table.retiredAt} IS NULL`),
    index("reviewers_registered_retired")
      .on(table.registeredAt, table.id)
      .where(sql`${table.revokedAt} IS NULL AND ${table.retiredAt} IS NOT NULL`),
    index("reviewers_registered_revoked").on(table.registeredAt, table.id).where(sql`${table.revokedAt} IS NOT NULL`),
  ],
);

/** The gateway's own attestations, beside those that publishers ship. */
export const attestations = sqliteTable(
  "attestations",
  {
    /** SHA-256 of the fields that matter: see core/attestation. */
    id: text("id").primaryKey(),
    /** Canonical. It need not be registered yet. */
    origin: text("origin").notNull(),
    skill: text("skill").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    attester: text("attester").notNull(),
    /** `YYYY-MM-DD`, as is `valid_until`. */
    signedOn: text("signed_on").notNull(),
    validUntil: text("valid_until").notNull(),
    /** JSON: the entry as a publisher would publish it. */
    entry: text("entry").notNull(),
    storedAt: integer("stored_at").notNull(),
    storedBy: text("stored_by").notNull(),
  },
  (table) => [
    // Of each filter both orders of the list, so that no page of it is sorted.
    index("attestations_stored").on(table.storedAt, table.id),
    index("attestations_expiry").on(table.validUntil, table.id),
    index("attestations_origin").on(table.origin, table.storedAt, table.id),
    index("attestations_origin_expiry").on(table.origin, table.validUntil, table.id),
    index("attestations_attester").on(table.attester, table.storedAt, table.id),
    index("attestations_attester_expiry").on(table.attester, table.validUntil, table.id),
    index("attestations_tool").on(table.toolSha256, table.storedAt, table.id),
    index("attestations_tool_expiry").on(table.toolSha256, table.validUntil, table.id),
  ],
);

/** Attestations and hashes that count for nothing, each until lifted. */
export const revocations = sqliteTable(
  "revocations",
  {
    id: text("id").primaryKey(),
    kind: text("kind", { enum: ["attestation", "hash"] }).notNull(),
    /** An attestation's id, or a tool_sha256. */
    subject: text("subject").notNull(),
    reason: text("reason").notNull(),
    revokedAt: integer("revoked_at").notNull(),
    revokedBy: text("revoked_by").notNull(),
    liftedAt: integer("lifted_at"),
    liftedBy: text("lifted_by"),
    liftReason: text("lift_reason"),
  },
  (table) => [
    uniqueIndex("revocations_in_force").on(table.kind, table.subject).where(sql`${table.liftedAt} IS NULL`),
    index("revocations_revoked").on(table.revokedAt, table.id),
    index("revocations_revoked_in_force").on(table.revokedAt, table.id).where(sql`${table.liftedAt} IS NULL`),
    index("revocations_revoked_lifted").on(table.revokedAt, table.id).where(sql`${table.liftedAt} IS NOT NULL`),
  ],
);

/** One row: what holds for all origins. */
export const trustState = sqliteTable("trust_state", {
  /** Always 1. */
  id: integer("id").primaryKey(),
  /** Goes up in the batch of every change of reviewers, revocations and the trust root. */
  version: integer("version").notNull(),
  /** JSON: the Sigstore trust root. Null: the embedded one. */
  trustRoot: text("trust_root"),
  trustRootAt: integer("trust_root_at"),
});

/** How verdicts changed, for people: nothing that decides reads it. */
export const verdicts = sqliteTable(
  "verdicts",
  {
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Empty string: no scope. */
    scope: text("scope").notNull(),
    name: text("name").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    verdict: text("verdict", { enum: ["attested", "expired", "invalid", "unattested"] }).notNull(),
    at: integer("at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256, table.at] }),
    index("verdicts_at").on(table.originId, table.at, table.scope, table.name, table.toolSha256),
  ],
);
