import { sql } from "drizzle-orm";
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

// Times are epoch milliseconds. Ids are `<prefix>_<random>`: org_, cli_, tok_, rev_, rvk_. Later stages add their tables.

/** A publisher's address and what the operator decided about it. */
export const origins = sqliteTable(
  "origins",
  {
    id: text("id").primaryKey(),
    origin: text("origin").notNull(),
    status: text("status", { enum: ["pending", "active", "suspended", "revoked"] }).notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /** When the last successful probe was recorded; its skills are the rows of `skills` whose `last_seen_at` equals this. */
    probedAt: integer("probed_at"),
    /** Epoch milliseconds of the last call through the gateway, written in the background; the cron wakes recent ones. */
    lastCalledAt: integer("last_called_at"),
    /** Null: the gateway's default, `ATTESTATION_MODE`. */
    attestationMode: text("attestation_mode", { enum: ["off", "advisory", "enforcing"] }),
    /** What happens when a skill's hash changes: serve it, serve and flag it, or keep the last approved version. */
    pin: text("pin", { enum: ["off", "warn", "hold"] })
      .notNull()
      .default("hold"),
    /** Whether this publisher is told the caller's W3C `traceparent`. */
    forwardTrace: integer("forward_trace", { mode: "boolean" }).notNull().default(false),
    /** Goes up in the batch of every mutation that changes what is served of this origin, so that a reader need not read more. */
    policyVersion: integer("policy_version").notNull().default(1),
  },
  (table) => [
    uniqueIndex("origins_origin").on(table.origin),
    index("origins_created").on(table.createdAt, table.id),
    index("origins_called").on(table.status, table.lastCalledAt),
  ],
);

/** Every version of every skill an operator's probe has seen, with what it takes to serve it: its source is in `artifacts`. */
export const skills = sqliteTable(
  "skills",
  {
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
    /** Empty string: no scope. */
    scope: text("scope").notNull(),
    name: text("name").notNull(),
    toolSha256: text("tool_sha256").notNull(),
    firstSeenAt: integer("first_seen_at").notNull(),
    lastSeenAt: integer("last_seen_at").notNull(),
    approvedAt: integer("approved_at"),
    approvedBy: text("approved_by"),
    /** Set: an operator refused this version. Approving it again clears it, and the other way round. */
    rejectedAt: integer("rejected_at"),
    rejectedBy: text("rejected_by"),
    /** What the operator wrote with the last approval or rejection. */
    note: text("note"),
    /** Of the llms.txt line. */
    description: text("description"),
    /** The `version` of the llms.txt line. */
    version: text("version"),
    /** JSON: the definition that the script registers. Null: seen before the store kept it; then the version cannot be served. */
    definition: text("definition"),
    /** The verified recipe's hash; its text is in `artifacts`. */
    recipeSha256: text("recipe_sha256"),
    /** Bytes of source and recipe together. Null: they are not in `artifacts`. */
    bytes: integer("bytes"),
  },
  (table) => [
    primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256] }),
    index("skills_tool").on(table.toolSha256),
    index("skills_recipe").on(table.recipeSha256),
  ],
);

/**
 * Sources and recipes by the SHA-256 of their bytes, each once, in parts of at most 1 MiB: D1 caps a row at 2 MB. A part that no row of
 * `skills` refers to is removed.
 */
export const artifacts = sqliteTable(
  "artifacts",
  {
    sha256: text("sha256").notNull(),
    part: integer("part").notNull(),
    bytes: blob("bytes", { mode: "buffer" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.sha256, table.part] })],
);

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
  (table) => [index("attestations_origin").on(table.origin, table.storedAt, table.id)],
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
  (table) => [primaryKey({ columns: [table.originId, table.scope, table.name, table.toolSha256, table.at] })],
);

/** A tenant's credential holder. */
export const clients = sqliteTable(
  "clients",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** Calls a minute; `0` blocks, `null` is unlimited. */
    rpm: integer("rpm"),
    /** Calls a UTC day; `null` is unlimited. */
    dailyQuota: integer("daily_quota"),
    /** True: every active origin, present and future. False: those in `client_origins`. */
    grantAll: integer("grant_all", { mode: "boolean" }).notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [index("clients_created").on(table.createdAt, table.id)],
);

export const clientTokens = sqliteTable(
  "client_tokens",
  {
    id: text("id").primaryKey(),
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
    tokenSha256: text("token_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
    /** Issued by another gateway, and moved in by its hash: it has no checksum. */
    imported: integer("imported", { mode: "boolean" }).notNull().default(false),
  },
  (table) => [
    uniqueIndex("client_tokens_sha256").on(table.tokenSha256),
    index("client_tokens_client").on(table.clientId, table.createdAt, table.id),
    index("client_tokens_imported").on(table.imported).where(sql`${table.imported} AND ${table.revokedAt} IS NULL`),
  ],
);

/** Grants: which client may use which origin. */
export const clientOrigins = sqliteTable(
  "client_origins",
  {
    clientId: text("client_id")
      .notNull()
      .references(() => clients.id),
    originId: text("origin_id")
      .notNull()
      .references(() => origins.id),
  },
  (table) => [
    primaryKey({ columns: [table.clientId, table.originId] }),
    index("client_origins_origin").on(table.originId),
  ],
);

/** Append-only. Each row holds the hash of the one before; a losing writer retries on the unique index. */
export const auditLog = sqliteTable(
  "audit_log",
  {
    seq: integer("seq").primaryKey(),
    at: integer("at").notNull(),
    /** Who: `admin-token`, or an operator's id. */
    actor: text("actor").notNull(),
    /** What: `origin.create`, `client.token.revoke`, … */
    action: text("action").notNull(),
    subject: text("subject").notNull(),
    /** JSON; never a token or an argument value. */
    detail: text("detail").notNull().default(sql`'{}'`),
    requestId: text("request_id").notNull(),
    prevHash: text("prev_hash").notNull(),
    hash: text("hash").notNull(),
  },
  (table) => [uniqueIndex("audit_log_prev").on(table.prevHash)],
);
