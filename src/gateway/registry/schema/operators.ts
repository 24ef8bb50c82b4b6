import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** A person, or a script, who uses the admin API. */
export const operators = sqliteTable(
  "operators",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    role: text("role", { enum: ["viewer", "reviewer", "admin"] }).notNull(),
    status: text("status", { enum: ["active", "suspended"] }).notNull(),
    /** Lower case. Who signs in through Cloudflare Access with it is this operator. */
    accessEmail: text("access_email"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [
    uniqueIndex("operators_access_email").on(table.accessEmail),
    index("operators_created").on(table.createdAt, table.id),
    index("operators_status").on(table.status, table.createdAt, table.id),
    index("operators_role").on(table.role, table.createdAt, table.id),
  ],
);

export const operatorTokens = sqliteTable(
  "operator_tokens",
  {
    id: text("id").primaryKey(),
    operatorId: text("operator_id")
      .notNull()
      .references(() => operators.id),
    /** SHA-256 of the token, lower-case hex. The token itself is never stored. */
    tokenSha256: text("token_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    revokedAt: integer("revoked_at"),
    /** Written in the background, at most once a minute. */
    lastUsedAt: integer("last_used_at"),
  },
  (table) => [
    uniqueIndex("operator_tokens_sha256").on(table.tokenSha256),
    index("operator_tokens_operator").on(table.operatorId, table.createdAt, table.id),
  ],
);

/** Signed-in browsers. */
export const operatorSessions = sqliteTable(
  "operator_sessions",
  {
    id: text("id").primaryKey(),
    /** Null, as is `token_id`: signed in with `ADMIN_TOKEN`. */
    operatorId: text("operator_id").references(() => operators.id),
    /** The token it was opened with, with which it ends. */
    tokenId: text("token_id").references(() => operatorTokens.id),
    /** Hash of the cookie's value; of one opened with `ADMIN_TOKEN`, keyed by that, so that it ends when the token is changed. */
    sessionSha256: text("session_sha256").notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    revokedAt: integer("revoked_at"),
  },
  (table) => [
    uniqueIndex("operator_sessions_sha256").on(table.sessionSha256),
    index("operator_sessions_expiry").on(table.expiresAt),
  ],
);

/** One row: what holds for the operators' console as a whole. */
export const consoleState = sqliteTable("console_state", {
  /** Always 1. */
  id: integer("id").primaryKey(),
  /** From then on `ADMIN_TOKEN` lets nobody in. */
  bootstrapRetiredAt: integer("bootstrap_retired_at"),
  bootstrapRetiredBy: text("bootstrap_retired_by"),
});

/** Answers to requests that created something, for who sends the same request again within a day. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    /** As in `audit_log`. */
    actor: text("actor").notNull(),
    key: text("key").notNull(),
    /** SHA-256 of method, path and body. */
    requestSha256: text("request_sha256").notNull(),
    status: integer("status").notNull(),
    /** Null: the answer showed a secret, or was too long to be kept. */
    body: text("body"),
    /** Id of what was created, where it is one thing. */
    subject: text("subject"),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.actor, table.key] }), index("idempotency_keys_created").on(table.createdAt)],
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
  // Each of the others ends with the row number, as every index of SQLite does.
  (table) => [
    uniqueIndex("audit_log_prev").on(table.prevHash),
    index("audit_log_actor").on(table.actor),
    index("audit_log_actor_action").on(table.actor, table.action),
    index("audit_log_action").on(table.action),
    index("audit_log_subject").on(table.subject),
    index("audit_log_at").on(table.at),
  ],
);
